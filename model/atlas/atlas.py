"""Open the folder of an atlas. Each method reads only the file that it needs; arrays are maps of the file."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from model.analysis.statistics import cosine_similarity
from model.atlas.places import FORCED, PLACE, SPECIAL_ROW, Places
from model.atlas.settings import FORMAT, Settings, weights_sha256
from model.atlas.store import FACTS_FILE, HEADS, PLACES, SENTENCES, SIDES
from model.atlas.texts import LONGEST, Side, TextTokens
from model.atlas.work import PART
from model.checkpoints.checkpoint import Loaded
from model.config.section import ConfigError
from model.interventions import Head
from model.messages import first_line
from model.safety.json_files import read_json

__all__ = ["Atlas", "Place", "open_atlas"]

FloatArray = NDArray[np.float32]
MOST_BYTES = 1 << 28  # of a table when it is unpacked


@dataclass(frozen=True, kw_only=True)
class Place:
    """One row of a head."""

    group: int  # 0 to 9: the tenth of the strongest weight; 10: one of the strongest rows
    line: int  # of the corpus
    row: int
    forced: bool  # the model did not choose the token that it writes here
    special: bool  # the token of the row is special
    keys: tuple[int, ...]  # those with at least 0.5 % of the weight, strongest first, at most eight
    weights: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Atlas:
    """What every head does in a corpus."""

    folder: Path
    settings: Settings
    facts: Mapping[str, Any]  # the content of `atlas.json`

    @cached_property
    def heads(self) -> tuple[Head, ...]:
        """All heads, in the order of the rows of `numbers` and of `Place`."""
        return tuple(
            Head(kind, layer, head)
            for kind, (layers, heads) in self.settings.kinds.items()
            for layer in range(layers)
            for head in range(heads)
        )

    def numbers(self, *names: str) -> dict[str, FloatArray]:
        """Columns of the table of heads, such as `previous` or `previous_low`, in the order of `heads`.

        Raises:
            ConfigError: there is no such column, or the file is damaged.
        """
        with self.reading(HEADS) as path:
            known = pq.read_schema(path).names
            if unknown := [name for name in names if name not in known]:
                raise ConfigError(
                    "The atlas has no number {name}. It has {known}.",
                    name=unknown[0],
                    known=", ".join(self.settings.numbers),
                )
            table = pq.read_table(path, columns=list(names))
            return {name: table[name].to_numpy() for name in names}

    def table(self) -> pa.Table:
        """The whole table of heads."""
        with self.reading(HEADS) as path:
            return pq.read_table(path)

    def array(self, name: str, kind: str) -> FloatArray:
        """One of "pairs", "profile" and "writes" of a kind of attention, (L, H, …), see `store.py`."""
        return self.mapped(f"{name}-{kind}.npy")

    def places(self, head: Head) -> tuple[Place, ...]:
        """The rows of one head, ordered by group."""
        places: Places = self.mapped(PLACES)
        if places.dtype != PLACE:
            raise damaged(self.folder, PLACES, "its columns are unknown")
        number = self.heads.index(head)
        first, end = np.searchsorted(places["head"], [number, number + 1])
        return tuple(place_from(one) for one in places[first:end])

    def texts(self, lines: Sequence[int]) -> dict[int, TextTokens]:
        """The texts with these numbers of lines that have places."""
        with self.reading(SENTENCES) as path:
            rows = pq.read_table(path, filters=[("line", "in", sorted(set(lines)))]).to_pylist() if lines else []
            return {row["line"]: text_from(row) for row in rows}

    def most_similar(
        self, head: Head, other: "Atlas | None" = None, *, by: str = "profile"
    ) -> list[tuple[Head, float]]:
        """Heads of the same kind of attention by the cosine of their vectors, most similar first.

        Args:
            head: Of this atlas.
            other: The atlas of the other heads; by default this one, without `head` itself.
            by: "profile", what a head looks at; or "writes", what it adds, in the same checkpoint only.

        Raises:
            ConfigError: the vectors cannot be compared, or a file is damaged.
        """
        atlas = other or self
        if head.kind not in atlas.settings.kinds:
            return []
        if by == "writes" and atlas.settings.weights != self.settings.weights:
            raise ConfigError("What two checkpoints write cannot be compared: their vectors mean different things.")
        own = self.array(by, head.kind)[head.layer, head.head].reshape(1, -1)
        others = atlas.array(by, head.kind)
        flat = others.reshape(others.shape[0] * others.shape[1], -1)
        found = cosine_similarity(np.concatenate([own, flat]).astype(np.float32))[0, 1:]
        heads = [one for one in atlas.heads if one.kind == head.kind]
        pairs = [(one, float(value)) for one, value in zip(heads, found, strict=True) if other or one != head]
        return sorted(pairs, key=lambda pair: -pair[1])

    def require_weights_of(self, checkpoint: Loaded) -> None:
        """Raises ConfigError if the weights of a checkpoint are not those that were measured."""
        if weights_sha256(checkpoint) != self.settings.weights:
            raise ConfigError(
                "{folder} was measured with other weights than those of {checkpoint}. Make the atlas again.",
                folder=self.folder.name,
                checkpoint=checkpoint.name,
            )

    def require_sizes(self) -> None:
        """Raises ConfigError if a table claims more than it can have: a small file can unpack to any size."""
        for kind, sizes in self.settings.kinds.items():
            profile = self.array("profile", kind)
            if profile.shape[:2] != sizes or not profile.size:
                raise damaged(self.folder, f"profile-{kind}.npy", "it has other heads")
        for name, most in ((HEADS, len(self.heads)), (SENTENCES, len(self.mapped(PLACES)))):
            with self.reading(name) as path:
                table = pq.read_metadata(path)
            groups = [table.row_group(i) for i in range(table.num_row_groups)]
            values = max((group.column(i).num_values for group in groups for i in range(group.num_columns)), default=0)
            if table.num_rows > most or values > most * LONGEST or sum(g.total_byte_size for g in groups) > MOST_BYTES:
                raise damaged(self.folder, name, "it claims too many rows")

    def mapped(self, name: str) -> NDArray[Any]:
        with self.reading(name) as path:
            return np.load(path, mmap_mode="r", allow_pickle=False)

    @contextmanager
    def reading(self, name: str) -> Iterator[Path]:
        """The path of a file. Raises ConfigError if it is damaged."""
        path, size = self.folder / name, self.facts["files"].get(name)
        try:
            if path.stat().st_size != size:
                raise ValueError(f"it has {path.stat().st_size} bytes, not {size}")
            yield path
        except (OSError, ValueError, KeyError, pa.ArrowException) as error:
            if isinstance(error, ConfigError):
                raise
            raise damaged(self.folder, name, first_line(error)) from error


def damaged(folder: Path, name: str, problem: str) -> ConfigError:
    return ConfigError(
        "{file} of the atlas {folder} is damaged ({problem}). Copy it again, or make the atlas again.",
        file=name,
        folder=folder.name,
        problem=problem,
    )


def open_atlas(folder: Path, checkpoint: Loaded | None = None) -> Atlas:
    """Open an atlas. Only its `atlas.json` and the heads of its tables are read.

    Args:
        folder: Of the atlas.
        checkpoint: If given, its weights must be those that were measured.

    Raises:
        ConfigError: there is no whole atlas of this version, a file is missing, or the weights are others.
    """
    if not (folder / FACTS_FILE).is_file():
        if any(PART.fullmatch(path.name) for path in folder.glob("*")):
            raise ConfigError("{folder} is a part of an atlas. Finish it, or merge it with the others.", folder=folder)
        raise ConfigError("{folder} has no {file}, so it is no atlas.", folder=folder, file=FACTS_FILE)
    try:
        facts = read_json(folder / FACTS_FILE)
        if (version := facts["format"]) != FORMAT:
            raise ConfigError(
                "{folder} is an atlas of version {found}. This version of Headlight reads version {known}. Make it "
                "again.",
                folder=folder.name,
                found=repr(version),
                known=FORMAT,
            )
        atlas = Atlas(folder=folder, settings=Settings.from_dict(facts["settings"]), facts=facts)
        for name in facts["files"]:
            with atlas.reading(name):
                pass
        atlas.require_sizes()
    except ConfigError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise damaged(folder, FACTS_FILE, first_line(error)) from error
    if checkpoint is not None:
        atlas.require_weights_of(checkpoint)
    return atlas


def place_from(row: Any) -> Place:
    keys, weights = row["keys"].tolist(), row["weights"].astype(np.float32).tolist()
    there = sum(key >= 0 for key in keys)
    return Place(
        group=int(row["group"]),
        line=int(row["line"]),
        row=int(row["row"]),
        forced=bool(row["marks"] & FORCED),
        special=bool(row["marks"] & SPECIAL_ROW),
        keys=tuple(keys[:there]),
        weights=tuple(weights[:there]),
    )


def text_from(row: Mapping[str, Any]) -> TextTokens:
    sides = {
        side: Side(
            **{name: tuple(row[f"{side}_{name}"]) for name in ("ids", "tokens", "words", "classes")},
            **{name: tuple(row.get(f"{side}_{name}", ())) for name in ("parts", "governors")},
        )
        for side in SIDES
    }
    return TextTokens(line=row["line"], forced=row["forced"], cut=row["cut"], **sides)
