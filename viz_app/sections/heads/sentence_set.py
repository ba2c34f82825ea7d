"""The sentences on which heads are measured: our examples, the visitor's text, or a file."""

import streamlit as st

from model.inference.opening import AnyConfig
from viz_app.content.examples import MORE, REVIEWS, SHORT_REVIEWS, examples_for
from viz_app.content.numbers import decimal, sentences
from viz_app.content.plain import plain
from viz_app.content.translation import N_, t
from viz_app.services.sentence_batches import Pairs
from viz_app.session.choices import settle
from viz_app.session.page_end import end_page
from viz_app.widgets.cleaning_note import note_cleaning
from viz_app.widgets.second_text import separator_in

__all__ = ["MAX_LINES", "Pairs", "sentence_set"]

MAX_LINES, MAX_LINE = 100, 500  # lines, characters of a line
FILE = "sentence_file"  # in the session: the name of the uploaded file and its sentences
FORM_OF_LINES = {  # whether the model reads pairs → what a line is
    False: N_("One sentence per line; you can add a tab and its translation"),
    True: N_("One text per line; you can add a tab and its second text"),
}
SOURCES = {"ours": N_("Our examples"), "pasted": N_("Your text"), "file": N_("A file")}


def sentence_set(config: AnyConfig) -> Pairs:
    """Ask for sentences; without any, a message ends the page."""
    settle("sentences_from", "ours", SOURCES)
    source = st.segmented_control(
        t("Sentences"),
        list(SOURCES),
        format_func=lambda source: t(SOURCES[source]),
        required=True,
        key="sentences_from",
    )
    if source == "ours" and config.task == "classification":
        return tuple((text, "") for text in (*REVIEWS, *SHORT_REVIEWS))
    if source == "ours":
        more = MORE.get(config.tokenizer.source_language, ())
        return tuple((text, "") for text in (*examples_for(config), *more))
    lines = FORM_OF_LINES[bool(separator_in(config))]
    return sentences_of_file(lines) if source == "file" else pairs_of(typed_text(lines))


def pairs_of(config: AnyConfig, text: str) -> Pairs:
    """The sentences of a text with one on each line, and the translations or second texts behind their tabs."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        st.info(t("Add at least one sentence."))
        end_page()
    longest = max(map(len, lines))
    if len(lines) > MAX_LINES or longest > MAX_LINE:
        st.warning(
            t(
                "The text has {lines} lines, and its longest line has {longest} characters. Only the first "
                "{max_lines} lines and the first {max_characters} characters of each line are used.",
                lines=decimal(len(lines)),
                longest=decimal(longest),
                max_lines=MAX_LINES,
                max_characters=MAX_LINE,
            )
        )
    parts = [line[:MAX_LINE].partition("\t") for line in lines[:MAX_LINES]]
    note_cleaning(config, *(part for sentence, _, translation in parts for part in (sentence, translation)))
    return tuple((sentence.strip(), translation.strip()) for sentence, _, translation in parts)


def typed_text(lines: str) -> str:
    settle("pasted", "")
    return st.text_area(t(lines), key="pasted", max_chars=50_000, height=120) or ""


def sentences_of_file(lines: str) -> Pairs:
    """Ask for a file. Streamlit forgets a file when its field is not drawn, so the session keeps the sentences."""
    label = sentences([t("A UTF-8 text file."), t(lines)])
    if file := st.file_uploader(label, type=["txt", "tsv"], max_upload_size=1):
        try:
            text = file.getvalue().decode("utf-8-sig")
        except UnicodeDecodeError:
            st.error(t("{file} is not UTF-8 text. Save it as UTF-8, and open it again.", file=plain(file.name)))
            end_page()
        st.session_state[FILE] = file.name, pairs_of(config, text)
    name, pairs = st.session_state.get(FILE, ("", ()))
    if not pairs:
        return pairs_of(config, "")
    if not file:
        st.caption(t("The sentences of {file} are still used. Upload another file to replace them.", file=plain(name)))
    return pairs
