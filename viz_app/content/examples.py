"""Example sentences, and the sentences with which pages open, written for Headlight. `examples.toml` holds them.

A page opens with the first example of its list. Some open with a demonstration: a sentence that is chosen so that the
effect that the page promises is visible. `tests/test_promises.py` computes every promised effect.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model.config.foreign import ForeignConfig
from model.config.section import Section
from model.corpora.corpora import TATOEBA
from model.inference.opening import AnyConfig

__all__ = [
    *("BATCHES", "CAPTIONS", "DEMONSTRATIONS", "DONORS", "EVERYDAY", "MASKED_DONOR", "MORE", "PURPOSES", "REVIEWS"),
    *("REVIEW_DONOR", "REVIEW_RECEIVER", "SHORT_REVIEWS", "STORY_BEGINNINGS", "STORY_MASKED", "STORY_MASKED_DONOR"),
    *("TOY_EXAMPLES", "WITHOUT_ATTENTION", "WITH_ATTENTION", "Demonstration", "batch_examples", "demonstration_for"),
    *("examples_for", "knows_stories", "offered_examples"),
]

TABLES: Mapping[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


@dataclass(frozen=True, kw_only=True)
class Demonstration(Section):
    """The opening sentences for the checkpoints of one recipe; "" where a page has no use for one."""

    order: str = ""  # Positional encoding: the translation changes without positions
    reordered: str = ""  # the same tokens in an order that means something else
    heads: str  # Heads: a few heads decide the translation
    receiver: str = ""  # Patch a head: one head's output for the donor changes the translation of the receiver
    donor: str = ""
    compared: str  # Side by side: the checkpoint that is offered first writes a different translation
    look_for: str = ""  # what the two translations show; marked for translation


def lists(name: str) -> dict[str, tuple[str, ...]]:
    """The lists of a table, such as the captions by their language."""
    return {key: tuple(value) for key, value in TABLES[name].items()}


CAPTIONS, EVERYDAY, MORE, TOY_EXAMPLES = map(lists, ("captions", "everyday", "more", "toy_examples"))
BATCHES, STORY_BATCHES = map(lists, ("batches", "story_batches"))
REVIEWS, SHORT_REVIEWS = tuple(TABLES["reviews"]), tuple(TABLES["short_reviews"])
BEGINNINGS, STORY_BEGINNINGS = tuple(TABLES["beginnings"]), tuple(TABLES["story_beginnings"])
MASKED, STORY_MASKED = tuple(TABLES["masked"]), tuple(TABLES["story_masked"])
MASKED_DONOR, STORY_MASKED_DONOR = str(TABLES["masked_donor"]), str(TABLES["story_masked_donor"])
REVIEW_RECEIVER, REVIEW_DONOR = str(TABLES["review_receiver"]), str(TABLES["review_donor"])
DONORS: Mapping[str, str] = TABLES["donors"]
# (source, target) → sentence → what to look for in its translation, marked for translation.
PURPOSES: Mapping[tuple[str, ...], Mapping[str, str]] = {
    tuple(pair.split("-")): one for pair, one in TABLES["purposes"].items()
}
DEMONSTRATIONS = {  # by recipe
    recipe: Demonstration.from_dict({**one, "look_for": TABLES["look_for"].get(one.get("look_for"), "")})
    for recipe, one in TABLES["demonstrations"].items()
}
WITH_ATTENTION, WITHOUT_ATTENTION = "gru-de-en", "gru-de-en-plain"  # the same network, with attention and without
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


def demonstration_for(config: AnyConfig) -> Demonstration:
    """Return the opening sentences of a checkpoint: its recipe's, or its examples where the recipe has none."""
    recipe = "" if isinstance(config, ForeignConfig) else config.recipe
    if prepared := DEMONSTRATIONS.get(recipe):
        return prepared
    if config.task == "classification":
        return Demonstration(heads=REVIEWS[0], receiver=REVIEW_RECEIVER, donor=REVIEW_DONOR, compared=REVIEWS[0])
    examples = examples_for(config)
    mask = getattr(config.tokenizer, "mask", "") if config.task == "reading" else ""
    masked_donor = STORY_MASKED_DONOR if knows_stories(config) else MASKED_DONOR
    return Demonstration(
        order=examples[0],
        heads=examples[0],
        receiver=examples[0],
        donor=masked_donor.format(mask) if mask else DONORS.get(examples[0], examples[-1]),
        compared=examples[0],
    )
