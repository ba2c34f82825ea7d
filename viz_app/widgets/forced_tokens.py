"""Tokens that a visitor has forced into a translation, and the way back.

Callbacks of the page's widgets live here and not on the page: Streamlit keeps them for as long as the visitor's
session lasts, and a function of a page would keep all that the page has computed. A click may interrupt a page at any
point, so they rely on nothing but the session.
"""

import streamlit as st

from model.inference.search_tree import SearchTree
from viz_app.services.results import Forced
from viz_app.session.choices import choices, choose, forget, settle

__all__ = [
    "can_undo",
    "force",
    "force_nothing",
    "force_path",
    "forced_tokens",
    "pin_text",
    "start_afresh_for",
    "stay_at",
    "type_nothing",
    "undo",
]

MAX_UNDO = 50


def start_afresh_for(subject: str) -> None:
    """Tokens are forced into the translation of one sentence by one checkpoint; a link may bring them along."""
    kept = choices()
    if kept.subject == subject:
        return
    if kept.subject is not None:
        for name in ("forced", "step", "typed"):
            forget(name)
        if kept.chosen.get("method") == "typed":
            forget("method")
    kept.subject, st.session_state["forced_earlier"] = subject, []


def forced_tokens(vocab_size: int, max_length: int) -> Forced:
    """What is forced, without tokens and positions that a link names and the model does not have."""
    settle("forced", ())
    return tuple((at, token) for at, token in now() if token < vocab_size and at < max_length)


def now() -> Forced:
    """What is forced, also where a click interrupts a page that had not come so far."""
    kept: Forced = st.session_state.get("forced", ())
    return kept


def can_undo() -> bool:
    return bool(earlier())


def earlier() -> list[Forced]:
    """What was forced before each change, the latest last."""
    kept: list[Forced] = st.session_state.setdefault("forced_earlier", [])
    return kept


def force(position: int, token: int) -> None:
    """Write another token; what was forced after it stood behind another prefix and is let go."""
    change((*((at, other) for at, other in now() if at < position), (position, token)))


def force_path(tree: SearchTree, node: int) -> None:
    """Write the prefix of a node of a search, and go on from there."""
    change(tuple(enumerate(tree.path(node), start=tree.given)))


def stay_at(step: int) -> None:
    """Remember a step of the decode, which then stands in the link, counted from 1."""
    choose("step", step + 1)


def force_nothing() -> None:
    change(())


def type_nothing() -> None:
    """The model writes by itself again, and not what the visitor typed."""
    choose("method", "greedy")
    change(())


def change(forced: Forced) -> None:
    if choices().chosen.get("method") == "typed":
        choose("method", "greedy")  # the newest wish counts
    pin_text()
    earlier().append(now())
    del earlier()[:-MAX_UNDO]
    choose("forced", forced)


def pin_text() -> None:
    """Callback: the sentence that something is forced into is chosen now; other pages may open on other examples."""
    choose("text", st.session_state["text"])


def undo() -> None:
    if can_undo():  # a second click may come before the page has heard of the first
        choose("forced", earlier().pop())
