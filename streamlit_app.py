"""Headlight: the router. Page configuration, checkpoint picker, navigation; the pages are in `viz_app/pages/`."""

from contextlib import suppress
from pathlib import Path

import streamlit as st

from viz_app.checkpoint_choice import checkpoint_picker
from viz_app.chips import STYLE
from viz_app.choices import publish_choices, restore_choices
from viz_app.components import one_tap_one_click
from viz_app.ending import PageEnded
from viz_app.listing import listed_checkpoints
from viz_app.shared import turn

# An own file: the browser would fetch the icon of an emoji or a material symbol from another host.
ASSETS = Path(__file__).parent / "viz_app" / "assets"
ICON, LOGO = str(ASSETS / "icon.svg"), str(ASSETS / "logo.svg")

st.set_page_config(page_title="Headlight", page_icon=ICON, layout="wide")
st.html(ASSETS / "page.css")
st.html(STYLE)
with st.sidebar:
    one_tap_one_click()


@st.fragment(run_every=3600)
def come_back() -> None:
    """Nothing to see. After a broken connection Streamlit's page asks anew only where something runs by itself.

    Without this, a page whose server was started again would stand there dead, and forget the first change after it.
    """


restore_choices()
st.logo(LOGO, size="large", icon_image=ICON)
page = st.navigation(
    [
        st.Page("viz_app/pages/translate.py", title="Translate", icon=":material/translate:", default=True),
        st.Page("viz_app/pages/steps.py", title="Step by step", icon=":material/footprint:", url_path="steps"),
        st.Page("viz_app/pages/inside.py", title="Inside", icon=":material/search:", url_path="inside"),
        st.Page(
            "viz_app/pages/positions.py", title="Positional encoding", icon=":material/waves:", url_path="positions"
        ),
        st.Page("viz_app/pages/masks.py", title="Masks", icon=":material/grid_on:", url_path="masks"),
        st.Page("viz_app/pages/heads.py", title="Heads", icon=":material/toggle_on:", url_path="heads"),
        st.Page("viz_app/pages/compare.py", title="Side by side", icon=":material/compare:", url_path="compare"),
        st.Page("viz_app/pages/learning.py", title="Watch it learn", icon=":material/school:", url_path="learning"),
        st.Page(
            "viz_app/pages/training.py", title="Train one here", icon=":material/model_training:", url_path="training"
        ),
        st.Page("viz_app/pages/sentiment.py", title="Sentiment", icon=":material/mood:", url_path="sentiment"),
        st.Page(
            "viz_app/pages/checkpoints.py", title="Checkpoints", icon=":material/inventory_2:", url_path="checkpoints"
        ),
    ]
)
with turn():
    checkpoint_picker(listed_checkpoints())
    try:
        with suppress(PageEnded):
            page.run()
    finally:  # a page may fail
        come_back()
        publish_choices(page.url_path)
