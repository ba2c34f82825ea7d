"""Headlight: the router. Page configuration, checkpoint picker, navigation; the pages are in `viz_app/pages/`."""

from pathlib import Path

import streamlit as st

import viz_app
from viz_app.boundary import boundary
from viz_app.caption import begin_caption, facts
from viz_app.checkpoint_choice import checkpoint_picker
from viz_app.chips import STYLE, heading
from viz_app.choices import publish_choices, restore_choices, start_afresh
from viz_app.components import page_keys, save_pictures
from viz_app.glossary import glossary
from viz_app.listing import listed_checkpoints
from viz_app.presence import visitor
from viz_app.present import present_switch, way_back
from viz_app.share import share, wanted_place
from viz_app.shared import turn

# An own file: the browser would fetch the icon of an emoji or a material symbol from another host.
APP = Path(viz_app.__file__).parent  # which need not be beside this file, see pyproject.toml
ASSETS = APP / "assets"
ICON, LOGO = str(ASSETS / "icon.svg"), str(ASSETS / "logo.svg")

st.set_page_config(page_title="Headlight", page_icon=ICON, layout="wide")
st.html(ASSETS / "page.css")
st.html(ASSETS / "save.css")
st.html(STYLE)
with st.sidebar:
    page_keys()


@st.fragment(run_every=3600)
def come_back() -> None:
    """Nothing to see. After a broken connection Streamlit's page asks anew only where something runs by itself.

    Without this, a page whose server was started again would stand there dead, and forget the first change after it.
    """


visitor()  # is here, whichever page this is
restore_choices()
st.logo(LOGO, size="large", icon_image=ICON)
PAGES = (
    ("translate", "Translate", "translate", "Type a sentence, and see what every head looked at for it."),
    ("steps", "Step by step", "footprint", "Play the decode, and click another word to force it."),
    ("inside", "Inside", "search", "Choose a token, and follow its numbers through the model."),
    ("positions", "Positional encoding", "waves", "See how a model without order learns where each word stands."),
    ("masks", "Masks", "grid_on", "Type a few sentences, and see what may look at what; then break it."),
    ("heads", "Heads", "toggle_on", "Click a head to silence it, and see the translation change."),
    ("compare", "Side by side", "compare", "Choose what to compare, and see where the two differ."),
    ("learning", "Watch it learn", "school", "Press Play under the maps, and see attention take shape."),
    ("training", "Train one here", "model_training", "Choose a task, press Train, and watch."),
    ("sentiment", "Sentiment", "mood", "Type a review, and see which words made its class."),
    ("checkpoints", "Checkpoints", "inventory_2", "Look at a model's card, or bring one of yours."),
)
FIRST = {title: first for _, title, _, first in PAGES}  # what to do there first
pages = {
    name: st.Page(
        APP / "pages" / f"{name}.py",
        title=title,
        icon=f":material/{icon}:",
        url_path=name,
        default=name == "translate",
    )
    for name, title, icon, _ in PAGES
}
page = st.navigation(list(pages.values()))
if place := wanted_place(st.query_params.to_dict()):
    start_afresh()
    st.switch_page(pages[place.page or "translate"], query_params=dict(place.choices))
begin_caption()
with turn():
    try:
        with boundary("The sidebar"):
            checkpoint_picker(listed_checkpoints())
            with st.sidebar:
                glossary()
                present_switch()
                share(page.url_path)
        way_back()
        st.html(heading(page.title, FIRST[page.title]))
        with boundary("This page"):
            page.run()
        with boundary("Saving pictures"), st.sidebar:
            save_pictures(facts())
    finally:  # Streamlit may stop the run
        come_back()
        publish_choices(page.url_path)
