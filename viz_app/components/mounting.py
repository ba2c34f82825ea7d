"""How one of our components comes onto a page of Streamlit.

Streamlit sends the JavaScript of a component with every change of its data. So one component, which never changes,
holds the JavaScript and the styles of all (`bundle.library`), and a browser gets it once. The JavaScript of each other
component is a short text, which waits for this library and takes its own function from it.
"""

from collections.abc import Callable, Mapping
from functools import cache

import streamlit as st

from model.files import finite
from viz_app.components.bundle import library, library_name
from viz_app.components.words import words_of

__all__ = ["LIBRARY", "component", "library_component"]

LIBRARY = "page_keys"
ROOT = '<div class="root"></div>'
# Not `Promise.withResolvers`: browsers have it only since 2024, and a student's phone may be older.
WAIT = """const waiting = (globalThis["{library}"] ??= {{}});
waiting.promise ??= new Promise((resolve) => {{ waiting.resolve = resolve; }});
export default (await waiting.promise).{name};
"""


def component(name: str, *modules: str) -> Callable[..., object]:
    """The component of this name in `assets/app.js`; call it to mount it. Its words travel with its data.

    Args:
        name: Of the component.
        modules: The modules with its words, if the component is not one module with its own name.
    """

    def mount(*, data: Mapping[str, object] | None = None, **options: object) -> object:
        words = {"words": words_of(*(modules or (name,)))}
        return registered(name)(data=finite({**(data or {}), **words}), **options)

    return mount


@cache
def registered(name: str) -> Callable[..., object]:
    return st.components.v2.component(f"headlight_{name}", html=ROOT, js=WAIT.format(library=library_name(), name=name))


@cache
def library_component() -> Callable[..., object]:
    """The component that holds all others, and itself reacts to the keys of a page."""
    return st.components.v2.component(f"headlight_{LIBRARY}", html=ROOT, js=library())
