"""The invisible parts of each page: keys and touches, announcements, lines between words, saving pictures.

Keys and touches are mounted before the page, which may take long. The other parts get their data while the page runs,
and are mounted after it. Several parts are one component, because each mounted component costs the browser time at
every change.
"""

from collections.abc import Mapping

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from viz_app.components.elements.lines import word_lines_data
from viz_app.components.encoding import Data
from viz_app.components.mounting import LIBRARY, component, library_component
from viz_app.components.words import words_of
from viz_app.content.numbers import html_language, sentences
from viz_app.content.translation import t
from viz_app.session.page_facts import Facts

__all__ = [
    "announce",
    "begin_parts",
    "complete_address",
    "draw_word_lines",
    "mount_parts",
    "page_keys",
    "scroll_to_target",
]

FloatArray = NDArray[np.float32]
PARTS = ("page_announcement", "word_lines", "lesson_target", "save_pictures")
KEYS = ("touch", "shortcuts", "chart_keys", "menu_roles", "kept_theme", "connection", "tooltips")
DATA = "data_of_page_parts"  # in the session; not the key of the component, which has a value of its own


def begin_parts() -> None:
    """Before the page: forget the data of the page before."""
    st.session_state[DATA] = {}


def page_keys() -> None:
    """Before the page, once in each run: mount what reacts to keys and touches, and the library of all components."""
    parts: dict[str, Data] = {name: {} for name in KEYS} | {"page_language": {"language": html_language()}}
    library_component()(key=LIBRARY, data={**parts, "words": words_of(*KEYS)})


def announce(text: str, *, languages: tuple[str, str], sentence: str = "") -> None:
    """Let a screen reader read what is written when it changes; once in each run.

    Args:
        text: What the model has written, or "".
        languages: The language tags of the text field and of `text`, see `languages.tag`.
        sentence: A sentence before the text, in the language of the visitor.
    """
    before = sentences([one for one in (sentence, text and t("Written:")) if one])
    give("page_announcement", {"sentence": before, "text": text, "source": languages[0], "lang": languages[1]})


def draw_word_lines(weights: FloatArray, kind: str, *, title: str, given: int, in_map: bool) -> None:
    """Draw lines between the chips of `rows_of_chips`, and highlight what the visitor points at.

    For the arguments see `word_lines_data`.
    """
    give("word_lines", word_lines_data(weights, kind, title=title, given=given, in_map=in_map))


def scroll_to_target(step: str, target: str, *, shown: str) -> None:
    """Let the browser scroll to the part of the page that a step is about, when it appears.

    Args:
        step: The name of the open step. Another step begins at the top of the page.
        target: The key of the part; "" while nothing is marked.
        shown: What has appeared of the step. The page scrolls again when it changes.
    """
    give("lesson_target", {"step": step, "target": target, "shown": shown})


def give(part: str, data: Data) -> None:
    st.session_state.setdefault(DATA, {})[part] = data


def mount_parts(facts: Facts, titles: Mapping[str, str]) -> None:
    """After the page, once in each run.

    Args:
        facts: Facts about the page, which are written below each saved picture.
        titles: Key of a chart → its title.
    """
    save = {"facts": facts, "titles": titles}
    component("page_parts", *PARTS)(key="page_parts", data={**st.session_state[DATA], "save_pictures": save})


def complete_address(query: str) -> None:
    """Replace the query of the page's address, without a new entry in the browser's history."""
    component("address")(data={"query": query})
