"""The sentences that a page opens with, chosen so that the effect that the page promises is visible.

All sentences are our own. The effect depends on the weights, so each recipe has its own sentences.
`tests/test_promises.py` computes every promised effect.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from model.config.foreign import ForeignConfig
from model.inference.opening import AnyConfig
from viz_app.content.examples import DONORS, MASKED_DONOR, REVIEW_DONOR, REVIEW_RECEIVER, REVIEWS, examples_for
from viz_app.content.story_examples import STORY_MASKED_DONOR, knows_stories
from viz_app.content.translation import N_

__all__ = ["DEMONSTRATIONS", "WITHOUT_ATTENTION", "WITH_ATTENTION", "Demonstration", "demonstration_for"]


@dataclass(frozen=True, kw_only=True)
class Demonstration:
    """The opening sentences for the checkpoints of one recipe; "" where a page has no use for one."""

    order: str = ""  # Positional encoding: the translation changes without positions
    reordered: str = ""  # the same tokens in an order that means something else
    heads: str  # Heads: a few heads decide the translation
    receiver: str = ""  # Patch a head: one head's output for the donor changes the translation of the receiver
    donor: str = ""
    compared: str  # Side by side: the checkpoint that is offered first writes a different translation
    look_for: str = ""  # what the two translations show; marked for translation


WITH_ATTENTION, WITHOUT_ATTENTION = "gru-de-en", "gru-de-en-plain"  # the same network, with attention and without
CAPTIONS_EN_DE = N_("multi30k-en-de has read only captions of photos. Which words does it leave out or invent?")
CAPTIONS_DE_EN = N_(
    "multi30k-de-en-words has read only captions of photos. What does it write for a sentence that is not a caption?"
)
ONE_VECTOR = N_(
    "The same network with attention and without. Without attention, one vector must hold the whole sentence. Look for "
    "the hat, the book and the dog in both translations."
)
WORD_ORDER = N_("The same sentence in two languages. Where are the verb and the time in each?")

DEMONSTRATIONS: Mapping[str, Demonstration] = {
    "everyday-en-de": Demonstration(
        order="The boy loves the girl.",
        reordered="The girl loves the boy.",
        heads="My father is cooking and my mother is reading a newspaper.",
        receiver="Where is the hotel?",
        donor="Where is the school?",
        compared="My sister bought a new car last week.",
        look_for=CAPTIONS_EN_DE,
    ),
    "everyday-de-en": Demonstration(
        order="Die Katze beobachtet die Frau.",
        reordered="Die Frau beobachtet die Katze.",
        heads="Gestern habe ich ein rotes Auto gekauft.",
        receiver="Das ist mein Hund.",
        donor="Das ist dein Hund.",
        compared="Ich weiß nicht, wo sie wohnt.",
        look_for=CAPTIONS_DE_EN,
    ),
    "everyday-en-zh": Demonstration(
        order="The boy loves the girl.",
        reordered="The girl loves the boy.",
        heads="My father is cooking and my mother is reading a newspaper.",
        receiver="Where is the station?",
        donor="When is the train?",
        compared="My sister bought a new car last week.",
        look_for=WORD_ORDER,
    ),
    "everyday-zh-en": Demonstration(
        order="我等他。",
        reordered="他等我。",
        heads="她写的信很长。",
        receiver="今天很热。",
        donor="今天很冷。",
        compared="下一班火车几点开？",
    ),
    "multi30k-en-de": Demonstration(
        order="The mother calls the child.",
        reordered="The child calls the mother.",
        heads="The woman gives the man a book.",
        receiver="A man is holding a dog.",
        donor="A man is holding a baby.",
        compared="My sister bought a new car last week.",
        look_for=CAPTIONS_EN_DE,
    ),
    "multi30k-de-en-words": Demonstration(
        order="Die Frau sieht das Mädchen.",
        reordered="Das Mädchen sieht die Frau.",
        heads="Ein Mädchen schiebt einen Jungen auf einer Schaukel an.",
        receiver="Ein Mann sitzt auf einem Stuhl.",
        donor="Ein Mann sitzt auf einer Bank.",
        compared="Ich weiß nicht, wo sie wohnt.",
        look_for=CAPTIONS_DE_EN,
    ),
    **dict.fromkeys(
        (WITH_ATTENTION, WITHOUT_ATTENTION),
        Demonstration(
            heads="Ein brauner Hund rennt durch den Schnee.",
            compared="Eine Frau mit einem blauen Hut liest auf einer Bank im Park ein Buch, während ihr Hund schläft.",
            look_for=ONE_VECTOR,
        ),
    ),
}


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
