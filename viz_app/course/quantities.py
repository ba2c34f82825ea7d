"""What a run shows, by the names that the checks of lessons use. `live/course/quantities.js` has the same names.

A quantity is a text, a number, or a list or a mapping of them. Layers, heads, rows and places count from 0.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from model.analysis.anatomy import Anatomy, anatomy, derive
from model.analysis.anatomy import value_norms as norms_of_values
from model.analysis.importance import all_heads, gradient_importance
from model.analysis.positions import wavelengths as waves_of
from model.analysis.silencing import silence_each_head
from model.analysis.statistics import cosine_similarity, entropy, metrics_of_run, rank_agreement
from model.inference.run import FloatArray, Result, Run, Token
from model.interventions import Head, Intervention
from model.text.tokenizers import CONTINUES
from viz_app.content.examples import BATCHES
from viz_app.course.expressions import words
from viz_app.course.situation import Situation, whole_number
from viz_app.services.analyses import analysis_of, batch_of, bug_report_of, position_table
from viz_app.services.listing import CheckpointKey
from viz_app.services.models import config_of, loaded, log_prob_of, result_of

__all__ = [
    *("BASE", "KINDS_IN_ORDER", "QUANTITIES", "batch_texts", "entropies", "head_effects", "head_gradients"),
    *("largest_weights", "quantities", "quantity", "row", "sentence", "word_at"),
]

QUANTITIES: dict[str, Callable[..., Any]] = {}  # name → its function of a situation
CLEAR = 0.5  # of a row's weight: the network looks at one token
KINDS_IN_ORDER = ("encoder", "decoder", "cross")
BASE = 10_000.0  # of the sinusoids


def quantity(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Let the checks use a function under its name. Its first argument is the situation."""
    QUANTITIES[compute.__name__] = compute
    return compute


def quantities(**found: Callable[..., Any]) -> None:
    """The same for short functions."""
    QUANTITIES.update(found)


# The texts of a run, and its tokens.
quantities(
    text=lambda situation: situation.text,
    usual=lambda situation: situation.usual.text,
    changed=lambda situation: situation.translation.text,
    source=lambda situation: texts_of(situation.translation.source),
    read=lambda situation: texts_of(situation.translation.read),
    written=lambda situation: texts_of(situation.translation.written),
    word_of=lambda situation, place: word_at(situation.translation.written, place),
    probabilities=lambda situation: [token.probability for token in situation.translation.written],
    source_special=lambda situation: [token.special for token in situation.translation.source],
    written_special=lambda situation: [token.special for token in situation.translation.written],
    forced_places=lambda situation: sorted(place for place, _ in situation.forced),
    choice=lambda situation, name, default: situation.choices.get(name, "") or str(default),
)


def texts_of(tokens: Sequence[Token]) -> list[str]:
    return [token.text for token in tokens]


def word_at(tokens: Sequence[Token], index: int) -> str:
    """The word to which a token belongs. A special token is a word of its own."""
    token = tokens[index]
    parts = [other.text.removeprefix(CONTINUES) for other in tokens if other.word == token.word and token.word >= 0]
    return "".join(parts).lstrip("␣") or token.text


@quantity
def different_words(situation: Situation) -> int:
    """How many different words the text has; a contraction such as "I'm" is one."""
    return len({word.strip(".,!?").lower() for word in situation.text.split()} - {""})


@quantity
def verb_moved(situation: Situation) -> bool:
    """Whether a word that usually follows the first words now stands directly before them.

    So German orders a question, and a sentence that begins with another part than the subject.
    """
    usual, now = words(situation.usual.text), words(situation.translation.text)
    fronts = [[usual[at], *usual[:at]] for at in range(1, len(usual))]
    return any(now[at : at + len(front)] == front for front in fronts for at in range(len(now)))


@quantity
def translated(situation: Situation, text: str, changes: str | Intervention = "") -> str:
    """The translation of a text with some changes, which a link writes so, and without those of the visitor."""
    change = Intervention.from_code(changes) if isinstance(changes, str) else changes
    return result_of(situation.key, Run(text=text, changes=change)).text


@quantity
def both(situation: Situation, texts: Sequence[str], changes: str) -> dict[str, list[str]]:
    """The usual translations of several texts, and those with some changes."""
    return {
        "usual": [translated(situation, text) for text in texts],
        "changed": [translated(situation, text, changes) for text in texts],
    }


# Heads, and what happens without them.
quantities(
    sizes=lambda situation: list(head_sizes(situation).values()),
    size=lambda situation, kind: head_sizes(situation)[kind],
    head_count=lambda situation: sum(layers * heads for layers, heads in head_sizes(situation).values()),
    weights=lambda situation, kind, layer, head, row: situation.translation.maps[kind][layer, head, row],
    changes=lambda situation: situation.intervention.code(),
    silenced=lambda situation: sorted(situation.intervention.ablated),
    only_silenced=lambda situation: situation.intervention == Intervention(ablated=situation.intervention.ablated),
    text_without=lambda situation, heads: translated(situation, situation.text, without(heads)),
    heads_of=lambda situation, kind, layer: [head for head in all_of_kind(situation, kind) if head.layer == layer],
)


def head_sizes(situation: Situation) -> dict[str, list[int]]:
    """Kind of attention → how many layers and heads the run has."""
    return {kind: list(maps.shape[:2]) for kind, maps in situation.translation.maps.items()}


def without(heads: Sequence[Head]) -> Intervention:
    return Intervention(ablated=frozenset(heads))


def all_of_kind(situation: Situation, kind: str) -> list[Head]:
    return [head for head in all_heads(loaded(situation.key).model) if head.kind == kind]


@quantity
def jump_back(situation: Situation) -> list[int] | None:
    """The row that looks at one token, and a later row that looks at another: the two that are farthest apart.

    Returns:
        How many tokens the second one stands before the first, and the two rows; None without two such rows.
    """
    run = situation.translation
    best = [(row, int(one.argmax())) for row, one in enumerate(run.maps["cross"][0, 0]) if one.max() >= CLEAR]
    rows = [(row, key) for row, key in best if words(run.source[key].text)]
    jumps = [(first - second, i, j) for i, first in rows for j, second in rows if i < j]
    return list(max(jumps)) if jumps else None


@quantity
def changing_heads(situation: Situation) -> list[Head]:
    """The heads that change the translation, if each is silenced alone."""
    found = analysis_of(silence_each_head, situation.key, Run(text=situation.text)).positions
    return [Head(kind, *map(int, place)) for kind, at in found.items() for place in np.argwhere(at >= 0)]


@quantity
def drops_by_layer(situation: Situation) -> list[float]:
    """By how much the log-probability of the translation falls without the cross-attention of each layer."""
    usual, heads = situation.usual, all_of_kind(situation, "cross")
    written = tuple((place, token.id) for place, token in enumerate(usual.written))
    silent = [
        without([head for head in heads if head.layer == layer]) for layer in {head.layer: None for head in heads}
    ]
    runs = (Run(text=situation.text, forced=written, changes=change) for change in silent)
    return [usual.log_prob - log_prob_of(situation.key, run) for run in runs]


@quantity
def shown_head(situation: Situation) -> Head | None:
    """The head that the page shows; None where it shows several."""
    name, kind = situation.choices.get("head", "1"), situation.choices.get("kind", "cross")
    layer = whole_number(situation, "layer", config_of(situation.key).model.num_layers(kind))
    return Head(kind, layer - 1, int(name) - 1) if name.isdecimal() else None


@quantity
def place_of(_: Situation, head: Head) -> dict[str, int]:
    """The layer and the number of a head, from 1."""
    return {"layer": head.layer + 1, "head": head.head + 1}


@quantity
def shares_of(situation: Situation, head: Head) -> dict[str, float]:
    """The mean weight of a head on the token before, on the same and on the next token, and on the end."""
    metrics = analysis_of(metrics_of_run, situation.key, Run(text=situation.text))[head.kind]
    names = ("previous", "same", "next", "end")
    return {name: float(np.nanmean(metrics[name][head.layer, head.head])) for name in names}


@quantity
def largest_weight(situation: Situation, head: Head) -> float:
    """The largest weight of a head. The first query of a decoder has only one key, so it does not count."""
    maps = situation.usual.maps[head.kind]
    return float(maps[head.layer, head.head, int(head.kind == "decoder") :].max(initial=0.0))


# Three measures of each head, as one array of all heads: kind → (L, H) → (N,).
def joined_kinds(found: Mapping[str, FloatArray]) -> FloatArray:
    return np.concatenate([found[kind].ravel() for kind in KINDS_IN_ORDER])


def largest_weights(key: CheckpointKey, text: str) -> FloatArray:
    """The mean over the queries of the largest weight of each head. The first query of a decoder has only one key."""
    maps = result_of(key, Run(text=text)).maps
    return joined_kinds({kind: maps[kind][:, :, int(kind == "decoder") :].max(axis=-1).mean(axis=-1) for kind in maps})


def head_effects(key: CheckpointKey, text: str) -> FloatArray:
    """By how much the log-probability of the translation changes when each head is silenced, in nats."""
    return np.abs(joined_kinds(analysis_of(silence_each_head, key, Run(text=text)).changes))


def head_gradients(key: CheckpointKey, text: str) -> FloatArray:
    """What the gradient predicts for each head, see `gradient_importance`."""
    found = analysis_of(gradient_importance, key, ((text, ""),))
    return joined_kinds({kind: one[0] for kind, one in found.items()})


@quantity
def agreement(situation: Situation, measure: str) -> dict[str, float]:
    """Whether a measure puts the heads in the order of the effects of silencing them, and how many of ten it shares."""
    key, text = situation.key, situation.text
    sizes, effects = (head_gradients if measure == "gradient" else largest_weights)(key, text), head_effects(key, text)
    shared = int(((effects >= sorted(effects)[-10]) & (sizes >= sorted(sizes)[-10])).sum())
    correlation, _, _ = rank_agreement(sizes[None], effects[None], resamples=1)
    return {"correlation": correlation, "shared": shared, "heads": len(effects)}


# One row of a map by hand.
def row_parts(situation: Situation) -> tuple[Head, int, Result, Anatomy]:
    """The head and the query that the page Inside takes apart by its own defaults, the run, and the vectors."""
    kind = situation.choices.get("kind", "cross")
    layer = whole_number(situation, "layer", config_of(situation.key).model.num_layers(kind)) - 1
    translation = result_of(situation.key, forced_run(situation))
    parts = analysis_of(anatomy, situation.key, forced_run(situation), kind, layer)
    query = min(whole_number(situation, "query", 2), len(translation.tokens_of(kind)[0]) - 1)
    return Head(kind, layer, whole_number(situation, "head", 1) - 1), query, translation, parts


def forced_run(situation: Situation) -> Run:
    return Run(text=situation.text, forced=situation.forced)


@quantity
def row(situation: Situation) -> dict[str, Any]:
    """One row of the map.

    Returns:
        `place` names it. `keys`: the tokens. `weights` as the model recorded them; `shares` computed again from `dots`
        and `scores`, and `undivided` without the division by `root`. `cosines` of the values with the head output.
    """
    head, query, translation, parts = row_parts(situation)
    queries, keys = translation.tokens_of(head.kind)
    derived, values = derive(parts, head.head, query), parts.values[head.head]
    lengths = np.linalg.norm(values, axis=-1) * np.linalg.norm(derived.head_output)
    return {
        "place": {**place_of(situation, head), "query": queries[query].text},
        "keys": texts_of(keys),
        "open": parts.allowed[query],
        "masked": ~parts.allowed[query],
        "width": parts.queries.shape[-1],
        "root": 1 / parts.scaling,
        "weights": parts.weights[head.head, query],
        "dots": derived.dots,
        "scores": derived.scores,
        "shares": derived.weights,
        "undivided": derive(parts, head.head, query, scale=False).weights,
        "cosines": values @ derived.head_output / lengths,
    }


@quantity
def row_at_temperature(situation: Situation, temperature: float) -> FloatArray:
    """The weights of the row with a temperature."""
    head, query, _, parts = row_parts(situation)
    return derive(parts, head.head, query, temperature=temperature).weights


@quantity
def value_norms(situation: Situation) -> FloatArray:
    """The length of each value of the head after the output projection."""
    head, _, _, _ = row_parts(situation)
    return analysis_of(norms_of_values, situation.key, forced_run(situation))[head.kind][head.layer, head.head]


@quantity
def entropies(situation: Situation) -> list[float]:
    """The mean entropy of all rows of all heads, in nats: as the model computes them, and without the division."""
    found: tuple[list[float], list[float]] = ([], [])
    model = config_of(situation.key).model
    for kind in model.kinds:
        for layer in range(model.num_layers(kind)):
            parts = analysis_of(anatomy, situation.key, forced_run(situation), kind, layer)
            heads, queries = parts.queries.shape[:2]
            for scale, rows in zip((True, False), found, strict=True):
                weights = [derive(parts, h, q, scale=scale).weights for h in range(heads) for q in range(queries)]
                rows += entropy(np.stack(weights)).tolist()
    return [float(np.mean(rows)) for rows in found]


quantities(
    entropy=lambda _, weights: float(entropy(np.asarray(weights)[None])[0]),
    # Positions.
    wavelengths=lambda situation: waves_of(position_table(situation.key).shape[1], BASE),
    similarities=lambda situation, place: cosine_similarity(position_table(situation.key))[place],
)


# Masks, and the steps of the decoder.
def batch_texts(situation: Situation) -> tuple[str, ...]:
    """The sentences of the batch on the page Masks."""
    fields = [situation.choices.get(f"batch_en_{number}", text) for number, text in enumerate(BATCHES["en"], start=1)]
    return tuple(text for text in fields if text.strip())


def sentence(situation: Situation) -> int:
    """The sentence of the batch that the page shows."""
    return min(whole_number(situation, "sentence", 1), len(batch_texts(situation))) - 1


@quantity
def leaks(situation: Situation, bug: str = "") -> dict[str, float]:
    """Kind → the share of the weight of this sentence on masked keys, with a mistake in the masks."""
    found = bug_report_of(situation.key, batch_texts(situation), bug).leaked
    return {kind: float(shares[sentence(situation)]) for kind, shares in found.items()}


@quantity
def open_keys(situation: Situation, step: int) -> int:
    """How many tokens the decoder may attend to at a step."""
    return int(situation.translation.allowed("decoder")[0, step].sum())


@quantity
def changes_by_step(situation: Situation) -> list[float]:
    """For each step, the largest change of a weight of the decoder because of the forced tokens."""
    runs = situation.usual, situation.translation

    def at(run: Result, step: int) -> FloatArray:
        rows = run.maps["decoder"][:, :, step, : step + 1], run.maps["cross"][:, :, step]
        return np.concatenate([one.ravel() for one in rows])

    steps = range(min(len(run.written) for run in runs))
    return [float(np.abs(at(runs[0], step) - at(runs[1], step)).max()) for step in steps]


quantities(
    sentence=sentence,
    lengths=lambda situation: batch_of(situation.key, batch_texts(situation)).answer().source_real.sum(axis=1).tolist(),
)
