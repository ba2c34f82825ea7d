"""Notes about a translation: forced words, and limits that cut something off."""

import streamlit as st

from model.inference.findings import finding_in_run
from model.inference.opening import AnyConfig
from model.inference.run import Run
from model.inference.translation import Translation
from model.text.pair import texts_of
from viz_app.content.numbers import decimal, joined
from viz_app.content.plain import plain
from viz_app.content.translation import N_, t, tn, worded
from viz_app.sections.translate.generation_note import generation_note
from viz_app.services import loading, results
from viz_app.services.listing import CheckpointKey
from viz_app.widgets.forced_words_note import dropped_tokens_warning, forced_words_note
from viz_app.widgets.second_text import PAIR_CUT

__all__ = ["translation_notes"]

CUT = {
    "translation": N_("This model has {positions} positions. The last {dropped} tokens of the text were left out."),
    "continuation": N_(
        "This model has {positions} positions, and keeps some of them for what it writes. The last {dropped} tokens of "
        "the text were left out."
    ),
    "pair": PAIR_CUT,
}
MOST_LEFT_OUT = 20  # parts of a text that a note names


def translation_notes(key: CheckpointKey, run: Run) -> None:
    """Draw all notes that apply."""
    config, translation = loading.config_of(key), results.result_of(key, run)
    # Notes come and go. In a container, they do not move what follows, which the browser would build again.
    with st.container():
        if run.forced:
            forced_words_note(key, run)
        if finding := finding_in_run(translation):
            st.warning(plain(worded(finding)))
        generation_note(config)
        if (longest := max(map(len, texts_of(run.text)))) > results.MAX_CHARACTERS:
            st.warning(
                t(
                    "The text has {n} characters. Only the first {limit} were read.",
                    n=decimal(longest),
                    limit=decimal(results.MAX_CHARACTERS),
                )
            )
        if left_out := results.left_out_of(key, run.text):
            parts = plain(joined([f"“{part}”" for part in left_out[:MOST_LEFT_OUT]]))
            st.warning(t("The vocabulary of this model does not have {parts}. This was left out.", parts=parts))
        if translation.dropped:
            cut = CUT["pair"] if translation.second_start else CUT.get(config.task, CUT["translation"])
            st.warning(t(cut, positions=config.model.max_length, dropped=translation.dropped))
        if not translation.finished:
            unfinished(config, run, translation)


def unfinished(config: AnyConfig, run: Run, translation: Translation) -> None:
    """Say where the model was stopped before it wrote an end."""
    if config.task == "continuation":
        written = len(translation.written) - translation.prompt_length
        st.caption(
            tn(
                "The continuation has no end: the model was stopped after {n} token.",
                "The continuation has no end: the model was stopped after {n} tokens.",
                n=written,
            )
        )
    elif not dropped_tokens_warning(run.forced, config.model.max_length):
        st.warning(t("The translation has no end: the model was stopped at the length limit for this source."))
