"""A language for tests: English with accents, in brackets, and about a third longer.

A text without brackets was not translated. A text that does not fit in this language will not fit in another.
"""

import re

__all__ = ["PSEUDO", "Pseudo"]

PSEUDO = "en-XA"
ACCENTS = str.maketrans("ACDEGHIKLNORSTUYZacdeghiklnorstuyz", "ÁČĎÉĜĤÍĶĽŇÓŘŠŤÚÝŽáčďéĝĥíķľňóřšťúýž")
# What has a meaning for a program keeps its letters: values, code, formulas, icons, links, marks of HTML.
KEPT = re.compile(r"(\{\w+\}|`[^`]*`|\$[^$]*\$|:material/\w+:|\]\([^)]*\)|<[^<>]*>|&\w+;)")


class Pseudo:
    """Translations into this language, made when they are needed."""

    def text(self, text: str, context: str | None = None) -> str:
        """The text with accents, longer, and in brackets."""
        parts = KEPT.split(text)
        parts[::2] = [part.translate(ACCENTS) for part in parts[::2]]
        longer = "~" * max(2, len(text) * 3 // 10)
        return f"[{''.join(parts)} {longer}]"

    def counted(self, one: str, many: str, n: int) -> str:
        """The text for `n` things."""
        return self.text(one if n == 1 else many)
