"""The sentences with which a page opens, chosen so that what the page promises shows in them.

They are our own. Which of them works depends on the weights, so each is for the checkpoints of one recipe;
`tests/test_promises.py` computes that it works.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from model.config.foreign import ForeignConfig
from model.inference.opening import AnyConfig
from viz_app.content.examples import GIVERS, examples_for

__all__ = ["DEMONSTRATIONS", "WITHOUT_ATTENTION", "WITH_ATTENTION", "Demonstration", "demonstration_for"]


@dataclass(frozen=True, kw_only=True)
class Demonstration:
    """For the checkpoints of one recipe."""

    order: str  # Positions: without positions it has another translation
    reordered: str = ""  # the same tokens in an order that means something else
    heads: str  # Heads: a few heads decide its translation
    receiver: str  # Paste a head: one head of the run over the donor, pasted here, changes the translation
    donor: str
    compared: str  # Side by side: the checkpoint that is offered first translates it differently
    look_for: str = ""  # what the two translations teach


WITH_ATTENTION, WITHOUT_ATTENTION = "gru-de-en", "gru-de-en-plain"  # one with attention, one without
TWO_NETWORKS = Demonstration(
    order="",
    heads="Ein brauner Hund rennt durch den Schnee.",
    receiver="",
    donor="",
    compared="Eine Frau mit einem blauen Hut liest auf einer Bank im Park ein Buch, während ihr Hund schläft.",
    look_for="The same network with attention and without. Without it, one vector must hold the whole sentence: "
    "what has become of the hat, the book and the dog?",
)
DEMONSTRATIONS: Mapping[str, Demonstration] = {
    "everyday-en-de": Demonstration(
        order="The boy loves the girl.",
        reordered="The girl loves the boy.",
        heads="My father is cooking and my mother is reading a newspaper.",
        receiver="Where is the hotel?",
        donor="Where is the school?",
        compared="My sister bought a new car last week.",
        look_for="multi30k-en-de has read only captions of photos. Which words does it leave out or invent?",
    ),
    "everyday-de-en": Demonstration(
        order="Die Katze beobachtet die Frau.",
        reordered="Die Frau beobachtet die Katze.",
        heads="Gestern habe ich ein rotes Auto gekauft.",
        receiver="Das ist mein Hund.",
        donor="Das ist dein Hund.",
        compared="Ich weiß nicht, wo sie wohnt.",
        look_for="multi30k-de-en-words has read only captions of photos. What does it make of a sentence without one?",
    ),
    "everyday-en-zh": Demonstration(
        order="The boy loves the girl.",
        reordered="The girl loves the boy.",
        heads="My father is cooking and my mother is reading a newspaper.",
        receiver="Where is the station?",
        donor="When is the train?",
        compared="My sister bought a new car last week.",
        look_for="The same sentence in two languages: where do the verb and the time stand in each?",
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
        look_for="multi30k-en-de has read only captions of photos. Which words does it leave out or invent?",
    ),
    "multi30k-de-en-words": Demonstration(
        order="Die Frau sieht das Mädchen.",
        reordered="Das Mädchen sieht die Frau.",
        heads="Ein Mädchen schiebt einen Jungen auf einer Schaukel an.",
        receiver="Ein Mann sitzt auf einem Stuhl.",
        donor="Ein Mann sitzt auf einer Bank.",
        compared="Ich weiß nicht, wo sie wohnt.",
        look_for="multi30k-de-en-words has read only captions of photos. What does it make of a sentence without one?",
    ),
    WITH_ATTENTION: TWO_NETWORKS,
    WITHOUT_ATTENTION: TWO_NETWORKS,
}


def demonstration_for(config: AnyConfig) -> Demonstration:
    """The sentences for a checkpoint; for one that is not ours, its examples."""
    recipe = "" if isinstance(config, ForeignConfig) else config.recipe
    if found := DEMONSTRATIONS.get(recipe):
        return found
    examples = examples_for(config)
    return Demonstration(
        order=examples[0],
        heads=examples[0],
        receiver=examples[0],
        donor=GIVERS.get(examples[0], examples[-1]),
        compared=examples[0],
    )
