"""Examples for our tiny models, which know only the words of our stories (`weights/stories/`)."""

from model.config.foreign import ForeignConfig

__all__ = [
    "STORY_BATCHES",
    "STORY_BEGINNINGS",
    "STORY_DONORS",
    "STORY_MASKED",
    "STORY_MASKED_DONOR",
    "knows_stories",
]

STORY_BEGINNINGS = (
    "When Tom and Anna went to the park, Tom gave a ball to",
    "The dogs in front of the house",
    "Mia has a cat. The cat is called Luna. Luna is",
    'Paul says: "moon river stone apple king." Eva says it again: "moon river',
    "Lily is hungry. Her mother cooks soup. She puts",
)
STORY_MASKED = (  # {} becomes the mask token of the model
    "The dogs near the tree {} hungry.",
    "The {} near the tree are hungry.",
    "The horse went back to its {}.",
    "Mia is hungry. {} mother cooks soup.",
    "Dogs {}. Cats meow.",
)
# As `DONORS` and `MASKED_DONOR`: the other person gives the ball, and one dog is hungry.
STORY_DONORS = {STORY_BEGINNINGS[0]: "When Tom and Anna went to the park, Anna gave a ball to"}
STORY_MASKED_DONOR = "The dog near the tree {} hungry."
# As `BATCHES`: texts of different lengths, so that the batch has padding.
STORY_BATCHES = {
    "beginnings": (
        "The dog",
        "Paul lost a red ball. He looked behind the tree, but the ball was not there. Then",
        "Anna and Ben are",
        "Today is Monday, and tomorrow is Tuesday. On Monday, Tom",
    ),
    "masked": (
        "A dog {}.",
        "Paul lost a red ball. He looked behind the {}, but the ball was not there. Then he found it in the garden.",
        "Anna and Ben are {}.",
        "Today is Monday, and tomorrow is {}. On Monday, Tom goes to the park.",
    ),
}


def knows_stories(config: object) -> bool:
    """Whether a model has learned from our stories: the `config.json` of our tiny models says so."""
    return isinstance(config, ForeignConfig) and config.values.get("corpus") == "stories"
