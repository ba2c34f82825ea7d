"""How one of our components comes onto a page of Streamlit.

Streamlit sends the JavaScript of a component with every change of its data. So one component, which never changes,
holds the JavaScript and the styles of all (`bundle.library`), and a browser gets it once. The JavaScript of each other
component is a short text, which waits for this library and takes its own function from it.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import streamlit as st

from model.files import finite
from viz_app.components.bundle import library, library_name, words_of

__all__ = ["LIBRARY", "component", "library_component"]

LIBRARY = "page_keys"
ROOT = '<div class="root"></div>'
# Not `Promise.withResolvers`: browsers have it only since 2024, and a student's phone may be older.
WAIT = """const waiting = (globalThis["{library}"] ??= {{}});
waiting.promise ??= new Promise((resolve) => {{ waiting.resolve = resolve; }});
export default (await waiting.promise).{name};
"""


def component(
    name: str, module: str, *, data: Mapping[str, object], key: str | None = None, **reports: Callable[[Any], object]
) -> None:
    """Mount the component of this name in `live/streamlit/app.js`. Its words travel with its data.

    Args:
        name: Of the component.
        module: The module with its words, such as "ui/stepper".
        data: What it draws.
        key: Of the component on the page; one that reports has a key.
        reports: Event → called with its value when the component reports it.
    """

    def callback(event: str) -> Callable[[], object]:
        return lambda: reports[event](st.session_state[str(key)][event])

    registered(name)(
        key=key,
        data=finite({**data, "words": words_of(module)}),
        **{f"on_{event}_change": callback(event) for event in reports},
    )


@cache
def registered(name: str) -> Callable[..., object]:
    return st.components.v2.component(f"headlight_{name}", html=ROOT, js=WAIT.format(library=library_name(), name=name))


@cache
def library_component() -> Callable[..., object]:
    """The component that holds all others, and itself reacts to the keys of a page."""
    return st.components.v2.component(f"headlight_{LIBRARY}", html=ROOT, js=library())
