"""The facts that stand below every saved picture of a page, and the titles of its pictures."""

from collections.abc import Sequence

import streamlit as st

from model.interventions import Intervention
from viz_app.content.numbers import joined
from viz_app.content.translation import t

__all__ = [
    "Facts",
    "add_fact",
    "clear_page_facts",
    "describe_changes",
    "page_facts",
    "picture_titles",
    "set_picture_title",
]

Facts = Sequence[tuple[str, str]]  # such as ("Sentence", "Where is the station?")
MAX_FACT = 600  # characters; a picture shows the first lines


def clear_page_facts() -> None:
    """Before the page: remove the facts and titles of the last run."""
    st.session_state["page_facts"], st.session_state["picture_titles"] = {}, {}


def add_fact(name: str, value: str) -> None:
    """Add a fact about the page. It replaces an earlier fact with the same name."""
    st.session_state.setdefault("page_facts", {})[name] = value[:MAX_FACT]


def set_picture_title(key: str, title: str) -> None:
    """Set the title of a picture for saving it.

    Args:
        key: The key of the picture on the page.
        title: Plain text.
    """
    st.session_state.setdefault("picture_titles", {})[key] = title


def picture_titles() -> dict[str, str]:
    """After the page: the key of each picture → its title."""
    return dict(st.session_state["picture_titles"])


def page_facts() -> Facts:
    """After the page: all its facts."""
    return list(st.session_state["page_facts"].items())


def describe_changes(intervention: Intervention) -> str:
    """The changes of an intervention in one line, such as "heads silenced: 2, weights painted: 1"."""
    silenced, uniform, painted = map(len, (intervention.ablated, intervention.uniform, intervention.painted))
    changes = {
        t("heads silenced: {n}", n=silenced): silenced > 0,
        t("heads made uniform: {n}", n=uniform): uniform > 0,
        t("weights painted: {n}", n=painted): painted > 0,
        t("no positional encoding"): not intervention.positions,
    }
    return joined([change for change, there in changes.items() if there])
