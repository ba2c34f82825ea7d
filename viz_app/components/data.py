"""What our own components are told: plain data that a page sends to the browser, or a report carries along.

Numbers travel as base64 of float32, so what a component shows is exact; every text stays text.
"""

import base64
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from keyword import iskeyword
from tokenize import COMMENT, NAME, generate_tokens

import numpy as np
from numpy.typing import NDArray
from plotly.colors import get_colorscale

from model.analysis.source_code import CodeLine
from model.analysis.station import Step
from model.config.kinds import KINDS
from model.inference.tokens import Token
from model.inference.translation import Translation
from viz_app.figures.colours import LINES, MASKED, SEQUENTIAL, ink
from viz_app.figures.overview import MAX_TILE, heads_image, pooled
from viz_app.figures.pixels import painted, png
from viz_app.figures.scales import scale_ticks
from viz_app.figures.style import Axes

__all__ = [
    "Data",
    "Snapshot",
    "derivation_data",
    "head_map_data",
    "head_sheet_data",
    "line_view_data",
    "look_data",
    "map_view_data",
    "packed",
    "stepper_data",
    "training_view_data",
]

FloatArray = NDArray[np.float32]
NAN = np.float32("nan")
Data = Mapping[str, object]
# Why a step has no candidates: its token begins every text, or is of a prompt.
GIVEN = (
    "“{}” is given, not chosen: it tells the model what to write, such as the language.",
    "This token is of the text that you typed: nothing is chosen here.",
)


def packed(array: FloatArray) -> str:
    """Little-endian float32 as base64, row by row."""
    return base64.b64encode(np.ascontiguousarray(array, dtype="<f4").tobytes()).decode("ascii")


def scale() -> Data:
    """Colours of weights; the stops of the scale stand at equal distances."""
    return {"scale": [colour for _, colour in get_colorscale(SEQUENTIAL)], "masked": MASKED}


def line_view_data(
    maps: FloatArray, axes: Axes, *, rows: Sequence[str], chosen: Sequence[int], largest: float, alt: str
) -> Data:
    """See `elements.line_view`."""
    count, columns = maps.shape[0] * maps.shape[1], maps.shape[1]
    many = columns > 1
    return {
        "weights": packed(maps),
        "queries": list(axes.queries),
        "keys": list(axes.keys),
        "query_title": axes.query_title,
        "key_title": axes.key_title,
        "names": [f"{rows[i // columns]}, head {i % columns + 1}" if many else rows[i] for i in range(count)],
        "short": [str(i % columns + 1) if many else rows[i] for i in range(count)],
        "languages": {"query": axes.query_lang, "key": axes.key_lang},
        "rows": list(rows) if many else [""] * len(rows),
        "columns": columns,
        "chosen": list(chosen),
        "shown": f"{axes.query_title}|{axes.key_title}|{count}|{','.join(map(str, chosen))}",
        "largest": largest,
        "colours": {"lines": [(colour, ink(colour)) for colour in LINES]},
        "alt": alt,
    }


def map_view_data(maps: FloatArray, allowed: NDArray[np.bool_], axes: Axes, *, kind: str, chosen: int) -> Data:
    """All heads (L, H, T, S) of one kind of attention; what the mask (L, T, S) forbids is NaN.

    `chosen` is the large one, counted through all layers.
    """
    return {"maps": packed(with_nan(maps, allowed)), **of_heads(maps, axes, kind=kind, chosen=chosen)}


def with_nan(maps: FloatArray, allowed: NDArray[np.bool_]) -> FloatArray:
    """Maps (L, H, T, S) with NaN where the mask (L, T, S) forbids."""
    return np.where(allowed[:, None], maps, NAN)


def of_heads(maps: FloatArray, axes: Axes, *, kind: str, chosen: int) -> Data:
    """What all views of heads (L, H, T, S) are told beside the numbers."""
    layers, heads = maps.shape[:2]
    return {
        "layers": layers,
        "heads": heads,
        "queries": list(axes.queries),
        "keys": list(axes.keys),
        "query_title": axes.query_title,
        "key_title": axes.key_title,
        "languages": {"query": axes.query_lang, "key": axes.key_lang},
        "chosen": chosen,
        "colours": scale(),
        "alt": f"{KINDS[kind].full_name}",
    }


def head_sheet_data(
    maps: FloatArray,
    allowed: NDArray[np.bool_],
    *,
    chosen: tuple[int, int | None],
    largest: float,
    logarithmic: bool,
    title: str,
    alt: str,
) -> Data:
    """See `elements.head_sheet`."""
    layers, heads, rows, columns = pooled(maps).shape
    return {
        **{"layers": layers, "heads": heads, "rows": rows, "columns": columns, "chosen": list(chosen)},
        "picture": heads_image(maps, allowed, cells=MAX_TILE, largest=largest, logarithmic=logarithmic),
        **{"title": title, "alt": alt},
    }


def head_map_data(
    weights: FloatArray,
    axes: Axes,
    allowed: NDArray[np.bool_],
    *,
    unit: str,
    largest: float,
    logarithmic: bool,
    title: str,
    alt: str,
) -> Data:
    """See `elements.head_map`; what the mask forbids is NaN."""
    ticks = scale_ticks(largest=largest, logarithmic=logarithmic)
    return {
        "weights": packed(np.where(allowed, weights, np.float32("nan"))),
        "queries": list(axes.queries),
        "keys": list(axes.keys),
        "notes": list(axes.query_notes),
        "query_title": axes.query_title,
        "key_title": axes.key_title,
        "languages": {"query": axes.query_lang, "key": axes.key_lang},
        "colours": scale(),
        **{"unit": unit, "largest": largest, "logarithmic": logarithmic},
        "ticks": [[tick / largest, f"{tick:.2g}"] for tick in ticks],
        **{"title": title, "alt": alt},
    }


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """One sentence before a model at one time of its training."""

    name: str
    text: str  # what it writes
    loss: str
    maps: FloatArray  # (L, H, T, S)


def training_view_data(
    snapshots: Sequence[Snapshot],
    axes: Axes,
    allowed: NDArray[np.bool_],
    *,
    kind: str,
    written: str,
    chosen: tuple[int, int],
    shown: int,
) -> Data:
    """See `elements.training_view`."""
    layer, head = chosen
    heads = snapshots[-1].maps.shape[1]
    common = of_heads(snapshots[-1].maps, axes, kind=kind, chosen=layer * heads + head)
    return {
        **common,
        "languages": {"query": axes.query_lang, "key": axes.key_lang, "written": written},
        "weights": packed(np.stack([np.where(allowed[layer], one.maps[layer, head], NAN) for one in snapshots])),
        "snapshot": shown,
        "snapshots": [
            {"name": one.name, "text": one.text, "loss": one.loss, "picture": heads_image(one.maps, allowed)}
            for one in snapshots
        ],
    }


def look_data(weights: FloatArray, kind: str, *, title: str, given: int, in_map: bool) -> Data:
    """Which chips the rows and columns of a map (T, S) of one kind of attention are, and its weights.

    Args:
        weights: Of one head, or the mean of some.
        kind: One of `KINDS`.
        title: What the chips and lines are, for a picture of them.
        given: Tokens of a prompt, which stand among those that are read.
        in_map: The large map beside has these very rows and columns.
    """
    queries, keys = weights.shape
    # The position that writes a token is the query of its row; as a key, a position stands for the token that it read.
    writes = {"row": "writes", "from": -given}
    rows = {
        "cross": (writes, {"row": "reads", "from": 0}),
        "encoder": ({"row": "reads", "from": 0},) * 2,
        "decoder": (writes, {"row": "writes", "from": -given - 1}),
    }
    query, key = rows[kind]
    return {
        "title": title,
        "weights": packed(weights),
        "queries": queries,
        "keys": keys,
        "query_row": query["row"],
        "query_from": query["from"],
        "key_row": key["row"],
        "key_from": key["from"],
        "in_map": in_map,
    }


def stepper_data(
    translation: Translation, *, kind: str, step: int | None = None, guess: bool = False, fixed: bool = False
) -> Data:
    """See `elements.stepper`; where it is `fixed`, no other candidate can be written."""
    maps = translation.maps[kind]
    return {
        "text": "|".join(
            token.text for token in translation.source or translation.read[: translation.prompt_length + 1]
        ),
        "given": translation.prompt_length or int(translation.first_token_fixed),
        "given_says": GIVEN[bool(translation.prompt_length)].format(translation.written[0].text),
        "kind": kind,
        "keys": [token.text for token in translation.tokens_of(kind)[1]],
        "languages": {"key": translation.language_of(KINDS[kind].keys), "word": translation.languages[1]},
        "shape": list(maps.shape[:2]),
        "maps": packed(with_nan(maps, translation.allowed(kind))),
        "colours": scale(),
        "fixed": fixed,
        "guess": guess,
        "step": None if step is None else min(step, len(translation.written) - 1),
        "steps": [
            {
                "read": read.text,
                "entropy": written.entropy,
                "candidates": [[c.token, c.probability, c.id, c.id == written.id] for c in written.candidates]
                # What was forced may not be among the best.
                + ([] if listed(written) else [[written.text, written.probability, written.id, True]]),
            }
            for read, written in zip(translation.read, translation.written, strict=True)
        ],
    }


def listed(token: Token) -> bool:
    return any(candidate.id == token.id for candidate in token.candidates)


def derivation_data(steps: Sequence[Step], code: Sequence[Sequence[CodeLine]], *, alt: str, title: str) -> Data:
    """See `elements.derivation`."""
    names = {step.name for step in steps}
    return {
        "steps": [described(step) for step in steps],
        "code": [
            [
                {"words": words, "step": line.step if line.step in names else ""}
                for words, line in zip(coloured([line.text for line in function]), function, strict=True)
            ]
            for function in code
        ],
        "alt": alt,
        "title": title,
    }


def described(step: Step) -> Mapping[str, object]:
    count, width = step.numbers.shape
    low, high = float(np.nanmin(step.numbers, initial=0.0)), float(np.nanmax(step.numbers, initial=0.0))
    bound = max(-low, high, 1e-6)
    ends = (0.0, 1.0) if step.shares else (-bound, bound)
    pixels = painted(step.numbers, low=ends[0], high=ends[1], masked=np.isnan(step.numbers), signed=not step.shares)
    shape = f"{count} {step.rows} of {width} numbers" if step.rows else f"{width} numbers"
    scale = "dark 0, bright 1" if step.shares else f"blue −{bound:.3g}, white 0, red {bound:.3g}"
    return {
        "name": step.name,
        "formula": step.formula,
        "facts": step.facts,
        "picture": png(pixels),
        "says": f"{shape}, from {low:.3g} to {high:.3g}; {scale}",
        "height": min(7 * count, 56) if step.rows else 12,
        "coarse": width < 100,  # single cells can be seen; of more the browser shows the mean
    }


def coloured(lines: Sequence[str]) -> list[list[tuple[str, str]]]:
    """The lines of a function as words with their kind."""
    found: list[list[tuple[str, str]]] = [[] for _ in lines]
    done = [0] * len(lines)
    for token in generate_tokens(io.StringIO("\n".join(lines) + "\n").readline):
        (row, start), (last, end) = token.start, token.end
        word = token.type == NAME and iskeyword(token.string)
        if (word or token.type == COMMENT) and row == last:
            kind = "keyword" if word else "comment"
            found[row - 1] += [(lines[row - 1][done[row - 1] : start], ""), (token.string, kind)]
            done[row - 1] = end
    for line, words, end in zip(lines, found, done, strict=True):
        words.append((line[end:], ""))
    return found
