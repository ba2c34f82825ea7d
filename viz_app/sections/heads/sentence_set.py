"""The sentences over which heads are measured: ours, pasted, or from a file."""

import streamlit as st

from model.inference.opening import AnyConfig
from viz_app.content.examples import MORE, examples_for
from viz_app.content.plain import plain
from viz_app.services.sentence_batches import Pairs
from viz_app.session.choices import settle
from viz_app.session.page_end import end_page

__all__ = ["MAX_LINES", "Pairs", "sentence_set"]

MAX_LINES, MAX_LINE = 100, 500
SOURCES = {"ours": "Our examples", "pasted": "Pasted", "file": "From a file"}


def sentence_set(config: AnyConfig) -> Pairs:
    """Ask for sentences; stops the page with a sentence where there is none."""
    settle("sentences_from", "ours", SOURCES)
    source = st.segmented_control(
        "Sentences", list(SOURCES), format_func=SOURCES.__getitem__, required=True, key="sentences_from"
    )
    if source == "ours":
        more = MORE.get(config.tokenizer.source_language, ())
        return tuple((text, "") for text in (*examples_for(config), *more))
    if source == "pasted":
        settle("pasted", "")
        text = st.text_area(
            "One sentence a line; after a tab, its translation if you have one",
            key="pasted",
            max_chars=50_000,
            height=120,
        )
    else:
        file = st.file_uploader(
            "A text file, UTF-8: one sentence a line; after a tab, its translation if you have one",
            type=["txt", "tsv"],
            max_upload_size=1,
        )
        try:
            text = file.getvalue().decode("utf-8-sig") if file else ""
        except UnicodeDecodeError:
            name = plain(file.name) if file else "The file"
            st.error(f"{name} is not UTF-8 text. Save it as UTF-8 and open it again.")
            end_page()
    lines = [line for line in (text or "").splitlines() if line.strip()]
    if not lines:
        st.info("Give at least one sentence.")
        end_page()
    if len(lines) > MAX_LINES or max(map(len, lines)) > MAX_LINE:
        st.warning(
            f"{len(lines)} lines, the longest of {max(map(len, lines))} characters: the first {MAX_LINES} lines and "
            f"{MAX_LINE} characters of each are used."
        )
    pairs = (line[:MAX_LINE].partition("\t") for line in lines[:MAX_LINES])
    return tuple((sentence.strip(), translation.strip()) for sentence, _, translation in pairs)
