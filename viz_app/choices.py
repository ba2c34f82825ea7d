"""The visitor's choices: they follow from page to page and stand in the URL, so that a link shows a state.

Streamlit forgets a widget's value on pages that do not show it, and clears the URL on a page switch, its own
`bind="query-params"` included (seen in 1.67). So the choices are kept here, in the session, under the widgets' keys.
"""

import re
from collections.abc import Container

import streamlit as st

from model.interventions import Intervention
from viz_app.examples import BATCHES

__all__ = ["publish_choices", "restore_choices", "settle", "settle_number"]

KINDS: dict[str, type] = {
    "checkpoint": str,
    "text": str,
    "kind": str,
    "view": str,
    "method": str,
    "beam_size": int,
    "temperature": float,
    "top_k": int,
    "top_p": float,
    "seed": int,
    "norms": bool,
    "steps_view": str,
    "steps_kind": str,
    "forced": tuple,  # `services.Forced`
    "query": int,
    "scaled": bool,
    "head_temperature": float,
    "logarithmic": bool,
    "layer": str,
    "head": str,
    "merge": bool,
    "hide_special": bool,
    "length": int,
    "width": int,
    "base": int,
    "shift": int,
    "shuffle": int,
    "mask_kind": str,
    "metric": str,
    "sentences_from": str,
    "pasted": str,
    "click_means": str,
    "intervention": Intervention,
    "painted_weight": float,
    "review": str,
    "reading": str,
    "bug": str,
    "position_tab": str,
    "mask_tab": str,
    "heads_tab": str,
    "checkpoint_tab": str,
    "sentence": int,
    **{f"batch_{language}_{i}": str for language in BATCHES for i in range(1, 5)},
}
FORCED = re.compile(r"\d{1,4}\.\d{1,7}(-\d{1,4}\.\d{1,7})*", re.ASCII)  # position.token, one or several
MAX_IN_URL = 500  # characters; longer texts would not fit into a link


def restore_choices() -> None:
    """Before any widget: keep what the session knows, take the rest from the URL."""
    for key, kind in KINDS.items():
        if key in st.session_state:
            st.session_state[key] = st.session_state[key]
        elif key in st.query_params:
            value = parsed(st.query_params[key], kind)
            if value is not None:
                st.session_state[key] = value


def parsed(text: str, kind: type) -> object | None:
    """A choice as it stands in the URL, or None where it makes no sense."""
    if kind in (Intervention, tuple) and len(text) > MAX_IN_URL:
        return None
    if kind is Intervention:
        try:
            return Intervention.from_code(text)
        except ValueError:
            return None
    if kind is tuple:
        pairs = [part.partition(".")[::2] for part in text.split("-")]
        return tuple((int(at), int(token)) for at, token in pairs) if FORCED.fullmatch(text) else None
    if kind is bool:
        return text == "true"
    if kind is float:
        return float(text) if re.fullmatch(r"\d{1,3}(\.\d{1,4})?", text, re.ASCII) else None
    if kind is int:
        return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
    return text


def written(value: object) -> str:
    """The opposite of `parsed`."""
    if isinstance(value, Intervention):
        return value.code()
    if isinstance(value, tuple):
        return "-".join(f"{at}.{token}" for at, token in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def settle(key: str, default: object, allowed: Container[object] | None = None) -> None:
    """Before a widget: give its choice the default where it has no value yet, or one that is not allowed."""
    st.session_state.setdefault("defaults", {})[key] = default
    missing = key not in st.session_state
    if missing or (allowed is not None and st.session_state[key] not in allowed):
        st.session_state[key] = default


def settle_number(key: str, default: float, low: float, high: float) -> None:
    """Before a slider of fractions: as `settle`, with what lies outside its ends moved to the nearer one."""
    settle(key, default)
    st.session_state[key] = min(max(float(st.session_state[key]), low), high)


def publish_choices() -> None:
    """After the page: put every choice that is not the default into the URL."""
    defaults = st.session_state.get("defaults", {})
    for key in KINDS:
        value = st.session_state.get(key)
        shown = written(value)
        if value is None or value == defaults.get(key) or len(shown) > MAX_IN_URL:
            st.query_params.pop(key, None)
        elif st.query_params.get(key) != shown:
            st.query_params[key] = shown
