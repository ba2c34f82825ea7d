"""The address of a page: read when a visitor comes, written after each run.

The address has no parameters until the visitor chooses something. From then on it names everything that the picture
depends on, defaults included, so that it shows the same picture when our defaults change.

Streamlit clears the URL when the page changes, also with its own `bind="query-params"` (seen in 1.67). So the whole URL
is written once per run.
"""

from collections.abc import Callable, Mapping
from urllib.parse import urlencode

import streamlit as st

from viz_app.server.streamlit_bridge import went_through_history
from viz_app.session.choice_forms import FORMS, fits_into_a_link, read_texts
from viz_app.session.choices import choices, put_aside_owned

__all__ = ["publish_choices", "read_choices", "restore_choices"]


def restore_choices() -> None:
    """Before any widget: take the choices from the URL if it is newer than the session, else from the widgets.

    The URL is newer in the first run, and after the browser's Back or Forward. In other runs a different URL means
    nothing: the browser sent it before it received the latest one.
    """
    first, kept = "choices" not in st.session_state, choices()
    kept.settled = {}
    if first or went_through_history():
        put_aside_owned()
        # Back does not lose a choice that is too long for any link.
        too_long = {
            name: value for name, value in kept.chosen.items() if not fits_into_a_link(FORMS[name].write(value))
        }
        kept.chosen = too_long | read_choices(st.query_params.to_dict())
    if went_through_history():
        return  # the widgets still hold older values
    for name in FORMS:
        if name in st.session_state and (name not in kept.shown or st.session_state[name] != kept.shown[name]):
            kept.chosen[name] = st.session_state[name]


def read_choices(written: Mapping[str, str]) -> dict[str, object]:
    """The choices of a link.

    Args:
        written: Name → value, as a link writes it. What no choice could be is left out.
    """
    return read_texts({name: text for name, text in written.items() if fits_into_a_link(text)})


def publish_choices(page: str, *, complete_address: Callable[[str], None]) -> None:
    """After the page: write its choices into the URL, all at once, because each write is a step for Back.

    Args:
        page: The name of the page.
        complete_address: Called with the query of the page, to replace it without a step for Back.
    """
    kept = choices()
    switched, kept.page = kept.page not in (None, page) and not went_through_history(), page
    wanted = kept.in_url()
    # Otherwise a newer URL is still on its way to the browser.
    arrived = went_through_history() or kept.published in (None, wanted)
    kept.published = wanted
    if arrived and wanted == st.query_params.to_dict():
        return
    if switched:  # the browser has made a step for the new page already, so complete the URL of this step
        complete_address(urlencode(wanted))
    else:
        st.query_params.from_dict(wanted)
