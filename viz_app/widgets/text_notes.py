"""What a page says about a text: what is cleaned, why its translation may be poor, and what makes it too long."""

import streamlit as st

from model.config.foreign import ForeignConfig
from model.inference.opening import AnyConfig
from model.inference.run import Result, Run
from model.text.cleaning import changes
from viz_app.content.numbers import joined, percent
from viz_app.content.plain import plain
from viz_app.content.translation import N_, t
from viz_app.services import models
from viz_app.services.listing import CheckpointKey
from viz_app.widgets.language_names import language_name

__all__ = ["doubt_note", "length_remedy", "note_cleaning"]

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


def doubt_note(key: CheckpointKey, run: Run, *, side: str = "") -> None:
    """Say why the translation of a run without forced tokens may be poor.

    Every page that shows a translation calls this once for each.

    Args:
        key: The key of the checkpoint.
        run: The run.
        side: The name of the translation where a page shows two.
    """
    config = models.config_of(key)
    with st.container():  # the note comes and goes; in a container, it does not replace what follows
        if config.task == "translation" and (doubt := models.doubt_of(key, run)):
            name = plain(language_name(config.tokenizer.source_language))
            note = t(DOUBTS[doubt], language=name, share=percent(0.98, digits=0))
            st.caption(f":material/info: {t('**{side}**: {note}', side=plain(side), note=note) if side else note}")


def length_remedy(run: Result, limit: int) -> str:
    """Which side of a run has too many tokens, and what shortens it. A short text may have a long translation.

    Args:
        run: A run with more tokens than a page can show.
        limit: Of the tokens of the text, of those that the model writes, or of both together.
    """
    # A language model reads the first token of its text and does not write it.
    given, written = len(run.source) or run.prompt_length + 1, len(run.written) - run.prompt_length
    if given > limit:
        return t("The text has {n} tokens. Shorten it.", n=given)
    if run.source:
        return t("The model writes {n} tokens for this text. Try another text.", n=written)
    if written > limit:
        return t("The model writes {n} tokens. Choose a smaller number in the menu of the search.", n=written)
    return t(
        "The text and its continuation have {n} tokens. Shorten the text, or choose a smaller number in the menu of "
        "the search.",
        n=len(run.read),
    )


def note_cleaning(config: AnyConfig, *texts: str) -> None:
    """Say what is changed in these texts before the model reads them. Foreign tokenizers have rules of their own."""
    found = dict.fromkeys(change for text in texts for change in changes(text))
    if found and not isinstance(config, ForeignConfig):
        parts = joined([t(change) for change in found])
        st.caption(f":material/info: {t('The model reads a cleaned text: {changes}.', changes=parts)}")
