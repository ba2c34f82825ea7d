"""Names for the languages of models, in the language of the visitor."""

from model.checkpoints.languages import short_code
from viz_app.content.numbers import name_of_language
from viz_app.content.translation import N_, t

__all__ = ["language_label", "language_name"]

# What a toy task reads and writes, used like languages.
TOY_SIDES = {
    "letters": N_("letters"),
    "reversed": N_("reversed"),
    "copied": N_("copied"),
    "sorted": N_("sorted"),
    "dates": N_("dates"),
    "digits": N_("digits"),
}


def language_name(code: str) -> str:
    """The name of a language, or its code where we have no name."""
    return t(TOY_SIDES[code]) if code in TOY_SIDES else name_of_language(code) or code


def language_label(code: str) -> str:
    """Name and code of a language as a model spells it, such as "German (deu_Latn)"."""
    name = name_of_language(short_code(code))
    return t("{language} ({code})", language=name, code=code) if name else code
