"""The invisible parts of each page: keys and touches, announcements, lines between words, saving pictures.

Keys and touches are mounted before the page, which may take long. The other parts get their data while the page runs,
and are mounted after it. Several parts are one component, because each mounted component costs the browser time at
every change.
"""

from collections.abc import Mapping

import streamlit as st

from viz_app.components.bundle import words_of
from viz_app.components.mounting import LIBRARY, Data, component, library_component
from viz_app.content.numbers import html_language, sentences
from viz_app.content.translation import t
from viz_app.session.page_facts import Facts

__all__ = [
    "announce",
    "begin_parts",
    "complete_address",
    "give",
    "mount_parts",
    "page_keys",
    "present_key",
]

DATA = "data_of_page_parts"  # in the session; not the key of the component, which has a value of its own


def begin_parts() -> None:
    """Before the page: forget the data of the page before."""
    st.session_state[DATA] = {}


def page_keys() -> None:
    """Before the page, once in each run: mount what reacts to keys and touches, and the library of all components."""
    library_component()(key=LIBRARY, data={"language": html_language(), "words": words_of("streamlit/keys")})


def announce(text: str, *, languages: tuple[str, str], sentence: str = "") -> None:
    """Let a screen reader read what is written when it changes; once in each run.

    Args:
        text: What the model has written, or "".
        languages: The language tags of the text field and of `text`, see `languages.tag`.
        sentence: A sentence before the text, in the language of the visitor.
    """
    before = sentences([one for one in (sentence, text and t("Written:")) if one])
    give("page_announcement", {"sentence": before, "text": text, "source": languages[0], "lang": languages[1]})


def give(part: str, data: Data) -> None:
    """Give a part of this page its data, such as "word_lines"; see `live/streamlit/page.js`."""
    st.session_state.setdefault(DATA, {})[part] = data


def mount_parts(facts: Facts, titles: Mapping[str, str]) -> None:
    """After the page, once in each run.

    Args:
        facts: Facts about the page, which are written below each saved picture.
        titles: Key of a chart → its title.
    """
    save = {"facts": facts, "titles": titles}
    component("page_parts", "streamlit/page", key="page_parts", data={**st.session_state[DATA], "save_pictures": save})


def present_key() -> None:
    """A switch for the key p, which starts presenter mode."""
    component("present_key", "streamlit/keys", key="key_choice", data={})


def complete_address(query: str) -> None:
    """Replace the query of the page's address, without a new entry in the browser's history."""
    component("address", "streamlit/bridge", data={"query": query})
