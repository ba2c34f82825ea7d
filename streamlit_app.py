"""The router of Headlight: page settings, menu, checkpoint picker. The pages are in `viz_app/pages/`."""

import streamlit as st

from viz_app.components.bundle import LIVE, asset
from viz_app.components.page_parts import begin_parts, complete_address, mount_parts, page_keys
from viz_app.content.glossary import glossary
from viz_app.content.shared import PAGES
from viz_app.content.translation import N_, t
from viz_app.course.visit import lesson_visit
from viz_app.sections.course.browser_store import note_first_visit, store_in_browser
from viz_app.sections.course.class_room import follow_class
from viz_app.sections.course.strip import lesson_strip
from viz_app.server.metrics import publish_metrics
from viz_app.server.presence import visitor
from viz_app.server.server_state import turn
from viz_app.server.streamlit_bridge import (
    iterate_over_copies,
    keep_reconnecting,
    lead_unknown_addresses_home,
    look_up_single_values,
)
from viz_app.server.uploads import bound_received_files
from viz_app.services.listing import listed_checkpoints
from viz_app.services.models import MODELS
from viz_app.session.choices import publish_choices, read_choices, replace_choices, restore_choices
from viz_app.session.language import begin_language, chosen_language, language_switch
from viz_app.session.links import PARAMETER, link_button, wanted_place
from viz_app.session.page_end import boundary, guard_callbacks, show_callback_problems
from viz_app.widgets.checkpoint_choice import checkpoint_picker
from viz_app.widgets.headings import heading
from viz_app.widgets.marked_text import STYLE
from viz_app.widgets.navigation import page_menu, page_name, page_of, wanted_page
from viz_app.widgets.presenter_mode import leave_button, present_switch

# Our own files: the browser would fetch an emoji or a Material symbol from another host.
ICON, LOGO = str(LIVE / "ui" / "icon.svg"), str(LIVE / "ui" / "logo.svg")

bound_received_files()
guard_callbacks()
iterate_over_copies()
look_up_single_values()
note_first_visit()
lead_unknown_addresses_home()
publish_metrics(lambda: MODELS.size)
restore_choices()
begin_language()
st.set_page_config(page_title="Headlight", page_icon=ICON, layout="wide")
# One element, because each element costs time in every run.
st.html(f"<style>{asset('streamlit/streamlit.css', 'ui/save_menu.css')}</style>{STYLE}")
with st.sidebar:
    page_keys()

visitor()  # note that this visitor is here
st.logo(LOGO, size="large", icon_image=ICON)
page = page_menu()
if place := wanted_place(st.query_params.to_dict()):
    replace_choices(read_choices(dict(place.choices) | chosen_language()))
    there = {name: text for name, text in st.query_params.to_dict().items() if name != PARAMETER}
    st.switch_page(page_of(place.page), query_params=there)  # Back leads to the page with the field for the code
if wanted := wanted_page():
    st.switch_page(page_of(wanted))
if (opened := lesson_visit().follow(page_name(page))) != page_name(page):
    st.switch_page(page_of(opened), query_params=st.query_params.to_dict())  # no step for Back between both pages
begin_parts()
with turn():
    try:
        with boundary(N_("The sidebar could not be shown.")):
            with st.sidebar, st.container(horizontal=True, vertical_alignment="center", gap="small"):
                glossary()
                language_switch()
            checkpoint_picker(listed := listed_checkpoints())
            with st.sidebar:
                present_switch()
        link_place = st.sidebar.container()  # filled after the page, because the link names what the page shows
        leave_button()
        strip = None
        with boundary(N_("The lesson could not be shown.")):
            strip = lesson_strip(page_name(page), listed)
        if strip is None:
            heading(page.title, t(PAGES[page_name(page)]["instruction"]))
        with boundary(N_("The next lesson of your class could not be opened.")):
            follow_class()
        show_callback_problems()
        if strip is None or strip.shows_page:
            with boundary(N_("This page could not be shown.")):
                page.run()
        if strip:
            strip.judge(listed)
        with boundary(N_("Your answers could not be kept.")):
            store_in_browser(page_name(page))
        with boundary(N_("The link to this page could not be made.")), link_place:
            link_button(page_name(page))
        with boundary(N_("Lines between words and saving pictures do not work.")), st.sidebar:
            mount_parts()
    finally:  # Streamlit may stop the run
        keep_reconnecting()
        publish_choices(page_name(page), complete_address=complete_address)
