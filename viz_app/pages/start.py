"""Start here: the terms that every page uses, a field for a code, and a link to every page."""

import streamlit as st

from model.inference.opening import AnyConfig
from model.inference.run import Run
from model.text.pair import texts_of
from viz_app.content.examples import PURPOSES
from viz_app.content.glossary import definitions
from viz_app.content.shared import PAGES
from viz_app.content.translation import t
from viz_app.sections.course.browser_store import tour_button
from viz_app.services import models
from viz_app.services.listing import CheckpointKey
from viz_app.session.links import code_field
from viz_app.widgets import checkpoint_choice
from viz_app.widgets.headings import introduce
from viz_app.widgets.marked_text import rows_of_chips
from viz_app.widgets.navigation import page_link, page_title
from viz_app.widgets.run_form import ask_for_text
from viz_app.widgets.text_notes import doubt_note

TERMS = ("Token", "Subword mark", "</s>", "Attention weight", "Head", "Checkpoint")
SPLIT_WORD = 5  # in `PURPOSES`: the sentence with a word that is split into tokens


def show_tokens(key: CheckpointKey, config: AnyConfig) -> None:
    """Ask for a sentence, and show its tokens and the tokens of its translation."""
    purposes = list(PURPOSES.get((config.tokenizer.source_language, config.tokenizer.target_language), ()))
    text, _ = texts_of(ask_for_text(config, opening=purposes[SPLIT_WORD] if purposes else ""))
    if not text.strip():
        st.info(t("Type a sentence to see its tokens."))
        return
    translation = models.result_of(key, Run(text=text))
    st.caption(t("The tokens that this model reads, and the tokens that it writes:"))
    tokens = {"reads": translation.source, "writes": translation.written}
    st.html(rows_of_chips(tokens, languages=translation.languages, lined=False))
    doubt_note(key, Run(text=text))


key, config = checkpoint_choice.require_checkpoint()
introduce("start")
code_field(key="code_on_start")  # on a phone, students of a class must not look for it
words, pages = st.columns([1.25, 1], gap="large")
with words:
    st.subheader(t("Words that you need"), anchor=False)
    if config.task == "translation":
        show_tokens(key, config)
    st.html(f'<div class="hl-definitions">{definitions(*TERMS)}</div>')
    st.caption(t("The glossary on the left explains more words."))
with pages:
    tour_button()
    st.subheader(t("Pages"), anchor=False)
    with st.container(key="start_pages", gap="small"):  # `chips.STYLE` lets these links wrap
        for name, page in PAGES.items():
            if name != "start":
                label = t("**{title}.** {instruction}", title=page_title(name), instruction=t(page["instruction"]))
                page_link(name, label, icon=f":material/{page['icon']}:")
