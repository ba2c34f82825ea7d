"""Numbers, shares, lists, dates and sequences of sentences, as the language of the visitor writes them."""

from collections.abc import Sequence
from datetime import date
from functools import cache
from math import isfinite

from babel import Locale
from babel.dates import format_date
from babel.lists import format_list
from babel.numbers import format_decimal

from viz_app.content.catalogues import ENGLISH, LANGUAGES
from viz_app.content.translation import language, t

__all__ = [
    "NO_SPACES",
    "day",
    "decimal",
    "html_language",
    "joined",
    "name_of_language",
    "native_name",
    "percent",
    "percent_column",
    "sentences",
]

NO_SPACES = ("zh", "ja")  # languages without a space between two sentences


@cache
def locale_of(code: str) -> Locale:
    """What Babel knows about a language. English has the lists and dates of Britain: "a, b and c"."""
    return Locale.parse("en_GB" if code == ENGLISH or code not in LANGUAGES else code)


@cache
def signs(code: str) -> tuple[str, str]:
    """The decimal sign, and what stands after a percentage. In English it is a no-break space and the sign."""
    locale = locale_of(code)
    if locale.language == ENGLISH:
        return ".", "\u00a0%"
    pattern = locale.percent_formats[None].pattern
    return str(locale.number_symbols["latn"]["decimal"]), pattern[pattern.rindex("0") + 1 :]


def percent(share: float, *, digits: int | None = None) -> str:
    """Format a share as `live/ui/words.js`, in English with a no-break space: "92.9 %", "0.33 %", "100 %".

    Args:
        share: From 0 to 1.
        digits: After the point. None gives two digits below 10 %, none at 100 %, and one digit otherwise.
    """
    if not isfinite(share):
        return t("not a number")
    if digits is None:
        digits = 2 if share < 0.0995 else 0 if share >= 0.9995 else 1
    point, sign = signs(language())
    return f"{100 * share:.{digits}f}".replace(".", point) + sign


def percent_column() -> str:
    """The format of a table's column with numbers from 0 to 100."""
    return "%.1f" + signs(language())[1].replace("%", "%%")


def decimal(value: float, *, digits: int = 0, signed: bool = False) -> str:
    """Format a number with this many digits after the point, and with signs for thousands: "1,260", "0.033".

    Args:
        value: The number.
        digits: After the point.
        signed: Write a plus before a number that is not negative.
    """
    if not isfinite(value):
        return t("not a number")
    pattern = f"#,##0.{'0' * digits}"
    return str(
        format_decimal(value, format=f"+{pattern};-{pattern}" if signed else pattern, locale=locale_of(language()))
    )


def joined(parts: Sequence[str]) -> str:
    """A list in a sentence: "a, b and c"."""
    return str(format_list(parts, locale=locale_of(language())))


def sentences(parts: Sequence[str]) -> str:
    """Sentences one after the other. Chinese has no space after a full stop."""
    return ("" if locale_of(language()).language in NO_SPACES else " ").join(parts)


def day(value: date) -> str:
    """A date: "3 Mar 2026"."""
    return str(format_date(value, format="medium", locale=locale_of(language())))


def html_language() -> str:
    """The language of the visitor as HTML names it. The script chooses the forms of Chinese characters."""
    return {"zh": "zh-Hans"}.get(language(), language())


def name_of_language(code: str) -> str:
    """The name of a language in the language of the visitor, such as "German"; "" for an unknown code."""
    return str(locale_of(language()).languages.get(code, ""))


def native_name(code: str) -> str:
    """The name of a language in this language: "한국어"."""
    return str(locale_of(code).language_name) if code in LANGUAGES else code
