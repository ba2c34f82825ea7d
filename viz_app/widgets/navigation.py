"""The sections and pages of the app in their order, and links from one page to another.

A link names a `st.Page`. Streamlit resolves a bare path beside the script that was started, and the pages of an
installed Headlight are in another folder.
"""

from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from viz_app.content.translation import N_, t
from viz_app.server.streamlit_bridge import StreamlitPage

__all__ = ["PAGES", "SECTIONS", "AppPage", "page_link", "page_menu", "page_name", "page_of"]

FOLDER = Path(__file__).parents[1] / "pages"


@dataclass(frozen=True)
class AppPage:
    """A page as the navigation shows it. `t` translates the texts that a visitor reads."""

    name: str  # of its file, and in its address
    title: str
    icon: str  # from Material Symbols
    instruction: str  # what the visitor does there, below the title


HOME = "translate"  # the page of an address without a page name
SECTIONS = {
    N_("Course"): (
        AppPage("start", N_("Start here"), "flag", N_("Learn six words, then open a page.")),
        AppPage("lessons", N_("Lessons"), "menu_book", N_("Choose a lesson: it asks, and your own run answers.")),
    ),
    N_("Look"): (
        AppPage("translate", N_("Translate"), "translate", N_("Type a sentence, and see what every head attends to.")),
        AppPage(
            "steps",
            N_("Step by step"),
            "footprint",
            N_("Play the translation word by word; choose another word to use it instead."),
        ),
        AppPage("inside", N_("Inside"), "search", N_("Choose a token, and follow its numbers through the model.")),
        AppPage(
            "sentiment",
            N_("Sentiment"),
            "mood",
            N_("Type a review; see where the model looks, and which words decide."),
        ),
    ),
    N_("Take apart"): (
        AppPage(
            "positions", N_("Positional encoding"), "waves", N_("See how the model knows the position of each word.")
        ),
        AppPage(
            "masks", N_("Masks"), "grid_on", N_("Type a few sentences, see which tokens are masked, then break a mask.")
        ),
        AppPage("heads", N_("Heads"), "toggle_on", N_("Choose a head to silence it, and see what changes.")),
    ),
    N_("Compare"): (
        AppPage("compare", N_("Side by side"), "compare", N_("Choose what to compare, and see where the two differ.")),
        AppPage("learning", N_("Watch it learn"), "school", N_("Press Play, and see attention take shape.")),
        AppPage("training", N_("Train one here"), "model_training", N_("Choose a task, press Train, and watch.")),
    ),
    N_("Models"): (
        AppPage("checkpoints", N_("Checkpoints"), "inventory_2", N_("Read a model's card, or open your own model.")),
    ),
}
PAGES = {page.name: page for pages in SECTIONS.values() for page in pages}


def page_menu() -> StreamlitPage:
    """Draw the menu of all pages, by section, and return the page that the visitor opened."""
    return st.navigation(
        {t(section): [page_of(page.name) for page in pages] for section, pages in SECTIONS.items()}, expanded=True
    )


def page_of(name: str) -> StreamlitPage:
    """The page with this name as Streamlit navigates to it. `HOME` has an empty address."""
    page = PAGES[name]
    return st.Page(
        FOLDER / f"{name}.py",
        title=t(page.title),
        icon=f":material/{page.icon}:",
        url_path=name,
        default=name == HOME,
    )


def page_name(page: StreamlitPage) -> str:
    """The name of a page in `PAGES`."""
    return page.url_path or HOME


def page_link(name: str, label: str, *, icon: str | None = None) -> None:
    """Draw a link to the page with this name."""
    st.page_link(page_of(name), label=label, icon=icon)
