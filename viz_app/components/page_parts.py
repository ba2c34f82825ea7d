"""What each page has once and does not show: keys and touches, reading aloud, lines between words, saving pictures.

Keys and touches are mounted before the page, which may take long. The others are given their data while it runs, and
are mounted after it. Several are one component: each that is mounted costs the browser time with every change.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from viz_app.components.data import Data, look_data
from viz_app.components.scripts import asset, scoped
from viz_app.session.page_facts import Facts

__all__ = ["begin_parts", "look", "mount_parts", "page_keys", "told"]

FloatArray = NDArray[np.float32]
KEYS = ("touch", "keys", "map_keys", "tips")  # how a page answers to fingers and keys
PARTS = ("told", "look", "save")
GIVEN = "given_to_parts"  # in the state of the visitor; not the key of the component, which has a value of its own


def begin_parts() -> None:
    """Before the page."""
    st.session_state[GIVEN] = {}


def page_keys() -> None:
    """Before the page, once a run."""
    together("page_keys", *KEYS)(key="page_keys", data={part: {} for part in KEYS})


def told(text: str, *, languages: tuple[str, str], says: str = "") -> None:
    """Have a screen reader say what is written, by the model or by force, where it is news; once a run.

    Args:
        text: What is written, or nothing.
        languages: In which one types, and that of `text`, as `languages.tag` says them.
        says: What there is to say before, in English.
    """
    before = f"{says} Written:" if text else says
    give("told", {"says": before.strip(), "text": text, "source": languages[0], "lang": languages[1]})


def look(weights: FloatArray, kind: str, *, title: str, given: int, in_map: bool) -> None:
    """Draw lines between the chips of `rows_of_chips`, and light up what is pointed at; see `look_data`."""
    give("look", look_data(weights, kind, title=title, given=given, in_map=in_map))


def give(part: str, data: Data) -> None:
    st.session_state.setdefault(GIVEN, {})[part] = data


def mount_parts(facts: Facts, titles: Mapping[str, str]) -> None:
    """After the page, once a run.

    Args:
        facts: What all pictures of the page are of; each saved picture has them below it.
        titles: Key of a chart → its title.
    """
    save = {"facts": facts, "titles": titles}
    together("page_parts", *PARTS)(key="page_parts", data={**st.session_state[GIVEN], "save": save})


@cache
def together(name: str, *parts: str) -> Any:
    """One component of several parts; it needs no style, as nothing of it is seen."""
    code = (asset("common.js", "picture.js"), f"const parts = {scoped(*parts)};", asset("page_parts.js"))
    return st.components.v2.component(f"headlight_{name}", html='<div class="root"></div>', js="\n".join(code))
