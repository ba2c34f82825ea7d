"""The sections and pages of the app in their order, and links from one page to another.

A link names a `st.Page`. Streamlit resolves a bare path beside the script that was started, and the pages of an
installed Headlight are in another folder.
"""

from pathlib import Path

import streamlit as st

from viz_app.content.shared import PAGES, TASK_TITLES
from viz_app.content.tasks import task_of
from viz_app.content.translation import t
from viz_app.server.streamlit_bridge import StreamlitPage, titled_page
from viz_app.services.listing import listed_checkpoints
from viz_app.session.choices import choices

__all__ = [
    "SECTIONS",
    "go_to",
    "page_link",
    "page_menu",
    "page_name",
    "page_of",
    "page_title",
    "wanted_page",
]

FOLDER = Path(__file__).parents[1] / "pages"

NEXT = "next_page"  # in the session
HOME = "translate"  # the page of an address without a page name
SECTIONS = {  # title → the names of its pages
    section: [name for name, page in PAGES.items() if page["section"] == section]
    for section in dict.fromkeys(page["section"] for page in PAGES.values())
}


def page_menu() -> StreamlitPage:
    """Draw the menu of all pages, by section, and return the page that the visitor opened."""
    return st.navigation(
        {t(section): [page_of(name) for name in names] for section, names in SECTIONS.items()}, expanded=True
    )


def page_title(name: str) -> str:
    """The title of the page with this name. That of Translate says what the chosen model does instead."""
    task = chosen_task() if name == "translate" else ""
    return t(TASK_TITLES.get(task, PAGES[name])["title"])


def chosen_task() -> str:
    """What the chosen model does on the page Translate; "" where it does nothing there, and for the default model."""
    chosen = choices().chosen.get("checkpoint")
    listed = listed_checkpoints() if chosen else ()  # reading the folders takes 2 ms
    config = next((one.config for one in listed if one.key.name == chosen), None)
    return task_of(config) if config and config.task != "classification" else ""


def page_of(name: str) -> StreamlitPage:
    """The page with this name as Streamlit navigates to it. `HOME` has an empty address."""
    return titled_page(
        page_title(name),
        script=FOLDER / f"{name}.py",
        icon=f":material/{PAGES[name]['icon']}:",
        url_path=name,
        default=name == HOME,
    )


def page_name(page: StreamlitPage) -> str:
    """The name of a page in `PAGES`."""
    return page.url_path or HOME


def go_to(name: str) -> None:
    """Callback: open the page with this name, with the choices that the callback has made."""
    st.session_state[NEXT] = name


def wanted_page() -> str:
    """The page that a callback wants to open; "" for none."""
    return str(st.session_state.pop(NEXT, ""))


def page_link(name: str, label: str, *, icon: str | None = None) -> None:
    """Draw a link to the page with this name."""
    st.page_link(page_of(name), label=label, icon=icon)
