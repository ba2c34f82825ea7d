"""Headlight: the router. Page configuration, checkpoint picker, navigation; the pages are in `viz_app/pages/`."""

import streamlit as st

from viz_app.components.page_parts import begin_parts, mount_parts, page_keys
from viz_app.components.scripts import ASSETS, asset
from viz_app.content.glossary import glossary
from viz_app.server.presence import visitor
from viz_app.server.server_state import turn
from viz_app.server.streamlit_bridge import keep_reconnecting
from viz_app.server.upload_memory import bound_received_files
from viz_app.services.listing import listed_checkpoints
from viz_app.session.address import publish_choices, restore_choices
from viz_app.session.boundary import boundary, guard_callbacks, problems_of_callbacks
from viz_app.session.choices import clear_choices
from viz_app.session.links import share, wanted_place
from viz_app.session.page_facts import clear_page_facts, page_facts, picture_titles
from viz_app.widgets.checkpoint_picker import checkpoint_picker
from viz_app.widgets.chips import STYLE
from viz_app.widgets.headings import heading
from viz_app.widgets.navigation import PAGES, page_menu, page_name, page_of
from viz_app.widgets.presenter_mode import leave_button, present_switch

# An own file: the browser would fetch the icon of an emoji or a material symbol from another host.
ICON, LOGO = str(ASSETS / "icon.svg"), str(ASSETS / "logo.svg")

bound_received_files()
guard_callbacks()
st.set_page_config(page_title="Headlight", page_icon=ICON, layout="wide")
st.html(f"<style>{asset('page.css', 'save.css')}</style>{STYLE}")  # one element: each costs time with every change
with st.sidebar:
    page_keys()

visitor()  # is here, whichever page this is
restore_choices()
st.logo(LOGO, size="large", icon_image=ICON)
page = page_menu()
if place := wanted_place(st.query_params.to_dict()):
    clear_choices()
    st.switch_page(page_of(place.page), query_params=dict(place.choices))
clear_page_facts()
begin_parts()
with turn():
    try:
        with boundary("The sidebar"):
            checkpoint_picker(listed_checkpoints())
            with st.sidebar:
                glossary()
                present_switch()
        link_place = st.sidebar.container()  # filled after the page, which says what the link must name
        leave_button()
        heading(page.title, PAGES[page_name(page)].instruction)
        problems_of_callbacks()
        with boundary("This page"):
            page.run()
        with boundary("The link to this page"), link_place:
            share(page_name(page))
        with boundary("Lines and saving pictures"), st.sidebar:
            mount_parts(page_facts(), picture_titles())
    finally:  # Streamlit may stop the run
        keep_reconnecting()
        publish_choices(page_name(page))
