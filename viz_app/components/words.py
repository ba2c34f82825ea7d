"""The words of our JavaScript in the language of the visitor.

A script marks a text with `say("…")` of `assets/words.js`, or with `N_("…")` where another place shows it. Its
translation travels with the data of the component. A long text is several literals with a plus between them.
"""

import json
import re
from functools import cache

from viz_app.components.bundle import modules
from viz_app.content.catalogues import ENGLISH
from viz_app.content.translation import language, t

__all__ = ["SAY", "marked_in", "text_of", "words_of"]

LITERAL = r'"(?:[^"\\\n]|\\.)*"'
SAY = re.compile(rf"\b(?:say|N_)\(\s*({LITERAL}(?:\s*\+\s*{LITERAL})*)")


def marked_in(script: str) -> list[str]:
    """The texts that a script marks, in the order of the script."""
    return [text_of(literals) for literals in SAY.findall(script)]


def text_of(literals: str) -> str:
    """The text of one literal, or of several with a plus between them."""
    return "".join(json.loads(one) for one in re.findall(LITERAL, literals))


@cache
def texts_of(*names: str) -> tuple[str, ...]:
    scripts = {path: text for name in names for path, text in modules(f"assets/{name}.js").items()}
    return tuple(dict.fromkeys(text for script in scripts.values() for text in marked_in(script)))


def words_of(*names: str) -> dict[str, str]:
    """English → translation, for these modules of `assets/` and all that they import, and "" → the language."""
    used = language()
    return {"": used} | ({} if used == ENGLISH else {text: t(text) for text in texts_of(*names)})
