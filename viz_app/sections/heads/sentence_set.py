"""The sentences on which heads are measured: our examples, the visitor's text, or a file."""

from collections.abc import Sequence

import streamlit as st

from model.inference.opening import AnyConfig
from model.safety.json_files import decoded
from viz_app.content.examples import MORE, REVIEWS, SHORT_REVIEWS, examples_for
from viz_app.content.numbers import decimal, sentences
from viz_app.content.plain import plain
from viz_app.content.translation import N_, t, worded
from viz_app.services.sentence_batches import Pairs
from viz_app.session.choices import settle
from viz_app.session.page_end import end_page
from viz_app.widgets.cleaning_note import note_cleaning
from viz_app.widgets.second_text import separator_in

__all__ = ["MAX_LINES", "Pairs", "sentence_set"]

MAX_LINES, MAX_LINE = 100, 500  # lines, characters of a line
FILE = "uploaded_sentences"  # in the session: the name and the bytes of the visitor's file, 1 MB at most
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
    text = text_of_file(lines) if source == "file" else typed_text(lines)
    return pairs_of(config, [line for line in text.splitlines() if line.strip()])


def pairs_of(config: AnyConfig, lines: Sequence[str]) -> Pairs:
    """The sentence of each line, and the translation or second text behind its tab."""
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


def text_of_file(lines: str) -> str:
    """Ask for a file. Streamlit forgets a file when its field is not drawn, so the session keeps its text."""
    label = sentences([t("A UTF-8 text file."), t(lines)])
    file = st.file_uploader(label, type=["txt", "tsv"], max_upload_size=1, key="sentence_file", on_change=take_file)
    name, text = st.session_state.get(FILE, ("", b""))
    if not name:
        return ""
    if not file:
        st.caption(t("The sentences of {file} are still used. Upload another file to replace them.", file=plain(name)))
    try:
        return decoded(text, name)
    except ValueError as error:
        st.error(plain(worded(error)))
        end_page()


def take_file() -> None:
    """Callback: keep the file that the visitor chose, or forget the one that the visitor removed."""
    file = st.session_state["sentence_file"]
    st.session_state[FILE] = (file.name, file.getvalue()) if file else ("", b"")
