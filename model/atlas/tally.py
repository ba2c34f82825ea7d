"""What an atlas has counted so far. Two tallies of different blocks add up to that of all their blocks, to the bit.

Every sum is a whole number: the sum of a sentence is rounded to multiples of 2⁻²⁰. So no order of addition, no split
of the corpus and no number of processes changes a bit.
"""

import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.atlas.places import PLACE, Places, kept
from model.atlas.texts import Side, TextTokens
from model.config.section import ConfigError

__all__ = ["FACTS", "ROW_FACTS", "UNIT", "IntArray", "KindTally", "Tally", "add", "rounded", "weighted_sums"]

UNIT = 2.0**-20  # of all sums
EXACT = 2.0**53  # whole numbers below are exact in double precision
FACTS = ("texts", "forced_texts", "cut_texts", "cut_tokens")
ROW_FACTS = ("rows", "special_rows", "forced_rows", "padded_rows")
IntArray = NDArray[np.int64]


def rounded(values: NDArray[np.float64]) -> IntArray:
    """Values in units of 2⁻²⁰."""
    return np.rint(values / UNIT).astype(np.int64)


def weighted_sums(weights: IntArray, values: IntArray) -> IntArray:
    """Exact sums of the values of N sentences (N, M) for each row of weights (R, N): (R, M)."""
    largest = np.abs(values).max(initial=0) * float(weights.sum(axis=1).max(initial=0))
    if largest >= EXACT:  # slow, because no library multiplies whole numbers
        return weights @ values
    return (weights.astype(np.float64) @ values.astype(np.float64)).astype(np.int64)


@dataclass(frozen=True, kw_only=True, eq=False)
class KindTally:
    """Of one kind of attention. All but counts are in units of 2⁻²⁰."""

    sums: IntArray  # (1 + R, L, H, N): the numbers and pairs; first all sentences once, then each replicate
    counts: IntArray  # (1 + R, N), the rows behind them
    texts: IntArray  # (N,), the texts with such rows
    profile: IntArray  # (L, H, O·C)
    writes: IntArray  # (L, H, C, D); D = 0 where it is not known
    rows: IntArray  # see `ROW_FACTS`

    def __add__(self, other: "KindTally") -> "KindTally":
        return KindTally(**{name: getattr(self, name) + getattr(other, name) for name in ARRAYS})


ARRAYS = tuple(KindTally.__dataclass_fields__)


@dataclass(frozen=True, kw_only=True, eq=False)
class Tally:
    """Of some blocks of a corpus."""

    done: NDArray[np.bool_]  # (blocks of the corpus,)
    facts: IntArray  # see `FACTS`
    kinds: Mapping[str, KindTally]
    places: Places
    texts: Mapping[int, TextTokens]  # line → the texts with places

    def __add__(self, other: "Tally") -> "Tally":
        """Raises ConfigError if both have the same block."""
        if (twice := np.flatnonzero(self.done & other.done)).size:
            raise ConfigError("Two parts of the atlas have the same lines (block {block}).", block=int(twice[0]))
        places = kept(np.concatenate([self.places, other.places]))
        texts = {**self.texts, **other.texts}
        return Tally(
            done=self.done | other.done,
            facts=self.facts + other.facts,
            kinds={kind: one + other.kinds[kind] if kind in other.kinds else one for kind, one in self.kinds.items()}
            or other.kinds,
            places=places,
            texts={line: texts[line] for line in np.unique(places["line"]).tolist()},
        )

    @classmethod
    def nothing(cls, blocks: int) -> "Tally":
        """Of no block."""
        zeros = np.zeros(len(FACTS), np.int64)
        return cls(done=np.zeros(blocks, bool), facts=zeros, kinds={}, places=np.zeros(0, PLACE), texts={})

    def to_bytes(self, settings: Mapping[str, Any]) -> bytes:
        """As an .npz file, with the settings of the atlas."""
        texts = json.dumps([asdict(text) for text in self.texts.values()], separators=(",", ":"))
        arrays: dict[str, NDArray[Any]] = {
            "settings": text_array(json.dumps(settings)),
            "texts": text_array(texts),
            "done": self.done,
            "facts": self.facts,
            "places": self.places,
        }
        arrays |= {f"{kind}.{name}": getattr(one, name) for kind, one in self.kinds.items() for name in ARRAYS}
        file = io.BytesIO()
        np.savez(file, **arrays)  # type: ignore[arg-type]
        return file.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> "tuple[Tally, dict[str, Any]]":
        """Raises ValueError, KeyError or OSError if `to_bytes` did not write the content."""
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            kinds = dict.fromkeys(name.partition(".")[0] for name in file.files if "." in name)
            texts = [text_from(one) for one in json.loads(file["texts"].tobytes())]
            found = cls(
                done=file["done"],
                facts=file["facts"],
                kinds={kind: KindTally(**{name: file[f"{kind}.{name}"] for name in ARRAYS}) for kind in kinds},
                places=file["places"],
                texts={text.line: text for text in texts},
            )
            return found, json.loads(file["settings"].tobytes())


def text_from(values: Mapping[str, Any]) -> TextTokens:
    """A text from its JSON form."""
    sides = {name: part for name, part in values.items() if isinstance(part, dict)}
    read = {name: Side(**{key: tuple(items) for key, items in part.items()}) for name, part in sides.items()}
    return TextTokens(**{**values, **read})


def text_array(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(text.encode(), dtype=np.uint8)


def add(tallies: Iterable[Tally], blocks: int) -> Tally:
    """The tally of all blocks of the given ones; see `Tally.__add__`.

    A tally whose blocks are all in a larger one is left out: a run may have ended just after it was saved there.
    """
    whole = Tally.nothing(blocks)
    for one in sorted(tallies, key=lambda each: -int(each.done.sum())):
        if not np.all(whole.done[one.done]):
            whole = whole + one
    return whole
