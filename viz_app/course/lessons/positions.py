"""Lesson 5: where is each word? Sinusoids, learned vectors, rotation, and a model without positions."""

from collections.abc import Mapping

from model.analysis.positions import encoding_properties, rotation, rotation_error, scores_by_distance, wavelengths
from model.analysis.statistics import cosine_similarity
from model.inference.run import Run
from model.interventions import Intervention
from viz_app.course.lesson import Answer, Verdict, chosen, estimated
from viz_app.course.lesson_file import read_lesson
from viz_app.course.situation import Situation
from viz_app.services.analyses import analysis_of, position_table
from viz_app.services.results import result_of

__all__ = ["LESSON"]

WITHOUT_POSITIONS = Intervention(positions=False)
BASE, SHIFT, REACH = 10_000.0, 3, 12


def with_and_without(situation: Situation, text: str) -> tuple[str, str]:
    """The translations of a text with the positional encoding and without it."""
    blind = result_of(situation.key, Run(text=text, changes=WITHOUT_POSITIONS))
    return result_of(situation.key, Run(text=text)).text, blind.text


def two_orders(situation: Situation, answer: Answer, *, first: str, other: str) -> Verdict:
    """What happens to two orders of the same tokens without positions."""
    seen, blind = zip(*(with_and_without(situation, text) for text in (first, other)), strict=True)
    truth = "equal" if blind[0] == blind[1] else "mirrored" if blind == seen else "different"
    return chosen(answer, {truth}, first=seen[0], other=seen[1], blind=blind[0], blind_other=blind[1])


def stays_or_changes(situation: Situation, answer: Answer) -> Verdict:
    seen, blind = with_and_without(situation, situation.text)
    return chosen(answer, {"stays" if seen == blind else "changes"}, text=situation.text, seen=seen, blind=blind)


def keep_translations(situation: Situation, answer: Answer, *, sentences: tuple[str, ...]) -> Verdict:
    """How many of some sentences keep their translations without positions."""
    kept = [text for text in sentences if len(set(with_and_without(situation, text))) == 1]
    kept_texts = " · ".join(kept) or "–"
    return estimated(answer, len(kept), within=1, count=len(kept), all=len(sentences), kept=kept_texts)


def full_turn(situation: Situation, answer: Answer) -> Verdict:
    lengths = wavelengths(position_table(situation.key).shape[1], BASE)
    first, last = float(lengths[0]), float(lengths[-1])
    return estimated(answer, first, within=0.3, first=round(first, 2), last=round(last), waves=len(lengths))


def most_similar(situation: Situation, answer: Answer, *, place: int, others: Mapping[str, int]) -> Verdict:
    """Which of a few positions has the encoding that is most similar to that of another position."""
    similarity = cosine_similarity(position_table(situation.key))[place]
    found = {name: float(similarity[other]) for name, other in others.items()}
    right = {max(found, key=found.__getitem__)}
    return chosen(answer, right, **{name: round(one, 2) for name, one in found.items()})


def one_matrix(situation: Situation, answer: Answer) -> Verdict:
    table = position_table(situation.key)
    error = rotation_error(table, rotation(table.shape[1], BASE, SHIFT), SHIFT)
    truth = "same" if error < 1e-4 else "another"
    return chosen(answer, {truth}, error=f"{error:.1g}", positions=len(table) - SHIFT)


def learned_properties(situation: Situation, answer: Answer) -> Verdict:
    properties = encoding_properties(position_table(situation.key), has_formula=False)
    figures = {one.name: one.figure for one in properties}
    return chosen(
        answer,
        {one.name for one in properties if not one.holds},
        apart=round(figures["unique"], 2),
        largest=round(figures["bounded"], 2),
        spread=figures["consistent"],
        last=int(figures["extends"]),
    )


def favourite_distance(situation: Situation, answer: Answer) -> Verdict:
    scores = analysis_of(scores_by_distance, situation.key, 0, REACH)[0]  # of the first head, (2 · reach + 1,)
    before, same, after = (round(float(scores[REACH + step] - scores[REACH]), 1) for step in (-1, 0, 1))
    best = int(scores.argmax()) - REACH
    truth = {-1: "previous", 0: "same", 1: "next"}.get(best, "far")
    return chosen(answer, {truth}, before=before, same=same, after=after, best=best)


def changes_without(situation: Situation, _: Answer) -> Verdict:
    seen, blind = with_and_without(situation, situation.text)
    outcome = "right" if seen != blind else "unchanged"
    return Verdict(right=seen != blind, outcome=outcome, values={"text": situation.text, "seen": seen, "blind": blind})


def keeps_its_translation(situation: Situation, _: Answer, *, words: int) -> Verdict:
    """A sentence of several different words whose translation stays equal without positions."""
    count = len({word.strip(".,!?").lower() for word in situation.text.split()} - {""})
    if count < words:
        return Verdict(right=False, outcome="short", values={"count": count, "least": words})
    seen, blind = with_and_without(situation, situation.text)
    return Verdict(
        right=seen == blind,
        outcome="right" if seen == blind else "changed",
        values={"text": situation.text, "seen": seen, "blind": blind, "count": count},
    )


def same_as_another(situation: Situation, _: Answer, *, other: str) -> Verdict:
    """A sentence that becomes the translation of another sentence only when the positions are missing."""
    wanted = result_of(situation.key, Run(text=other)).text
    seen, blind = with_and_without(situation, situation.text)
    outcome = "seen-equal" if seen == wanted else "right" if blind == wanted else "blind-differs"
    values = {"text": situation.text, "wanted": wanted, "seen": seen, "blind": blind}
    return Verdict(right=outcome == "right", outcome=outcome, values=values)


LESSON = read_lesson(
    "positions",
    {
        "two-orders": two_orders,
        "black-cat": stays_or_changes,
        "ten-sentences": keep_translations,
        "full-turn": full_turn,
        "nearest": most_similar,
        "one-matrix": one_matrix,
        "learned": learned_properties,
        "rotary": favourite_distance,
        "puzzle-changes": changes_without,
        "puzzle-keeps": keeps_its_translation,
        "puzzle-twin": same_as_another,
    },
)
