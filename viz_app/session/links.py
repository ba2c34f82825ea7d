"""A link to what a visitor sees, and a short code for it that can be read aloud where the server knows the link.

The codes are kept in memory, the latest `CODES.most` of them; they hold what a link holds, and nothing of who made it.
"""

import hashlib
import os
import socket
import threading
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit, urlunsplit

import streamlit as st

from viz_app.content.plain import plain
from viz_app.session.choices import choices
from viz_app.session.own_checkpoints import LOCAL, own_checkpoints

__all__ = ["CODES", "Codes", "Place", "code_field", "share", "wanted_place"]

SIGNS = "abcdefghjkmnpqrstuvwxyz23456789"  # none that is taken for another when it is read aloud or written down
LENGTH = 5
ANYWHERE = ("0.0.0.0", "::")  # a server that listens here listens at every address
PARAMETER = "code"  # of a link that is a code


@dataclass(frozen=True)
class Place:
    """What a link leads to."""

    page: str  # one of `PAGES`
    choices: tuple[tuple[str, str], ...]  # as the URL writes them


class Codes:
    """Places by their codes; the same place has the same code, and the oldest are forgotten first."""

    def __init__(self, *, most: int) -> None:
        self.most = most
        self._lock = threading.Lock()
        self._places: OrderedDict[str, Place] = OrderedDict()

    def code_of(self, place: Place) -> str:
        """A code that leads to the place from now on."""
        number = int.from_bytes(hashlib.sha256(repr(place).encode()).digest())
        with self._lock:
            while True:
                code = ""
                for _ in range(LENGTH):
                    number, sign = divmod(number, len(SIGNS))
                    code += SIGNS[sign]
                if self._places.setdefault(code, place) == place:  # else another place has it: take the next signs
                    break
            self._places.move_to_end(code)
            while len(self._places) > self.most:
                self._places.popitem(last=False)
            return code

    def place_of(self, code: str) -> Place | None:
        """Where a code leads, however it was typed."""
        with self._lock:
            return self._places.get(code.strip().lower())


CODES = Codes(most=1_000)  # each holds what fits into a URL: some 8 MB at the very most


def share(page: str) -> None:
    """A button that shows the link to this page, with all that one sees in it, and its code; after the page."""
    if st.button("Link to this page", icon=":material/link:", type="tertiary", key="share"):
        show(Place(page, tuple(choices().in_link().items())))


@st.dialog("Link to this page")
def show(place: Place) -> None:
    st.markdown("It opens what you see now. Copy it:")
    url, limit = for_others(st.context.url or "", st.get_option("server.address"))
    st.code(link(url, place.choices), language=None, wrap_lines=True)
    if limit:
        st.caption(limit)
    if (name := dict(place.choices).get("checkpoint")) in own_checkpoints():
        st.warning(f"Others cannot open {plain(str(name))}: a checkpoint that you brought or trained is yours alone.")
    if not has_codes():
        return
    st.markdown(
        "Or read its code aloud. This server knows it until it starts again. Everybody who has the code sees the page:"
    )
    st.header(CODES.code_of(place), anchor=False)
    code_field(key="code_in_dialog")


def code_field(*, key: str = "code") -> None:
    """Ask for a code, and go where it leads.

    Args:
        key: Of the field; a page can have two.
    """
    if not has_codes():
        return
    st.text_input("Type the code of a page, and press Enter", max_chars=20, key=key, on_change=follow, args=(key,))
    if "code_to_follow" in st.session_state:  # within a dialog: the page itself follows it
        st.rerun()


def follow(key: str) -> None:
    """Callback of a field for codes: the page goes where the code leads, and the field is empty again."""
    st.session_state["code_to_follow"], st.session_state[key] = st.session_state[key], ""


def has_codes() -> bool:
    """Whether this process knows every code: behind `deploy/serve.py` another one may have made it."""
    return "HEADLIGHT_PROCESSES" not in os.environ


def for_others(url: str, listens_at: str | None) -> tuple[str, str]:
    """The address of a page as other computers open it, and a sentence about its limits where it has some.

    Args:
        url: As this visitor opened it.
        listens_at: The address at which the server listens; None is every address of this computer.
    """
    parts = urlsplit(url)
    if parts.hostname not in LOCAL:
        return url, ""
    if listens_at in LOCAL:
        return url, (
            "This server listens to this computer alone, so no other computer can open the link. "
            "`headlight --server.address 0.0.0.0` lets others in."
        )
    host = listens_at if listens_at not in (None, "", *ANYWHERE) else own_address()
    if host is None:
        return url, "This computer is in no network, so no other computer can open the link."
    name = f"[{host}]" if ":" in host else host
    return urlunsplit(parts._replace(netloc=f"{name}:{parts.port}" if parts.port else name)), ""


def own_address() -> str | None:
    """This computer's address in its network, or None without one; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, suppress(OSError):
        probe.connect(("192.0.2.1", 9))  # kept for documentation by RFC 5737: only the route is looked up
        address: str = probe.getsockname()[0]
        return address
    return None


def link(url: str, chosen: tuple[tuple[str, str], ...]) -> str:
    """The address of a page with these choices."""
    scheme, host, path, *_ = urlsplit(url)
    return urlunsplit((scheme, host, path, urlencode(chosen), ""))


def wanted_place(parameters: Mapping[str, str]) -> Place | None:
    """Where the code in the URL, or the one that was typed, leads; a visitor reads it where it leads nowhere."""
    code = st.session_state.pop("code_to_follow", "") or parameters.get(PARAMETER, "")
    found = CODES.place_of(code) if code else None
    if code and not found:
        st.warning(
            f"This server knows no code “{plain(code[:20])}”. Codes are forgotten when it starts again; ask for "
            "another, or for the link."
        )
    return found
