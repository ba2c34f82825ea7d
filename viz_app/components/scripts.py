"""Our own JavaScript and styles, as the app and a report send them to a browser."""

from functools import cache
from pathlib import Path

__all__ = ["ASSETS", "asset", "scoped"]

ASSETS = Path(__file__).parent / "assets"


@cache
def asset(*names: str) -> str:
    """The text of files in `assets/`, one after the other."""
    return "\n".join((ASSETS / name).read_text(encoding="utf-8") for name in names)


def scoped(*names: str) -> str:
    """An object of JavaScript: the name of each of these components → its function, in a scope of its own."""
    own = (
        f"{name}: (() => {{\n{asset(f'{name}.js').replace('export default function', 'return function', 1)}}})()"
        for name in names
    )
    return f"{{{', '.join(own)}}}"
