"""Example sentences of our own. The first of each is what a newcomer sees."""

from model.checkpoint import CheckpointConfig

__all__ = ["BATCHES", "CAPTIONS", "EVERYDAY", "REVIEWS", "examples_for"]

# By source language; all as many, so that a visitor who changes the checkpoint stays at the same place of the list.
CAPTIONS = {
    "en": (
        "A brown dog is running through the snow.",
        "Two children are building a sandcastle on the beach.",
        "A woman in a red coat is waiting at the bus stop.",
        "An old man plays the guitar while people watch him.",
        "Three cyclists ride down a narrow street in the rain.",
    ),
    "de": (
        "Ein brauner Hund rennt durch den Schnee.",
        "Zwei Kinder bauen eine Sandburg am Strand.",
        "Eine Frau in einem roten Mantel wartet an der Bushaltestelle.",
        "Ein alter Mann spielt Gitarre, während ihm Leute zuschauen.",
        "Drei Radfahrer fahren im Regen eine enge Straße hinunter.",
    ),
}

EVERYDAY = {
    "en": (
        "Where is the station?",
        "My sister bought a new car last week.",
        "It was raining, so we stayed at home.",
        "What are you going to do tomorrow?",
        "I have never been to Berlin.",
    ),
}

# Sentences of different lengths, so that a padded batch has something to hide.
BATCHES = {
    "en": ("A dog runs.", "Two children are playing in the sand.", "A woman reads a book."),
    "de": ("Ein Hund rennt.", "Zwei Kinder spielen im Sand.", "Eine Frau liest ein Buch."),
}

REVIEWS = (
    "A warm and clever film. The story is simple, but the actors are wonderful and I laughed from the first minute to "
    "the last.",
    "What a waste of two hours. The plot makes no sense, the jokes are old and even the music is boring.",
    "I expected nothing and got a small masterpiece: beautiful pictures, a great script, and an ending that stays with "
    "you.",
    "The beginning is good, but then it gets worse and worse. Bad acting, poor dialogue, and no idea how to end.",
    "Not a bad film at all, although it is far too long.",
)


def examples_for(config: CheckpointConfig) -> tuple[str, ...]:
    """Sentences of the kind that a translator was trained on, in its source language."""
    language, corpora = config.tokenizer.source_language, config.train.corpora
    captions = CAPTIONS.get(language, CAPTIONS["en"])
    everyday = EVERYDAY.get(language, ())
    if not everyday or not {"cmn-eng", "deu-eng"} & set(corpora):
        return captions
    return (*everyday[:3], *captions[:2]) if "multi30k" in corpora else everyday
