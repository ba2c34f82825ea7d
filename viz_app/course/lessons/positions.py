"""Lesson 5: where is each word? Sinusoids, learned vectors, rotation, and a model without positions."""

from collections.abc import Mapping
from dataclasses import dataclass

from model.analysis.positions import encoding_properties, rotation, rotation_error, wavelengths
from model.analysis.statistics import cosine_similarity
from model.inference.run import Run
from model.interventions import Intervention
from viz_app.content.demonstrations import DEMONSTRATIONS
from viz_app.content.examples import CAPTIONS, EVERYDAY
from viz_app.course.lesson import Action, Answer, Lesson, Number, OneOf, Step, Verdict
from viz_app.course.page_choices import texts
from viz_app.course.situation import Situation
from viz_app.course.verdicts import ESTIMATES, chosen, estimated
from viz_app.services.analyses import scores_by_distance_of
from viz_app.services.position_tables import position_table
from viz_app.services.results import result_of

__all__ = ["LESSON"]

WITHOUT_POSITIONS = Intervention(positions=False)
OPENING = DEMONSTRATIONS["everyday-en-de"]
EXAMPLES = tuple(dict.fromkeys((*EVERYDAY["en"], *CAPTIONS["en"])))
BASE, PLACE, SHIFT, REACH = 10_000.0, 10, 3, 12
OTHER_PLACES = {"next": 11, "wave": 16, "double": 20}


def with_and_without(situation: Situation, text: str) -> tuple[str, str]:
    """The translations of a text with the positional encoding and without it."""
    blind = result_of(situation.key, Run(text=text, changes=WITHOUT_POSITIONS))
    return result_of(situation.key, Run(text=text)).text, blind.text


@dataclass(frozen=True)
class TwoOrders:
    """What happens to two orders of the same tokens without positions."""

    first: str
    other: str

    def __call__(self, situation: Situation, answer: Answer) -> Verdict:
        seen, blind = zip(*(with_and_without(situation, text) for text in (self.first, self.other)), strict=True)
        truth = "equal" if blind[0] == blind[1] else "mirrored" if blind == seen else "different"
        return chosen(answer, {truth}, first=seen[0], other=seen[1], blind=blind[0], blind_other=blind[1])


def stays_or_changes(situation: Situation, answer: Answer) -> Verdict:
    seen, blind = with_and_without(situation, situation.text)
    return chosen(answer, {"stays" if seen == blind else "changes"}, text=situation.text, seen=seen, blind=blind)


@dataclass(frozen=True)
class KeepTranslations:
    """How many of some sentences keep their translations without positions."""

    sentences: tuple[str, ...]

    def __call__(self, situation: Situation, answer: Answer) -> Verdict:
        kept = [text for text in self.sentences if len(set(with_and_without(situation, text))) == 1]
        kept_texts = " · ".join(kept) or "–"
        return estimated(answer, len(kept), within=1, count=len(kept), all=len(self.sentences), kept=kept_texts)


def full_turn(situation: Situation, answer: Answer) -> Verdict:
    lengths = wavelengths(position_table(situation.key).shape[1], BASE)
    first, last = float(lengths[0]), float(lengths[-1])
    return estimated(answer, first, within=0.3, first=round(first, 2), last=round(last), waves=len(lengths))


@dataclass(frozen=True)
class MostSimilar:
    """Which of a few positions has the encoding that is most similar to that of another position."""

    place: int
    others: Mapping[str, int]  # option → position

    def __call__(self, situation: Situation, answer: Answer) -> Verdict:
        similarity = cosine_similarity(position_table(situation.key))[self.place]
        found = {name: float(similarity[place]) for name, place in self.others.items()}
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
    scores = scores_by_distance_of(situation.key, 0, REACH)[0]  # of the first head, (2 · reach + 1,)
    before, same, after = (round(float(scores[REACH + step] - scores[REACH]), 1) for step in (-1, 0, 1))
    best = int(scores.argmax()) - REACH
    truth = {-1: "previous", 0: "same", 1: "next"}.get(best, "far")
    return chosen(answer, {truth}, before=before, same=same, after=after, best=best)


def changes_without(situation: Situation, _: Answer) -> Verdict:
    seen, blind = with_and_without(situation, situation.text)
    outcome = "right" if seen != blind else "unchanged"
    return Verdict(right=seen != blind, outcome=outcome, values={"text": situation.text, "seen": seen, "blind": blind})


@dataclass(frozen=True)
class KeepsItsTranslation:
    """A sentence of several different words whose translation stays equal without positions."""

    words: int

    def __call__(self, situation: Situation, _: Answer) -> Verdict:
        count = len({word.strip(".,!?").lower() for word in situation.text.split()} - {""})
        if count < self.words:
            return Verdict(right=False, outcome="short", values={"count": count, "least": self.words})
        seen, blind = with_and_without(situation, situation.text)
        return Verdict(
            right=seen == blind,
            outcome="right" if seen == blind else "changed",
            values={"text": situation.text, "seen": seen, "blind": blind, "count": count},
        )


@dataclass(frozen=True)
class SameAsAnother:
    """A sentence that becomes the translation of another sentence only when the positions are missing."""

    other: str

    def __call__(self, situation: Situation, _: Answer) -> Verdict:
        wanted = result_of(situation.key, Run(text=self.other)).text
        seen, blind = with_and_without(situation, situation.text)
        outcome = "seen-equal" if seen == wanted else "right" if blind == wanted else "blind-differs"
        values = {"text": situation.text, "wanted": wanted, "seen": seen, "blind": blind}
        return Verdict(right=outcome == "right", outcome=outcome, values=values)


def on_positions(
    tab: str, checkpoint: str = "everyday-en-de", text: str = "The cat is black.", **more: str
) -> dict[str, str]:
    return {"checkpoint": checkpoint, "position_tab": tab, "text": text, **more}


LESSON = Lesson(
    name="positions",
    steps=(
        Step(
            name="two-orders",
            page="positions",
            choices=on_positions("sentence", text=OPENING.order, shuffle="0"),
            answer=OneOf(("mirrored", "equal", "different")),
            check=TwoOrders(OPENING.order, OPENING.reordered),
            target="shuffle",
            any_sentence=False,
        ),
        Step(
            name="black-cat",
            page="positions",
            choices=on_positions("sentence"),
            answer=OneOf(("stays", "changes")),
            check=stays_or_changes,
            target="text",
        ),
        Step(
            name="ten-sentences",
            page="positions",
            choices=on_positions("sentence", text="Where is the station?"),
            answer=Number(0, len(EXAMPLES), 1),
            check=KeepTranslations(EXAMPLES),
            outcomes=ESTIMATES,
            target="text",
            any_sentence=False,
        ),
        Step(
            name="full-turn",
            page="positions",
            choices=on_positions("waves"),
            answer=Number(0, 20, 0.1),
            check=full_turn,
            outcomes=ESTIMATES,
            target="wavelengths",
            any_sentence=False,
        ),
        Step(
            name="nearest",
            page="positions",
            choices=on_positions("matrix"),
            answer=OneOf(tuple(OTHER_PLACES)),
            check=MostSimilar(PLACE, OTHER_PLACES),
            target="matrix",
            any_sentence=False,
        ),
        Step(
            name="one-matrix",
            page="positions",
            choices=on_positions("distances", shift=str(SHIFT)),
            answer=OneOf(("same", "another")),
            check=one_matrix,
            target="rotation",
            any_sentence=False,
        ),
        Step(
            name="learned",
            page="positions",
            choices=on_positions("distances", "multi30k-de-en-words", "Ein Hund rennt."),
            answer=OneOf(("unique", "bounded", "consistent", "extends")),
            check=learned_properties,
            target="distance",
            any_sentence=False,
        ),
        Step(
            name="rotary",
            page="positions",
            choices=on_positions("distances", "imdb-sentiment"),
            answer=OneOf(("previous", "same", "next", "far")),
            check=favourite_distance,
            target="distance_scores",
            any_sentence=False,
        ),
        Step(
            name="puzzle-changes",
            page="positions",
            choices=on_positions("sentence", text="I am tired."),
            answer=Action(),
            check=changes_without,
            outcomes=("right", "unchanged"),
            target="text",
            any_sentence=False,
            puzzle=True,
            offers=texts(
                "The cat is black.",
                "The dog bites the man.",
                "Where is the station?",
                "My brother helps my sister.",
            ),
        ),
        Step(
            name="puzzle-keeps",
            page="positions",
            choices=on_positions("sentence", text="My name is Anna."),
            answer=Action(),
            check=KeepsItsTranslation(words=4),
            outcomes=("right", "short", "changed"),
            target="text",
            any_sentence=False,
            puzzle=True,
            offers=texts("The dog bites the man.", "Where is the station?", "I bought a new car.", "The cat is black."),
        ),
        Step(
            name="puzzle-twin",
            page="positions",
            choices=on_positions("sentence", text="I love you."),
            answer=Action(),
            check=SameAsAnother("I love you."),
            outcomes=("right", "seen-equal", "blind-differs"),
            target="text",
            any_sentence=False,
            puzzle=True,
            offers=texts("We love you.", "I love me.", "You love me.", "Do you love me?"),
        ),
    ),
)
