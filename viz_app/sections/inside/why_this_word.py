"""Why a word or a class and not another: what every part of the model added to the difference of their logits."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from model.analysis.availability import nothing_predicted
from model.analysis.contributions import Contributions
from model.analysis.contributions import contributions as contributions_in
from model.config.kinds import KINDS
from model.inference.run import Candidate, Outcome, Run
from viz_app.content.numbers import decimal, percent, sentences
from viz_app.content.plain import visible
from viz_app.content.translation import t
from viz_app.figures.grids import head_grids
from viz_app.figures.style import marked
from viz_app.services import models
from viz_app.services.analyses import analysis_of
from viz_app.services.listing import CheckpointKey
from viz_app.widgets.charts import draw
from viz_app.widgets.choosing import choose
from viz_app.widgets.headings import explain, grade_line, verdict

__all__ = ["why_this_word"]


def why_this_word(key: CheckpointKey, run: Run) -> None:
    """Ask for a rival of a word or a class, and draw what each part of the model added for one or the other."""
    found = models.result_of(key, run)
    # The model chose the tokens after a prompt, and after a first token that is fixed.
    outcomes = [one for one in found.outcomes if not one.fixed and (one.position or 0) >= found.prompt_length]
    if not outcomes:
        raise nothing_predicted(models.config_of(key))
    label = outcomes[0].position is None
    outcome, rival = ask_for_label(outcomes[0]) if label else ask_for_words(outcomes)
    contributions = analysis_of(contributions_in, key, run, outcome.position or 0, rival.id)
    draw_contributions(contributions, visible(outcome.text), visible(rival.token), exclusive=not outcome.several)


def draw_contributions(contributions: Contributions, ours: str, theirs: str, *, exclusive: bool) -> None:
    """Draw what each part of the model added to the logit of one word or label over that of another.

    Args:
        contributions: Of the parts.
        ours: The word or the label that the model chose.
        theirs: The other one.
        exclusive: The model chose one of both, so their logits say how much more likely the first is.
    """
    if not contributions.agrees:
        verdict(
            False,
            t(
                "The parts add up to {total}, but the difference of the model's own logits is {difference}. The model "
                "computes something that this picture does not show.",
                total=decimal(contributions.total, digits=3),
                difference=decimal(contributions.difference, digits=3),
            ),
        )
        return
    parts = t(
        "The picture shows what each part of the model added to this difference: red for “{ours}”, blue for "
        "“{theirs}”.",
        ours=ours,
        theirs=theirs,
    )
    draw(
        head_grids(
            {
                **{t(KINDS[kind].title): marked(found) for kind, found in contributions.heads.items()},
                t("feed-forward"): marked(contributions.feed_forward[:, None]),
            },
            unit=t("logits"),
            signed=True,
            height=280,
        ),
        heading=t(
            "The logit of “{ours}” is {difference} above that of “{theirs}”",
            ours=ours,
            theirs=theirs,
            difference=decimal(contributions.difference, digits=3),
        ),
        about=sentences([*([times_as_likely(ours, contributions.difference)] if exclusive else []), parts]),
        key="contributions",
        wide=True,
        alt=t(
            "What each head and feed-forward added to the logit of “{ours}” over that of “{theirs}”",
            ours=ours,
            theirs=theirs,
        ),
    )
    show_sum(contributions)
    grade_line("contributions")
    explain("contributions")


def ask_for_label(outcome: Outcome) -> tuple[Outcome, Candidate]:
    """Ask for a label that the most probable one is compared with."""
    rivals = {one.token: one for one in outcome.candidates if one.id != outcome.id}
    place, names = st.columns([2.4, 5.4])[0], {name: name for name in rivals}
    return outcome, rivals[choose(t("Why not"), names, key="rival_label", place=place, listed=True)]


def ask_for_words(outcomes: Sequence[Outcome]) -> tuple[Outcome, Candidate]:
    """Ask for a predicted word and for one of the candidates that it won against."""
    by_position = {one.position or 0: one for one in outcomes}
    words = {at: f"{at + 1} · {one.text}" for at, one in by_position.items()}
    written_column, rival_column, _ = st.columns([2.4, 2.4, 3])
    title = t("Written word") if outcomes[0].stack == "decoder" else t("Predicted word")
    usual = list(words)[min(2, len(words) - 1)]
    outcome = by_position[choose(title, words, key="query", default=usual, place=written_column, listed=True)]
    rivals = {one.id: one for one in outcome.candidates if one.id != outcome.id}
    names = {i: f"{one.token} · {percent(one.probability)}" for i, one in rivals.items()}
    return outcome, rivals[choose(t("Why not"), names, key="rival", place=rival_column, listed=True)]


def times_as_likely(word: str, difference: float) -> str:
    """How many times as likely a word becomes by a difference of logits, with a sensible number of digits."""
    factor = float(np.exp(min(difference, 20)))
    if factor >= 10:
        return t("So “{word}” is about {n} times as likely.", word=word, n=decimal(factor))
    return t("So “{word}” is {n} times as likely.", word=word, n=decimal(factor, digits=2))


def show_sum(contributions: Contributions) -> None:
    """Show that the parts add up to the difference of the logits."""
    parts = {
        **{
            t("heads ({kind})", kind=t(KINDS[kind].title)): float(found.sum())
            for kind, found in contributions.heads.items()
        },
        t("feed-forwards"): float(contributions.feed_forward.sum()),
        t("the word read last") if contributions.positions is None else t("token vectors"): contributions.word,
        t("its position") if contributions.positions is None else t("positions"): contributions.position,
        t("biases"): contributions.biases,
    }
    st.markdown(
        t(
            "{parts} = **{total}**. The model's own difference is within {difference} of this sum.",
            parts=" + ".join(f"{name} **{value:+.3f}**" for name, value in parts.items()),
            total=f"{contributions.total:+.3f}",
            difference=f"{abs(contributions.total - contributions.difference):.1g}",
        )
    )
