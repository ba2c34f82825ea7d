"""The link to a page with its choices, its short code, which a teacher can read aloud, and the field for a code.

The store of the server keeps the latest codes. A code holds what a link holds, and not who made it.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from urllib.parse import urlencode, urlsplit, urlunsplit

import streamlit as st

from viz_app.content.plain import plain
from viz_app.content.shared import PUBLISHED_PAGES
from viz_app.content.translation import t, worded
from viz_app.server.addresses import addresses_for_others
from viz_app.server.presence import visitor
from viz_app.server.store import Kind, Records, Store, StoreError, shared_store
from viz_app.session.choices import choices
from viz_app.session.classes import CLASSES, LENGTH, SIGNS, FullClassError
from viz_app.session.own_checkpoints import own_checkpoints

__all__ = ["CODES", "PARAMETER", "Codes", "Place", "code_field", "link", "link_button", "wanted_place"]

PARAMETER = "code"  # of a link that is a code
DAYS = 30  # until a code is forgotten


@dataclass(frozen=True)
class Place:
    """A page with its choices."""

    page: str  # a name in `PAGES`
    choices: tuple[tuple[str, str], ...]  # as the URL writes them


class Codes:
    """Places by code. The same place keeps its code; the codes that nobody has asked for are forgotten first.

    Args:
        most: Codes at the same time.
        seconds: A code is forgotten after this time.
        store: Returns the store.
    """

    def __init__(self, *, most: int, seconds: float, store: Callable[[], Store] = shared_store) -> None:
        self.kind, self._store = Kind(name="page", most=most, seconds=seconds), store

    def code_of(self, place: Place) -> str:
        """The code of a place. From now on it leads there.

        Raises:
            StoreError: the store cannot be used.
        """

        def change(records: Records) -> str:
            number = int.from_bytes(hashlib.sha256(repr(place).encode()).digest())
            while True:
                code = ""
                for _ in range(LENGTH):
                    number, sign = divmod(number, len(SIGNS))
                    code += SIGNS[sign]
                if self._read(records, code) in (None, place):  # else the code is taken: try the next signs
                    records.put(self.kind, code, asdict(place))
                    return code

        return self._store().change(change)

    def place_of(self, code: str) -> Place | None:
        """The place of a code, typed with or without blanks and capitals; None for an unknown code.

        Raises:
            StoreError: the store cannot be used.
        """
        return self._store().change(lambda records: self._read(records, code.strip().lower()))

    def _read(self, records: Records, code: str) -> Place | None:
        found = records.all(self.kind, code)
        return Place(found["page"], tuple((name, value) for name, value in found["choices"])) if found else None


CODES = Codes(most=1_000, seconds=DAYS * 24 * 3600)  # each holds what fits into a URL: 8 MB in total at most


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
    url = st.context.url or ""
    reachable, limit = addresses_for_others(url, st.get_option("server.address"))
    st.code(link([*reachable, url][0], place.choices), language=None, wrap_lines=True)
    if limit:
        st.caption(limit)
    if (name := dict(place.choices).get("checkpoint")) in own_checkpoints():
        st.warning(
            t("Only you can open {name}, because you uploaded or trained this checkpoint.", name=plain(str(name)))
        )
    if place.page in PUBLISHED_PAGES:
        st.markdown(
            t(
                "Headlight can also be published as a web page without a server. To open this view there, write this "
                "behind its address:"
            )
        )
        st.code(f"#{place.page}?{urlencode(place.choices)}", language=None, wrap_lines=True)
    try:
        code = CODES.code_of(place)
    except StoreError as error:
        st.warning(plain(worded(error)))
        return
    st.markdown(
        t(
            "Or read this code aloud. It works until the server restarts, {days} days at most. Everybody with the code "
            "sees the page:",
            days=DAYS,
        )
    )
    st.header(code, anchor=False)
    code_field(key="code_in_dialog")


def code_field(*, key: str = "code") -> None:
    """Ask for a code, and open its page.

    Args:
        key: The key of the field; a page can have two.
    """
    st.text_input(
        t("Type the code of a class or a page, and press Enter"), max_chars=20, key=key, on_change=follow, args=(key,)
    )
    if "code_to_follow" in st.session_state:  # in a dialog only the whole page can follow the code
        st.rerun()


def follow(key: str) -> None:
    """Callback of a field for codes: the next run opens the page, and the field is empty again."""
    st.session_state["code_to_follow"], st.session_state[key] = st.session_state[key], ""


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
        if place := CODES.place_of(code):
            return place
        if lesson := CLASSES.join(code, visitor().name):
            return Place("lessons", (("lesson", lesson),))
    except StoreError as error:
        st.warning(plain(worded(error)))
        return None
    except FullClassError:
        st.warning(t("The class {code} is full. Ask the teacher to open another one.", code=plain(code[:20])))
        return None
    st.warning(
        t(
            "No class and no page has the code “{code}”. Compare it with the code on your teacher's screen, or ask "
            "for a new one.",
            code=plain(code[:20]),
        )
    )
    return None
