"""Example sentences, written for Headlight. `examples.toml` holds them; a page opens with the first one of its list."""

import tomllib
from pathlib import Path

from model.config.foreign import ForeignConfig
from model.corpora.corpora import TATOEBA
from model.inference.opening import AnyConfig
from viz_app.content.purposes import PURPOSES

__all__ = [
    "BATCHES",
    "CAPTIONS",
    "DONORS",
    "EVERYDAY",
    "MASKED_DONOR",
    "MORE",
    "REVIEWS",
    "REVIEW_DONOR",
    "REVIEW_RECEIVER",
    "SHORT_REVIEWS",
    "STORY_BEGINNINGS",
    "STORY_MASKED",
    "STORY_MASKED_DONOR",
    "TOY_EXAMPLES",
    "batch_examples",
    "examples_for",
    "knows_stories",
    "offered_examples",
]

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} in examples.toml is not a text.")
    return value


def texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise ValueError(f"{value!r} in examples.toml is not a list of texts.")
    return tuple(map(text, value))


def lists(name: str) -> dict[str, tuple[str, ...]]:
    """The lists of a table, such as the captions by their language."""
    return {key: texts(value) for key, value in TABLES[name].items()}


CAPTIONS, EVERYDAY, MORE, TOY_EXAMPLES = map(lists, ("captions", "everyday", "more", "toy_examples"))
BATCHES, STORY_BATCHES = map(lists, ("batches", "story_batches"))
REVIEWS, SHORT_REVIEWS = texts(TABLES["reviews"]), texts(TABLES["short_reviews"])
BEGINNINGS, STORY_BEGINNINGS = texts(TABLES["beginnings"]), texts(TABLES["story_beginnings"])
MASKED, STORY_MASKED = texts(TABLES["masked"]), texts(TABLES["story_masked"])
MASKED_DONOR, STORY_MASKED_DONOR = text(TABLES["masked_donor"]), text(TABLES["story_masked_donor"])
REVIEW_RECEIVER, REVIEW_DONOR = text(TABLES["review_receiver"]), text(TABLES["review_donor"])
DONORS = {example: text(donor) for example, donor in TABLES["donors"].items()}
EVERYDAY_CORPORA, CAPTION_CORPORA = set(TATOEBA), {"multi30k", "3am"}


def knows_stories(config: object) -> bool:
    """Whether a model has learned from our stories: the `config.json` of our tiny models says so."""
    return isinstance(config, ForeignConfig) and config.values.get("corpus") == "stories"


def examples_for(config: AnyConfig) -> tuple[str, ...]:
    """Examples that fit a checkpoint's training data or task, in its source language."""
    language = config.tokenizer.source_language
    captions = CAPTIONS.get(language, CAPTIONS["en"])
    if isinstance(config, ForeignConfig):
        stories, mask = knows_stories(config), config.tokenizer.mask
        if config.task == "continuation":
            return STORY_BEGINNINGS if stories else BEGINNINGS
        gaps = STORY_MASKED if stories else MASKED
        masked = tuple(one.format(mask) for one in gaps) if mask and config.task == "reading" else ()
        return (*masked, *EVERYDAY.get(language, EVERYDAY["en"]))[:5]
    if language in TOY_EXAMPLES:
        return TOY_EXAMPLES[language]
    corpora = config.train.corpora
    everyday = EVERYDAY.get(language, ())
    if not everyday or not EVERYDAY_CORPORA & set(corpora):
        return captions
    return (*everyday[:3], *captions[:2]) if CAPTION_CORPORA & set(corpora) else everyday


def batch_examples(config: AnyConfig) -> tuple[str, tuple[str, ...]]:
    """The name of a list in `BATCHES` that fits a checkpoint, and its sentences."""
    language, mask = config.tokenizer.source_language, getattr(config.tokenizer, "mask", "")
    by_task = {"continuation": "beginnings", "classification": "reviews", "reading": "masked" if mask else "en"}
    name = by_task.get(config.task, language if language in BATCHES else "en")
    sentences = (STORY_BATCHES if knows_stories(config) else BATCHES)[name]
    return name, tuple(one.format(mask) for one in sentences)


def offered_examples(config: AnyConfig) -> tuple[str, ...]:
    """Return `examples_for`, and the sentences of `PURPOSES` for a model of everyday sentences."""
    examples = examples_for(config)
    if isinstance(config, ForeignConfig) or not EVERYDAY_CORPORA & set(config.train.corpora):
        return examples
    return (*examples, *PURPOSES.get((config.tokenizer.source_language, config.tokenizer.target_language), ()))
