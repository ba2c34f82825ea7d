"""The sentences that a page opens with, chosen so that the effect that the page promises is visible.

`demonstrations.toml` holds them, for the checkpoints of each recipe. `tests/test_promises.py` computes every promised
effect.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from model.config.foreign import ForeignConfig
from model.config.section import Section
from model.inference.opening import AnyConfig
from viz_app.content.examples import (
    DONORS,
    MASKED_DONOR,
    REVIEW_DONOR,
    REVIEW_RECEIVER,
    REVIEWS,
    STORY_MASKED_DONOR,
    examples_for,
    knows_stories,
)
from viz_app.content.translation import N_

__all__ = ["DEMONSTRATIONS", "WITHOUT_ATTENTION", "WITH_ATTENTION", "Demonstration", "demonstration_for"]


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


WITH_ATTENTION, WITHOUT_ATTENTION = "gru-de-en", "gru-de-en-plain"  # the same network, with attention and without
LOOK_FOR = {
    "captions-en-de": N_("multi30k-en-de has read only captions of photos. Which words does it leave out or invent?"),
    "captions-de-en": N_(
        "multi30k-de-en-words has read only captions of photos. "
        "What does it write for a sentence that is not a caption?"
    ),
    "one-vector": N_(
        "The same network with attention and without. Without attention, one vector must hold the whole sentence. "
        "Look for the hat, the book and the dog in both translations."
    ),
    "word-order": N_("The same sentence in two languages. Where are the verb and the time in each?"),
}


def read_demonstrations() -> Mapping[str, Demonstration]:
    """Recipe → its opening sentences.

    Raises:
        ValueError: the file contradicts `Demonstration`. The message names what is wrong.
    """
    read = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    marked = ({**one, "look_for": LOOK_FOR[one["look_for"]]} if "look_for" in one else one for one in read.values())
    return dict(zip(read, map(Demonstration.from_dict, marked), strict=True))


DEMONSTRATIONS = read_demonstrations()


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
