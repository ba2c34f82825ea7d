"""Models of many languages (M2M100, NLLB, mBART): one token says in which a text is, another into which it goes."""

import re
from collections.abc import Iterable
from dataclasses import replace

from model.checkpoints.checkpoint import Checkpoint
from model.config.foreign import ForeignConfig

__all__ = ["between", "code_of", "short_code", "tag", "usual_languages"]

NAMES = re.compile(r"__([a-z]{2,3})__|([a-z]{2,3}_[A-Z]{2}|[a-z]{3}_[A-Z][a-z]{3})")  # __de__; de_DE, deu_Latn
# Of NLLB's codes of three letters: that of two letters, where there is one and people are likely to look for it.
SHORT = {
    **{"arb": "ar", "ces": "cs", "dan": "da", "deu": "de", "ell": "el", "eng": "en", "spa": "es", "fin": "fi"},
    **{"fra": "fr", "heb": "he", "hin": "hi", "hun": "hu", "ita": "it", "jpn": "ja", "kor": "ko", "nld": "nl"},
    **{"pol": "pl", "por": "pt", "ron": "ro", "rus": "ru", "swe": "sv", "tur": "tr", "ukr": "uk", "vie": "vi"},
    "zho": "zh",
}


def code_of(token: str) -> str:
    """The language that a special token stands for, as its model writes it; "" where it stands for none."""
    found = NAMES.fullmatch(token)
    return (found[1] or found[2]) if found else ""


def short_code(code: str) -> str:
    """The code of two letters where we know it: `eng_Latn` and `en_XX` are both en."""
    letters = code.partition("_")[0]
    return SHORT.get(letters, letters)


def tag(code: str) -> str:
    """How a page says in which language a text is (BCP 47); "" of what is none, as the letters of a toy."""
    short = short_code(code)
    return short if re.fullmatch(r"[a-z]{2,3}", short) else ""


def usual_languages(config: ForeignConfig) -> tuple[str, str]:
    """What a model of many languages reads and writes until one chooses: what its files say, else English and German.

    Raises:
        ValueError: it is of one pair.
    """
    codes = list(config.tokenizer.languages)
    if not codes:
        raise ValueError("This model has no languages to choose from.")

    def first(*wishes: str) -> str:
        return next((code for wish in wishes for code in codes if wish and wish in (code, short_code(code))), codes[0])

    return first(config.tokenizer.source_language, "en"), first(config.tokenizer.target_language, "de", "fr")


def between(checkpoint: Checkpoint, source: str, target: str) -> Checkpoint:
    """The same model, reading one language and writing another.

    Args:
        checkpoint: Of many languages; one of few is returned as it is.
        source: One of its languages.
        target: Another, or the same.

    Raises:
        ValueError: it has no such language.
    """
    config, pair = checkpoint.config, checkpoint.tokenizers
    if not isinstance(config, ForeignConfig) or not config.tokenizer.languages:
        return checkpoint
    ids = config.tokenizer.languages
    if not {source, target} <= set(ids):
        raise ValueError(f"{source} and {target} should be among {', '.join(ids)}.")

    def told(tokens: Iterable[int]) -> tuple[int, ...]:
        return tuple(ids[source] if i in ids.values() else i for i in tokens)

    specials = pair.specials
    specials = replace(specials, before=told(specials.before), after=told(specials.after), first=ids[target])
    texts = replace(config.tokenizer, source_language=short_code(source), target_language=short_code(target))
    return replace(checkpoint, tokenizers=replace(pair, specials=specials), config=replace(config, tokenizer=texts))
