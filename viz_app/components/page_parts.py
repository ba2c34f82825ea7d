"""The invisible parts of each page: keys and touches, announcements, lines between words, saving pictures.

Keys and touches are mounted before the page, which may take long. The other parts get their data while the page runs,
and are mounted after it. Several parts are one component, because each mounted component costs the browser time at
every change.
"""

import streamlit as st

from viz_app.components.bundle import words_of
from viz_app.components.mounting import LIBRARY, Data, component, library_component
from viz_app.content.numbers import html_language, sentences
from viz_app.content.translation import t

__all__ = [
    "add_fact",
    "announce",
    "begin_parts",
    "complete_address",
    "give",
    "mount_parts",
    "page_keys",
    "set_picture_title",
]

MAX_FACT = 600  # characters; a picture shows the first lines
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


def saved_pictures() -> dict[str, dict[str, str]]:
    """What is saved with the pictures of this page: its "facts" by name, and the "titles" of the pictures by key."""
    parts: dict[str, dict[str, dict[str, str]]] = st.session_state.setdefault(DATA, {})
    return parts.setdefault("save_pictures", {"facts": {}, "titles": {}})


def add_fact(name: str, value: str) -> None:
    """Add a fact about the page, such as its sentence. It replaces an earlier fact with the same name."""
    saved_pictures()["facts"][name] = value[:MAX_FACT]


def set_picture_title(key: str, title: str) -> None:
    """Set the title of the picture with this key for saving it, plain text."""
    saved_pictures()["titles"][key] = title


def mount_parts() -> None:
    """After the page, once in each run."""
    saved = saved_pictures()
    save = {"facts": list(saved["facts"].items()), "titles": saved["titles"]}
    component("page_parts", "streamlit/page", key="page_parts", data={**st.session_state[DATA], "save_pictures": save})


def complete_address(query: str) -> None:
    """Replace the query of the page's address, without a new entry in the browser's history."""
    component("address", "streamlit/bridge", data={"query": query})
