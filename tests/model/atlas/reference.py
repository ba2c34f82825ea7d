"""Every number of an atlas again, from the maps of one run, in plain Python, without batches and padding."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from model.inference.run import Result, Token

Rows = dict[str, list[float]]  # number → its value in each row where it has a meaning
CLASS = ("special", "punctuation", "number", "first", "later")


def class_of(tokens: Sequence[Token], i: int) -> str:
    token, text = tokens[i], tokens[i].text.removeprefix("·")
    if token.special:
        return "special"
    if all(not character.isalnum() for character in text):
        return "punctuation"
    if any(character.isdigit() for character in text) and not any(character.isalpha() for character in text):
        return "number"
    return "later" if i and tokens[i - 1].word == token.word else "first"


def content(tokens: Sequence[Token]) -> list[int]:
    return [i for i in range(len(tokens)) if class_of(tokens, i) in ("number", "first", "later")]


def consensus(result: Result) -> list[int]:
    """For each written token the source word that all heads together point at, without the sinks."""
    keys, total = content(result.source), result.maps["cross"].sum(axis=(0, 1))
    return [result.source[max(keys, key=lambda s: row[s])].word for row in total] if keys else []


def rows_of(result: Result, kind: str, layer: int, head: int) -> Rows:
    """The value of each number in each row of a head; a pair of classes has the name "row > column"."""
    found: Rows = {}
    for name, value in values(result, kind, result.maps[kind][layer, head].astype(np.float64)):
        found.setdefault(name, []).append(float(value))
    return found


def values(result: Result, kind: str, weights: np.ndarray) -> Iterator[tuple[str, float]]:
    queries, keys = result.tokens_of(kind)
    aligned, end = kind != "cross", 0 if kind == "decoder" else len(keys) - 1
    pointed = consensus(result) if kind == "cross" else []
    classes = [class_of(keys, s) for s in range(len(keys))]
    for t, row in enumerate(weights):
        yield "entropy", -sum(w * math.log(w) for w in row if w > 0)
        yield "confidence", max(row)
        yield "start", row[0]
        yield "end", row[end]
        yield "content", classes[int(np.argmax(row))] in ("number", "first", "later")
        for name, sinks in (("special", ("special",)), ("punctuation", ("punctuation",))):
            yield name, sum(w for w, one in zip(row, classes, strict=True) if one in sinks)
        yield "sinks", sum(w for s, w in enumerate(row) if s == 0 or classes[s] in ("special", "punctuation"))
        for column in CLASS:
            yield f"{class_of(queries, t)} > {column}", sum(w for s, w in enumerate(row) if classes[s] == column)
        if aligned:
            yield from values_between_equal_positions(row, t, keys)
        elif pointed and t in content(queries):
            best = max(content(keys), key=lambda s: row[s])
            yield "alignment", keys[int(np.argmax(row))].word == pointed[t]
            yield "alignment_without_sinks", keys[best].word == pointed[t]


def values_between_equal_positions(row: np.ndarray, t: int, tokens: Sequence[Token]) -> Iterator[tuple[str, float]]:
    yield "distance", sum(abs(t - s) * w for s, w in enumerate(row))
    yield "same", row[t]
    if t > 0:
        yield "previous", row[t - 1]
    if t + 1 < len(row):
        yield "next", row[t + 1]
    if tokens[t].special:
        return
    earlier = [s for s in range(t) if tokens[s].id == tokens[t].id and not tokens[s].special]
    if earlier:
        yield "duplicate", sum(row[s] for s in earlier)
        yield "induction", sum(row[s + 1] for s in earlier)
    others = [s for s, token in enumerate(tokens) if token.word == tokens[t].word and s != t]
    if others:
        yield "word", sum(row[s] for s in others)
