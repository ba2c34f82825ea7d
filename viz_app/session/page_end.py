"""How a page ends before its last line."""

from typing import NoReturn

__all__ = ["PageEnded", "end_page"]


class PageEnded(Exception):  # noqa: N818 - nothing is wrong
    """A page has said all that it has to say."""


def end_page() -> NoReturn:
    """Leave out the rest of the page, and let the router go on: `st.stop` would end that too, before the choices of
    the visitor are written into the URL.
    """
    raise PageEnded
