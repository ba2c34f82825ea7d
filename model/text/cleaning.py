"""One form for each text, so that a model reads what it has learned, however a text was typed or copied.

Training texts and typed texts pass here, in the tokenizers of our own checkpoints. `live/engine/text/cleaning.js` does
the same in JavaScript. Full-width letters and signs stay: Chinese texts are written with them.
"""

import re
import unicodedata
from typing import TYPE_CHECKING

from model.messages import N_

if TYPE_CHECKING:
    from tokenizers.normalizers import Normalizer

__all__ = ["as_normalizer", "changes", "clean", "cleaning_note"]

# What happens, a pattern for the characters, and what replaces them.
STEPS = (
    (N_("line breaks of other kinds became ordinary ones"), "\r\n?|[\v\f\x85\u2028\u2029]", "\n"),
    (N_("unusual spaces became ordinary ones"), "[\t\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]", " "),
    (
        N_("invisible characters were removed"),
        "[\0-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
        "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]",
        "",
    ),
    (N_("characters without a meaning became \ufffd"), "[\ud800-\udfff]", "\ufffd"),
)
COMPOSED = N_("accents were joined with their letters")


def clean(text: str) -> str:
    """The text as our own checkpoints read it: composed (NFC), with ordinary spaces, without invisible characters."""
    for _, pattern, replacement in STEPS:
        text = re.sub(pattern, replacement, text)
    return unicodedata.normalize("NFC", text).strip()


def changes(text: str) -> tuple[str, ...]:
    """What `clean` changes in a text, beside spaces at its ends, as parts of a sentence."""
    inside = text.strip(" \n")
    found = tuple(name for name, pattern, _ in STEPS if re.search(pattern, inside))
    return found if unicodedata.is_normalized("NFC", inside) else (*found, COMPOSED)


def cleaning_note(text: str) -> str:
    """A sentence about what `clean` changes in a text; empty if it changes nothing."""
    found = changes(text)
    return f"The model reads a cleaned text: {', '.join(found)}." if found else ""


def as_normalizer() -> "Normalizer":
    """`clean`, except for the ends, as a part of a tokenizer of Hugging Face's library."""
    from tokenizers import Regex, normalizers

    # Its texts are UTF-8, so none has half characters.
    replaced = [normalizers.Replace(Regex(pattern), replacement) for _, pattern, replacement in STEPS[:-1]]
    return normalizers.Sequence([*replaced, normalizers.NFC()])
