"""Tokens that a visitor has forced into a translation, and the way back.

Callbacks of the page's widgets live here and not on the page: Streamlit keeps them for as long as the visitor's
session lasts, and a function of a page would keep all that the page has computed. A click may interrupt a page at any
point, so they rely on nothing but the session.
"""

import streamlit as st

from model.inference.search_tree import SearchTree
from viz_app.services.translations import Forced
from viz_app.session.choices import choices, clear_choice, set_choice, settle

__all__ = [
    "can_undo",
    "clear_for_new_subject",
    "clear_forced_tokens",
    "clear_typed_translation",
    "force",
    "force_path",
    "forced_tokens",
    "keep_text",
    "remember_step",
    "undo",
]

MAX_UNDO = 50


def clear_for_new_subject(subject: str) -> None:
    """Tokens are forced into the translation of one sentence by one checkpoint; a link may bring them along."""
    kept = choices()
    if kept.subject == subject:
        return
    if kept.subject is not None:
        for name in ("forced", "step", "typed"):
            clear_choice(name)
        if kept.chosen.get("method") == "typed":
            clear_choice("method")
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
    change(tuple(enumerate(tree.path(node), start=tree.prompt_length)))


def remember_step(step: int) -> None:
    """Remember a step of the decode, which then stands in the link, counted from 1."""
    set_choice("step", step + 1)


def clear_forced_tokens() -> None:
    change(())


def clear_typed_translation() -> None:
    """The model writes by itself again, and not what the visitor typed."""
    set_choice("method", "greedy")
    change(())


def change(forced: Forced) -> None:
    if choices().chosen.get("method") == "typed":
        set_choice("method", "greedy")  # the newest wish counts
    keep_text()
    earlier().append(now())
    del earlier()[:-MAX_UNDO]
    set_choice("forced", forced)


def keep_text() -> None:
    """Callback: the sentence that something is forced into is chosen now; other pages may open on other examples."""
    set_choice("text", st.session_state["text"])


def undo() -> None:
    if can_undo():  # a second click may come before the page has heard of the first
        set_choice("forced", earlier().pop())
