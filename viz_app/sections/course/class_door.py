"""How students come into a class: the address of this server as text and as a QR code, and the code of the class."""

from html import escape
from urllib.parse import urljoin

import segno
import streamlit as st

from viz_app.content.numbers import joined
from viz_app.content.plain import plain
from viz_app.content.translation import t
from viz_app.server.addresses import addresses_for_others
from viz_app.session.links import PARAMETER, link

__all__ = ["class_door", "closed_to_others"]


def addresses() -> tuple[tuple[str, ...], str]:
    url = st.context.url or f"http://localhost:{st.get_option('server.port')}/"  # a client may send none
    return addresses_for_others(url, st.get_option("server.address"))


def closed_to_others() -> None:
    """Warn where no other computer reaches this server."""
    if limit := addresses()[1]:
        st.warning(limit)


def class_door(code: str) -> None:
    """Draw the code of a class, and where to type it.

    Args:
        code: The code of the class.
    """
    reachable, limit = addresses()
    if limit:
        st.warning(limit)
        st.markdown(t("Students type the code of the class on the page **Start here**:"))
        st.header(code, anchor=False)
        return
    first, *others = [urljoin(address, "start") for address in reachable]
    picture, words = st.columns([1, 3], vertical_alignment="center")
    with picture:
        draw_qr(link(first, ((PARAMETER, code),)))
    with words:
        st.markdown(t("Students scan the picture, or open this address:"))
        st.header(plain(first), anchor=False)
        if others:
            st.caption(
                t("This computer is in several networks. Other addresses: {addresses}", addresses=joined(others))
            )
        st.markdown(t("There they type the code of the class:"))
        st.header(code, anchor=False)


def draw_qr(address: str) -> None:
    picture = segno.make(address, error="m").svg_data_uri(scale=4, dark="#000000", light="#ffffff")
    alt = escape(t("QR code of the address {address}", address=address), quote=True)
    st.html(f'<img src="{escape(picture, quote=True)}" alt="{alt}" style="width:100%;max-width:16rem">')
