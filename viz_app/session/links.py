"""The link to a page with its choices, and the field for a code."""

import os
import socket
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import urlencode, urlsplit, urlunsplit

import streamlit as st

from viz_app.content.plain import plain
from viz_app.content.translation import N_, t
from viz_app.server.presence import visitor
from viz_app.session.choices import choices
from viz_app.session.classes import CLASSES, FullClassError
from viz_app.session.codes import CODES, Place
from viz_app.session.own_checkpoints import LOCAL, own_checkpoints

__all__ = ["LIVE_PAGES", "code_field", "has_codes", "link_button", "wanted_place"]

ANYWHERE = ("0.0.0.0", "::")  # a server with one of these addresses listens at every address of its computer
PARAMETER = "code"  # of a link that is a code
# See live/pages.js.
LIVE_PAGES = (
    "translate",
    "steps",
    "heads",
    "inside",
    "positions",
    "masks",
    "lessons",
    "checkpoints",
)


def link_button(page: str) -> None:
    """After the page: a button that shows the link to it, and its code.

    Args:
        page: The name of the page.
    """
    if st.button(t("Link to this page"), icon=":material/link:", type="tertiary", key="share"):
        place = Place(page, tuple(choices().in_link().items()))
        st.dialog(t("Link to this page"))(show_link)(place)


def show_link(place: Place) -> None:
    st.markdown(t("This link opens the page with your choices. Copy it:"))
    url, limit = address_for_others(st.context.url or "", st.get_option("server.address"))
    st.code(link(url, place.choices), language=None, wrap_lines=True)
    if limit:
        st.caption(t(limit))
    if (name := dict(place.choices).get("checkpoint")) in own_checkpoints():
        st.warning(
            t("Only you can open {name}, because you uploaded or trained this checkpoint.", name=plain(str(name)))
        )
    if place.page in LIVE_PAGES:
        st.markdown(t("To open it in a published page, write this behind the address of that page:"))
        st.code(f"#{place.page}?{urlencode(place.choices)}", language=None, wrap_lines=True)
    if not has_codes():
        return
    st.markdown(
        t("Or read this code aloud. It works until the server restarts. Everybody with the code sees the page:")
    )
    st.header(CODES.code_of(place), anchor=False)
    code_field(key="code_in_dialog")


def code_field(*, key: str = "code") -> None:
    """Ask for a code, and open its page.

    Args:
        key: The key of the field; a page can have two.
    """
    if not has_codes():
        return
    st.text_input(t("Type the code of a page and press Enter"), max_chars=20, key=key, on_change=follow, args=(key,))
    if "code_to_follow" in st.session_state:  # in a dialog only the whole page can follow the code
        st.rerun()


def follow(key: str) -> None:
    """Callback of a field for codes: the next run opens the page, and the field is empty again."""
    st.session_state["code_to_follow"], st.session_state[key] = st.session_state[key], ""


def has_codes() -> bool:
    """Whether this process knows every code. Behind `deploy/serve.py` another process may have made it."""
    return "HEADLIGHT_PROCESSES" not in os.environ


def address_for_others(url: str, listens_at: str | None) -> tuple[str, str]:
    """The address that opens a page from other computers, and a sentence, marked with `N_`, if that is impossible.

    Args:
        url: The address in this visitor's browser.
        listens_at: The address at which the server listens; None for every address of its computer.
    """
    parts = urlsplit(url)
    if parts.hostname not in LOCAL:
        return url, ""
    if listens_at in LOCAL:
        return url, N_(
            "This server accepts only this computer, so no other computer can open the link. Start it with "
            "`headlight --server.address 0.0.0.0` to accept others."
        )
    host = listens_at if listens_at not in (None, "", *ANYWHERE) else own_address()
    if host is None:
        return url, N_("This computer has no network, so no other computer can open the link.")
    name = f"[{host}]" if ":" in host else host
    return urlunsplit(parts._replace(netloc=f"{name}:{parts.port}" if parts.port else name)), ""


def own_address() -> str | None:
    """This computer's address in its network; None without a network. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, suppress(OSError):
        probe.connect(("192.0.2.1", 9))  # an address for documentation (RFC 5737): the system only looks up the route
        address: str = probe.getsockname()[0]
        return address
    return None


def link(url: str, chosen: tuple[tuple[str, str], ...]) -> str:
    """The address of a page with these choices."""
    scheme, host, path, *_ = urlsplit(url)
    return urlunsplit((scheme, host, path, urlencode(chosen), ""))


def wanted_place(parameters: Mapping[str, str]) -> Place | None:
    """The place of the code that the visitor typed or that the URL holds. A message says so if there is none.

    The code of a class leads to its lesson, and the visitor joins the class.
    """
    code = st.session_state.pop("code_to_follow", "") or parameters.get(PARAMETER, "")
    if not code:
        return None
    try:
        if place := CODES.place_of(code) or lesson_of_class(code):
            return place
    except FullClassError:
        st.warning(t("The class {code} is full. Ask the teacher to open another one.", code=plain(code[:20])))
        return None
    st.warning(
        t(
            "This server does not know the code “{code}”. It forgets all codes when it restarts. Ask for a new "
            "code, or for the link.",
            code=plain(code[:20]),
        )
    )
    return None


def lesson_of_class(code: str) -> Place | None:
    lesson = CLASSES.join(code, visitor())
    return Place("lessons", (("lesson", lesson),)) if lesson else None
