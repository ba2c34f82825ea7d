"""Example sentences of our own, by source language. The first of each is what a newcomer sees."""

EXAMPLES = {
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

# Sentences of different lengths, so that a padded batch has something to hide.
BATCHES = {
    "en": ("A dog runs.", "Two children are playing in the sand.", "A woman reads a book."),
    "de": ("Ein Hund rennt.", "Zwei Kinder spielen im Sand.", "Eine Frau liest ein Buch."),
}
