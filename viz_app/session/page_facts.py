"""What the pictures of a page are of, below every one that is saved, and the title above it."""

from collections.abc import Sequence

import streamlit as st

from model.interventions import Intervention

__all__ = ["Facts", "begin_caption", "changes", "entitle", "facts", "tell", "titles"]

Facts = Sequence[tuple[str, str]]  # such as ("Sentence", "Where is the station?")
MAX_FACT = 600  # characters; a picture shows the first lines


def begin_caption() -> None:
    """Before the page."""
    st.session_state["caption"], st.session_state["picture_titles"] = {}, {}


def tell(name: str, value: str) -> None:
    """Say what a page is about; what is said again under the same name takes the place of the first."""
    st.session_state.setdefault("caption", {})[name] = value[:MAX_FACT]


def entitle(picture: str, title: str) -> None:
    """Give the picture of this key the title that it has when it is saved."""
    st.session_state.setdefault("picture_titles", {})[picture] = title


def titles() -> dict[str, str]:
    """After the page: the key of each picture → its title."""
    return dict(st.session_state["picture_titles"])


def facts() -> Facts:
    """After the page: all that it told."""
    return list(st.session_state["caption"].items())


def changes(intervention: Intervention) -> str:
    """What an intervention changes, in a line."""
    counted = {
        "heads silenced": len(intervention.ablated),
        "heads made uniform": len(intervention.uniform),
        "weights painted": len(intervention.painted),
    }
    found = [f"{count} {what}" for what, count in counted.items() if count]
    return ", ".join(found + ["no positional encoding"] * (not intervention.positions))
