"""Tokens that the visitor forces into a translation, and how to undo that.

The callbacks are here and not on the pages. Streamlit keeps a callback as long as the visitor's session, and a function
of a page would keep everything that the page computed. A click may interrupt a page at any line, so callbacks read
only the session.
"""

import streamlit as st

from model.inference.run import Forced
from model.inference.search_tree import SearchTree
from viz_app.session.choices import choices, hand_over, set_choice, settle

__all__ = [
    "can_undo",
    "clear_forced_tokens",
    "clear_typed_translation",
    "force",
    "force_path",
    "forced_tokens",
    "keep_text",
    "keep_to_subject",
    "remember_step",
    "text_choices",
    "undo",
]

MAX_UNDO = 50


def keep_to_subject(subject: str) -> None:
    """Forced tokens and a typed translation belong to a text and the checkpoint that reads it.

    Args:
        subject: Checkpoint, languages and text.
    """
    names, chosen = text_choices(), choices().chosen
    if "method" not in names:
        st.session_state["own_search"] = chosen.get("method")
    if hand_over("text", subject, names):
        st.session_state["forced_earlier"] = []
        if "method" not in chosen and (search := st.session_state.get("own_search")):
            set_choice("method", search)


def text_choices() -> tuple[str, ...]:
    """The choices that belong to a text. A search belongs to the visitor, but a typed translation replaces it."""
    typed = ("method",) if choices().chosen.get("method") == "typed" else ()
    return ("forced", "step", "typed", *typed)


def forced_tokens(vocab_size: int, max_length: int) -> Forced:
    """The forced tokens, without ids and positions from a link that the model does not have."""
    settle("forced", ())
    return tuple((at, token) for at, token in forced_now() if token < vocab_size and at < max_length)


def forced_now() -> Forced:
    """The forced tokens, also where a click interrupted the page before it settled them."""
    forced: Forced = st.session_state.get("forced", ())
    return forced


def can_undo() -> bool:
    return bool(earlier_forced())


def earlier_forced() -> list[Forced]:
    """The forced tokens before each change, the latest last."""
    earlier: list[Forced] = st.session_state.setdefault("forced_earlier", [])
    return earlier


def force(position: int, token: int) -> None:
    """Force a token. Tokens forced at later positions belong to another prefix and are cleared."""
    change((*((at, other) for at, other in forced_now() if at < position), (position, token)))


def force_path(tree: SearchTree, node: int) -> None:
    """Force the prefix of a node of a beam search."""
    change(tuple(enumerate(tree.path(node), start=tree.prompt_length)))


def remember_step(step: int) -> None:
    """Keep a step of the decoder, counted from 0, for the link, where it counts from 1."""
    set_choice("step", step + 1)


def clear_forced_tokens() -> None:
    """Callback: let the model write without forced tokens."""
    change(())


def clear_typed_translation() -> None:
    """Callback: let the model write instead of the visitor."""
    set_choice("method", "greedy")
    change(())


def change(forced: Forced) -> None:
    if choices().chosen.get("method") == "typed":
        set_choice("method", "greedy")  # the latest action counts
    keep_text()
    earlier_forced().append(forced_now())
    del earlier_forced()[:-MAX_UNDO]
    set_choice("forced", forced)


def keep_text() -> None:
    """Callback: make the text a choice, because another page may open with another example."""
    set_choice("text", st.session_state["text"])


def undo() -> None:
    """Callback: take back the last change."""
    if can_undo():  # a fast second click finds nothing to undo
        set_choice("forced", earlier_forced().pop())
