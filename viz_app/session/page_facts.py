"""What the pictures of a page are of, below every one that is saved, and the title above it."""

from collections.abc import Sequence

import streamlit as st

from model.interventions import Intervention

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
    """Before the page."""
    st.session_state["page_facts"], st.session_state["picture_titles"] = {}, {}


def add_fact(name: str, value: str) -> None:
    """State a fact about the page. It replaces an earlier fact of the same name."""
    st.session_state.setdefault("page_facts", {})[name] = value[:MAX_FACT]


def set_picture_title(picture: str, title: str) -> None:
    """Give the picture of this key the title that it has when it is saved."""
    st.session_state.setdefault("picture_titles", {})[picture] = title


def picture_titles() -> dict[str, str]:
    """After the page: the key of each picture → its title."""
    return dict(st.session_state["picture_titles"])


def page_facts() -> Facts:
    """After the page: all its facts."""
    return list(st.session_state["page_facts"].items())


def describe_changes(intervention: Intervention) -> str:
    """What an intervention changes, in one line."""
    counted = {
        "heads silenced": len(intervention.ablated),
        "heads made uniform": len(intervention.uniform),
        "weights painted": len(intervention.painted),
    }
    found = [f"{count} {what}" for what, count in counted.items() if count]
    return ", ".join(found + ["no positional encoding"] * (not intervention.positions))
