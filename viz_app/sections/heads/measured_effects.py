"""The effect of each head on the text: measured at once where it is quick, else in a job that the visitor starts."""

from functools import partial

import streamlit as st

from model.analysis.silencing import SilencingEffects
from model.inference.run import Run
from model.inference.translation import Translation
from model.text.pair import Text
from viz_app.content.numbers import sentences
from viz_app.content.plain import plain
from viz_app.content.translation import N_, t, worded
from viz_app.sections.heads import intervention_choice
from viz_app.sections.heads.head_effects import MEASURES, decisive_head, effects_sentence, effects_table
from viz_app.sections.heads.intervention_choice import head_name
from viz_app.server.server_state import JOBS
from viz_app.services import analyses, loading, long_analyses, results
from viz_app.services.listing import CheckpointKey
from viz_app.widgets.charts import numbers
from viz_app.widgets.long_work import duration_text, requested, wait_for

__all__ = ["effects_of", "wait_for_effects"]

MOST_SECONDS = 3.0  # of a measurement without a job


def effects_of(key: CheckpointKey, run: Run) -> tuple[SilencingEffects | None, bool]:
    """Draw the sentence about the effect of each head, or say why there is none.

    Returns:
        The effects, or None; and whether this visitor waits for a job that measures them.
    """
    text = run.text
    if run != run.usual:
        st.caption(t("The effect of each head is measured only for greedy search without forced words."))
        return None, False
    if reason := analyses.why_no_effects(key, text):
        st.caption(sentences([t("The effect of each head is not measured here."), plain(worded(reason))]))
        return None, False
    seconds = analyses.seconds_of_effects(key, text)
    known = long_analyses.known_effects_of(key, text)
    effects = analyses.head_effects_of(key, text) if seconds <= MOST_SECONDS else known
    if effects is None:
        return None, requests_effects(key, text, seconds)
    summary(effects, results.result_of(key, run), loading.config_of(key).task)
    return effects, False


def requests_effects(key: CheckpointKey, text: Text, seconds: float) -> bool:
    """Offer to measure the effects in a job, with the time that it takes; whether this visitor waits for it."""
    if seconds > JOBS.lanes["effects"].seconds:
        st.caption(
            t(
                "The effect of each head is not measured here. {checkpoint} would need {time} with this text. Shorten "
                "the text.",
                checkpoint=plain(key.name),
                time=duration_text(seconds),
            )
        )
        return False
    subject, _ = long_analyses.effects_work(key, text)
    if requested(subject):
        return True
    meaning, action = st.columns([5.6, 2.1], vertical_alignment="center")
    meaning.caption(
        t(
            "The effect of each head is not measured yet. {checkpoint} needs {time} with this text.",
            checkpoint=plain(key.name),
            time=duration_text(seconds),
        )
    )
    return action.button(t("Measure each head"), icon=":material/play_arrow:", key="measure_effects", width="stretch")


def wait_for_effects(key: CheckpointKey, text: Text) -> None:
    """Draw the progress of the measurement until it has finished, and then the page again."""
    if wait_for(*long_analyses.effects_work(key, text), lane="effects", step=N_("Head {done} of {total}.")) is not None:
        st.rerun()


def summary(effects: SilencingEffects, before: Translation, task: str) -> None:
    """The effect of each head in a sentence and as a table; and a button for the decisive head."""
    meaning, action, table = st.columns([5.6, 2.1, 1.1], vertical_alignment="center")
    meaning.markdown(effects_sentence(effects, task))
    if head := decisive_head(effects):
        action.button(
            t("Silence the decisive head"),
            on_click=intervention_choice.silence,
            args=(head,),
            width="stretch",
            help=t(MEASURES[task][1], head=head_name(head)),
        )
    with table:
        numbers(
            {"": partial(effects_table, effects, changing_tokens(before, task))},
            summary=t("Each row silences one head."),
            key="head_board",
            alt=t("What changes when each head is silenced"),
        )


def changing_tokens(before: Translation, task: str) -> list[str]:
    """The tokens that can change first, by their position."""
    if task == "classification":
        return [before.text]
    return [token.label for token in before.written or before.source]
