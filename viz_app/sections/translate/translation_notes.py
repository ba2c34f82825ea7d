"""Notes about a translation: forced words, doubts, and limits that cut something off."""

import streamlit as st

from model.inference.opening import AnyConfig
from model.inference.translation import Translation
from viz_app.content.numbers import decimal, joined, percent
from viz_app.content.plain import plain
from viz_app.content.translation import N_, t, tn
from viz_app.sections.translate.generation_note import generation_note
from viz_app.services import translations
from viz_app.services.listing import CheckpointKey
from viz_app.services.translations import Run
from viz_app.widgets.forced_words_note import dropped_tokens_warning, forced_words_note
from viz_app.widgets.language_names import language_name

__all__ = ["translation_notes"]

# A translator writes something for any text, so a doubtful translation gets a quiet note.
DOUBTS = {
    "script": N_("Most letters of this text are not {language}, and this model reads {language}."),
    "vocabulary": N_(
        "Much of this text is not in the vocabulary of this model, so the translation is largely a guess."
    ),
    "unsure": N_(
        "The model is less confident about this than about {share} of the validation sentences. Some words may be new "
        "to it, or the text may not be {language}."
    ),
}
CUT = {
    "translation": N_("This model has {positions} positions. The last {dropped} tokens of the text were left out."),
    "continuation": N_(
        "This model has {positions} positions, and keeps some of them for what it writes. The last {dropped} tokens of "
        "the text were left out."
    ),
}
MOST_LEFT_OUT = 20  # parts of a text that a note names


def translation_notes(key: CheckpointKey, config: AnyConfig, text: str, run: Run, translation: Translation) -> None:
    """Draw all notes that apply.

    Args:
        key: The key of the checkpoint.
        config: Its configuration.
        text: What the visitor typed.
        run: The search and the forced tokens.
        translation: The result of this run.
    """
    # Notes come and go. In a container, they do not move what follows, which the browser would build again.
    with st.container():
        if run.forced:
            forced_words_note(key, text, run.forced)
        elif config.task == "translation" and (doubt := translations.doubt_of(key, text, run.search)):
            name = plain(language_name(config.tokenizer.source_language))
            st.caption(f":material/info: {t(DOUBTS[doubt], language=name, share=percent(0.98, digits=0))}")
        generation_note(config)
        if len(text) > translations.MAX_CHARACTERS:
            st.warning(
                t(
                    "The text has {n} characters. Only the first {limit} were read.",
                    n=decimal(len(text)),
                    limit=decimal(translations.MAX_CHARACTERS),
                )
            )
        if left_out := translations.left_out_of(key, text):
            parts = plain(joined([f"“{part}”" for part in left_out[:MOST_LEFT_OUT]]))
            st.warning(t("The vocabulary of this model does not have {parts}. This was left out.", parts=parts))
        if translation.dropped:
            cut = CUT["continuation" if config.task == "continuation" else "translation"]
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
