"""The pages of the app in their order, and links from one to another.

A link names a `st.Page`: Streamlit looks for a bare path beside the script that was started, and the pages of an
installed Headlight are elsewhere.
"""

from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from viz_app.server.streamlit_bridge import StreamlitPage

__all__ = ["PAGES", "AppPage", "name_of", "page_link", "page_of"]

FOLDER = Path(__file__).parents[1] / "pages"


@dataclass(frozen=True)
class AppPage:
    """A page as the navigation shows it."""

    name: str  # of its file, and in its address
    title: str
    icon: str  # one of Material Symbols
    first: str  # what to do there first


HOME = "translate"  # what an address without a page opens
PAGES = {
    page.name: page
    for page in (
        AppPage("start", "Start here", "flag", "Learn six words, then open a page."),
        AppPage("translate", "Translate", "translate", "Type a sentence, and see what every head looked at for it."),
        AppPage(
            "steps",
            "Step by step",
            "footprint",
            "Play the translation word by word; choose another word to use it instead.",
        ),
        AppPage("inside", "Inside", "search", "Choose a token, and follow its numbers through the model."),
        AppPage("positions", "Positional encoding", "waves", "See what tells the model where each word stands."),
        AppPage("masks", "Masks", "grid_on", "Type a few sentences, and see what may look at what; then break it."),
        AppPage("heads", "Heads", "toggle_on", "Choose a head to silence it, and see the translation change."),
        AppPage("compare", "Side by side", "compare", "Choose what to compare, and see where the two differ."),
        AppPage("learning", "Watch it learn", "school", "Press Play, and see attention take shape."),
        AppPage("training", "Train one here", "model_training", "Choose a task, press Train, and watch."),
        AppPage("sentiment", "Sentiment", "mood", "Type a review; see where the model looks, and which words decide."),
        AppPage("checkpoints", "Checkpoints", "inventory_2", "Look at a model's card, or bring one of yours."),
    )
}


def page_of(name: str) -> StreamlitPage:
    """The page of this name, as Streamlit navigates to it; `HOME` has an empty address of its own."""
    page = PAGES[name]
    return st.Page(
        FOLDER / f"{name}.py",
        title=page.title,
        icon=f":material/{page.icon}:",
        url_path=name,
        default=name == HOME,
    )


def name_of(page: StreamlitPage) -> str:
    return page.url_path or HOME


def page_link(name: str, label: str, *, icon: str | None = None) -> None:
    """Draw a link to the page of this name."""
    st.page_link(page_of(name), label=label, icon=icon)
