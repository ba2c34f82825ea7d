"""The sentences on which heads are measured: our examples, the visitor's text, or a file."""

import streamlit as st

from model.inference.opening import AnyConfig
from model.safety.json_files import decoded
from viz_app.content.examples import MORE, REVIEWS, SHORT_REVIEWS, examples_for
from viz_app.content.numbers import decimal
from viz_app.content.plain import plain
from viz_app.content.translation import N_, t, worded
from viz_app.services.sentence_batches import Pairs
from viz_app.session.choices import settle
from viz_app.session.page_end import end_page

__all__ = ["MAX_LINES", "Pairs", "sentence_set"]

MAX_LINES, MAX_LINE = 100, 500  # lines, characters of a line
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
    text = typed_text() if source == "pasted" else text_of_file()
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
    parts = (line[:MAX_LINE].partition("\t") for line in lines[:MAX_LINES])
    return tuple((sentence.strip(), translation.strip()) for sentence, _, translation in parts)


def typed_text() -> str:
    settle("pasted", "")
    label = t("One sentence per line; you can add a tab and its translation")
    return st.text_area(label, key="pasted", max_chars=50_000, height=120) or ""


def text_of_file() -> str:
    label = t("A UTF-8 text file. One sentence per line; you can add a tab and its translation")
    file = st.file_uploader(label, type=["txt", "tsv"], max_upload_size=1)
    if not file:
        return ""
    try:
        return decoded(file.getvalue(), file.name)
    except ValueError as error:
        st.error(plain(worded(error)))
        end_page()
