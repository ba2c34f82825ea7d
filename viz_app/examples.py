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

REVIEWS = (
    "A warm and clever film. The story is simple, but the actors are wonderful and I laughed from the first minute to "
    "the last.",
    "What a waste of two hours. The plot makes no sense, the jokes are old and even the music is boring.",
    "I expected nothing and got a small masterpiece: beautiful pictures, a great script, and an ending that stays with "
    "you.",
    "The beginning is good, but then it gets worse and worse. Bad acting, poor dialogue, and no idea how to end.",
    "Not a bad film at all, although it is far too long.",
)
