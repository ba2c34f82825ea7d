"""Models of many languages (M2M100, NLLB, mBART): one token names the source language, another the target language."""

import re
from collections.abc import Iterable
from dataclasses import replace

from model.checkpoints.checkpoint import Checkpoint
from model.config.foreign import ForeignConfig
from model.config.section import require

__all__ = ["code_of", "short_code", "tag", "usual_languages", "with_languages"]

NAMES = re.compile(r"__([a-z]{2,3})__|([a-z]{2,3}_[A-Z]{2}|[a-z]{3}_[A-Z][a-z]{3})")  # __de__; de_DE, deu_Latn
# NLLB's code of three letters → the code of two letters that people usually look for.
SHORT = {
    **{"arb": "ar", "ces": "cs", "dan": "da", "deu": "de", "ell": "el", "eng": "en", "spa": "es", "fin": "fi"},
    **{"fra": "fr", "heb": "he", "hin": "hi", "hun": "hu", "ita": "it", "jpn": "ja", "kor": "ko", "nld": "nl"},
    **{"pol": "pl", "por": "pt", "ron": "ro", "rus": "ru", "swe": "sv", "tur": "tr", "ukr": "uk", "vie": "vi"},
    "zho": "zh",
}


def code_of(token: str) -> str:
    """The language of a special token, written as in its model; "" for other tokens."""
    found = NAMES.fullmatch(token)
    return (found[1] or found[2]) if found else ""


def short_code(code: str) -> str:
    """The code of two letters if we know it: `eng_Latn` and `en_XX` are both en."""
    letters = code.partition("_")[0]
    return SHORT.get(letters, letters)


def tag(code: str) -> str:
    """The language of a text for HTML (BCP 47); "" for a toy language."""
    short = short_code(code)
    return short if re.fullmatch(r"[a-z]{2,3}", short) else ""


def usual_languages(config: ForeignConfig) -> tuple[str, str]:
    """The default languages of a model with many languages: those in its files, or English and German.

    Raises:
        ConfigError: the model has only one pair of languages.
    """
    codes = list(config.tokenizer.languages)
    require(bool(codes), "This model has no languages to choose from.")

    def first(*names: str) -> str:
        return next((code for name in names for code in codes if name and name in (code, short_code(code))), codes[0])

    return first(config.tokenizer.source_language, "en"), first(config.tokenizer.target_language, "de", "fr")


def with_languages(checkpoint: Checkpoint, source: str, target: str) -> Checkpoint:
    """The same model with another source and target language.

    Args:
        checkpoint: A model with many languages. Other models are returned unchanged.
        source: One of its languages.
        target: One of its languages.

    Raises:
        ConfigError: the model does not have these languages.
    """
    config, pair = checkpoint.config, checkpoint.tokenizers
    if not isinstance(config, ForeignConfig) or not config.tokenizer.languages:
        return checkpoint
    ids = config.tokenizer.languages
    require(
        {source, target} <= set(ids),
        "This model cannot translate from {source} to {target}. Its languages are {languages}.",
        source=source,
        target=target,
        languages=", ".join(ids),
    )

    def with_source(tokens: Iterable[int]) -> tuple[int, ...]:
        return tuple(ids[source] if i in ids.values() else i for i in tokens)

    before, after = with_source(pair.specials.before), with_source(pair.specials.after)
    specials = replace(pair.specials, before=before, after=after, first=ids[target])
    texts = replace(config.tokenizer, source_language=short_code(source), target_language=short_code(target))
    return replace(checkpoint, tokenizers=replace(pair, specials=specials), config=replace(config, tokenizer=texts))
