"""Lesson 2: query, key, value. One row of a map by hand: products, the division, the softmax, the weighted sum."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.analysis.anatomy import Anatomy, Derivation, anatomy, derive, value_norms
from model.analysis.statistics import entropy
from model.inference.run import Run
from viz_app.course.figures import figures_of
from viz_app.course.lesson import Answer, Values, Verdict, chosen, estimated
from viz_app.course.lesson_file import read_lesson
from viz_app.course.situation import Situation, whole_number
from viz_app.services.analyses import analysis_of
from viz_app.services.loading import config_of
from viz_app.services.results import result_of

__all__ = ["LESSON"]

E_PER_UNIT = float(np.e)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One query of one head: the row of the map that the page takes apart."""

    kind: str
    layer: int  # layer, head and query count from 0
    head: int
    query: int
    parts: Anatomy
    query_token: str
    keys: tuple[str, ...]  # S

    def derived(self, *, scale: bool = True, temperature: float = 1.0) -> Derivation:
        return derive(self.parts, self.head, self.query, scale=scale, temperature=temperature)

    @property
    def allowed(self) -> NDArray[np.bool_]:
        """The keys that are not masked, (S,)."""
        return np.asarray(self.parts.allowed[self.query])

    @property
    def place(self) -> Values:
        return {"layer": self.layer + 1, "head": self.head + 1, "query": self.query_token}


def row_of(situation: Situation) -> Row:
    """The row that the page shows, with the page's own defaults."""
    kind = situation.choices.get("kind", "cross")
    layer = whole_number(situation, "layer", config_of(situation.key).model.num_layers(kind)) - 1
    run = Run(text=situation.text, forced=situation.forced)
    parts = analysis_of(anatomy, situation.key, run, kind, layer)
    queries, keys = result_of(situation.key, run).tokens_of(kind)
    query = min(int(situation.choices.get("query", "2")), len(queries) - 1)
    return Row(
        kind=kind,
        layer=layer,
        head=whole_number(situation, "head", 1) - 1,
        query=query,
        parts=parts,
        query_token=queries[query].text,
        keys=tuple(token.text for token in keys),
    )


def mean_entropies(situation: Situation) -> tuple[float, float]:
    """The mean entropy of all rows of all heads, in nats: as the model computes them, and without the division."""
    found: tuple[list[float], list[float]] = ([], [])
    model = config_of(situation.key).model
    for kind in model.kinds:
        for layer in range(model.num_layers(kind)):
            run = Run(text=situation.text, forced=situation.forced)
            parts = analysis_of(anatomy, situation.key, run, kind, layer)
            heads, queries = parts.queries.shape[:2]
            for scale, rows in zip((True, False), found, strict=True):
                weights = [derive(parts, h, q, scale=scale).weights for h in range(heads) for q in range(queries)]
                rows += entropy(np.stack(weights)).tolist()
    return float(np.mean(found[0])), float(np.mean(found[1]))


def token_number(answer: Answer) -> int:
    return int(float(str(answer)))


def sums_to_one(situation: Situation, answer: Answer) -> Verdict:
    row = row_of(situation)
    total = float(row.parts.weights[row.head, row.query].sum())
    truth = "one" if abs(total - 1) < 1e-3 else "any"
    return chosen(answer, {truth}, total=total, keys=len(row.keys), **row.place)


def fits_best(situation: Situation, answer: Answer) -> Verdict:
    """The key with the largest product."""
    row = row_of(situation)
    dots = np.where(row.allowed, row.derived().dots, -np.inf)
    first, second = (int(index) for index in np.argsort(-dots)[:2])
    index = token_number(answer)
    values: Values = {
        "key": row.keys[first],
        "product": float(dots[first]),
        "second": row.keys[second],
        "second_product": float(dots[second]),
        "answer": row.keys[index],
        "answer_product": float(row.derived().dots[index]),
        **row.place,
    }
    right = index == first
    return Verdict(right=right, outcome="right" if right else "wrong", values=values)


def divisor(situation: Situation, answer: Answer) -> Verdict:
    """The number by which the model divides the products."""
    row = row_of(situation)
    width = row.parts.queries.shape[-1]
    root = 1 / row.parts.scaling
    dots, scores = row.derived().dots, row.derived().scores
    best = int(np.argmax(np.where(row.allowed, dots, -np.inf)))
    values: Values = {
        "root": root,
        "width": width,
        "key": row.keys[best],
        "product": float(dots[best]),
        "score": float(scores[best]),
    }
    if float(str(answer)) == width:
        return Verdict(right=False, outcome="width", values=values)
    return estimated(answer, root, within=0.3, **values)


def weight_per_score(situation: Situation, answer: Answer) -> Verdict:
    """How many times larger a weight is if its score is larger by 1."""
    row = row_of(situation)
    derived = row.derived()
    order = np.argsort(-np.where(row.allowed, derived.scores, -np.inf))[:2]
    scores, weights = derived.scores[order], derived.weights[order]
    gap, ratio = float(scores[0] - scores[1]), float(weights[0] / weights[1])
    return estimated(
        answer,
        float(ratio ** (1 / gap)) if gap > 1e-3 else E_PER_UNIT,
        within=0.3,
        factor=E_PER_UNIT,
        first=row.keys[order[0]],
        second=row.keys[order[1]],
        gap=gap,
        ratio=ratio,
        first_weight=float(weights[0]),
        second_weight=float(weights[1]),
    )


def without_division(situation: Situation, answer: Answer) -> Verdict:
    divided, undivided = mean_entropies(situation)
    truth = "same" if abs(divided - undivided) < 0.02 else "sharper" if undivided < divided else "flatter"
    row = row_of(situation)
    own, other = (row.derived(scale=scale).weights for scale in (True, False))
    best = int(own.argmax())
    return chosen(
        answer,
        {truth},
        divided=divided,
        undivided=undivided,
        key=row.keys[best],
        weight=float(own[best]),
        other_weight=float(other[best]),
        **figures_of("query-key-value"),
    )


def nearest_value(situation: Situation, answer: Answer) -> Verdict:
    """The value that points most in the direction of the head output."""
    row = row_of(situation)
    derived, values_of_keys = row.derived(), row.parts.values[row.head]
    lengths = np.linalg.norm(values_of_keys, axis=-1) * np.linalg.norm(derived.head_output)
    cosines = values_of_keys @ derived.head_output / lengths
    best, index = int(cosines.argmax()), token_number(answer)
    values: Values = {
        "key": row.keys[best],
        "cosine": float(cosines[best]),
        "weight": float(derived.weights[best]),
        "answer": row.keys[index],
        "answer_cosine": float(cosines[index]),
        "answer_weight": float(derived.weights[index]),
    }
    right = index == best
    return Verdict(right=right, outcome="right" if right else "wrong", values=values)


def adds_most(situation: Situation, answer: Answer) -> Verdict:
    """Whether the key with the largest weight also adds the longest vector to the output of the layer."""
    row = row_of(situation)
    run = Run(text=situation.text, forced=situation.forced)
    norms = analysis_of(value_norms, situation.key, run)[row.kind][row.layer, row.head]
    weights = row.derived().weights
    added = weights * norms  # ‖α v W_O‖
    heavy, long = int(weights.argmax()), int(added.argmax())
    return chosen(
        answer,
        {"yes" if heavy == long else "no"},
        heavy=row.keys[heavy],
        heavy_weight=float(weights[heavy]),
        heavy_added=float(added[heavy]),
        long=row.keys[long],
        long_weight=float(weights[long]),
        long_added=float(added[long]),
    )


def certain_row(situation: Situation, _: Answer, *, least: float) -> Verdict:
    """A row in which one key has nearly all the weight, although the query may attend to several."""
    row = row_of(situation)
    weights = row.parts.weights[row.head, row.query]
    best = int(weights.argmax())
    values: Values = {"key": row.keys[best], "weight": float(weights[best]), "least": least, **row.place}
    if int(row.allowed.sum()) < 2:
        return Verdict(right=False, outcome="only", values=values)
    right = float(weights[best]) >= least
    return Verdict(right=right, outcome="right" if right else "spread", values=values)


def same_with_temperature(situation: Situation, _: Answer, *, within: float) -> Verdict:
    """The division stays on, and the temperature gives nearly the weights that the row has without the division."""
    row = row_of(situation)
    temperature = float(situation.choices.get("head_temperature", "1"))
    wanted = row.derived(scale=False).weights
    difference = float(np.abs(row.derived(temperature=temperature).weights - wanted).max())
    spread = float(entropy(wanted[None])[0])
    values: Values = {
        "temperature": f"{temperature:g}",
        "difference": difference,
        "within": within,
        "best": row.parts.scaling,
        "spread": spread,
    }
    if situation.choices.get("scaled", "true") == "false":
        return Verdict(right=False, outcome="switched-off", values=values)
    if spread < 0.1:
        return Verdict(right=False, outcome="no-spread", values=values)
    if difference < within:
        return Verdict(right=True, outcome="right", values=values)
    now = float(entropy(row.derived(temperature=temperature).weights[None])[0])
    return Verdict(right=False, outcome="flat" if now > spread else "sharp", values={**values, "now": now})


def best_key_is_masked(situation: Situation, _: Answer, *, least: float) -> Verdict:
    """A row in which a masked key has a larger product than all keys that the query may attend to."""
    row = row_of(situation)
    if row.allowed.all():
        return Verdict(right=False, outcome="nothing-masked", values=row.place)
    dots = row.derived().dots
    masked, open_ = (int(np.where(cells, dots, -np.inf).argmax()) for cells in (~row.allowed, row.allowed))
    ahead = float(dots[masked] - dots[open_])
    values: Values = {
        "masked": row.keys[masked],
        "masked_product": float(dots[masked]),
        "open": row.keys[open_],
        "open_product": float(dots[open_]),
        "ahead": ahead,
        "least": least,
        **row.place,
    }
    outcome = "right" if ahead >= least else "little" if ahead > 0 else "behind"
    return Verdict(right=outcome == "right", outcome=outcome, values=values)


LESSON = read_lesson(
    "query-key-value",
    {
        "row": sums_to_one,
        "best-key": fits_best,
        "divide": divisor,
        "softmax": weight_per_score,
        "no-division": without_division,
        "weighted-sum": nearest_value,
        "small-value": adds_most,
        "puzzle-certain": certain_row,
        "puzzle-temperature": same_with_temperature,
        "puzzle-masked": best_key_is_masked,
    },
)
