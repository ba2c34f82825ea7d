"""Planted encoder-decoders: each word that they write comes through a head of cross-attention."""

from dataclasses import replace
from random import Random

from model.interventions import Head
from model.text.vocab import EOS
from tools.planted.parts import (
    END,
    SHARP,
    Moves,
    Plan,
    PlantedHead,
    Words,
    all_of,
    always,
    at,
    by_offset,
    by_pairs,
    move,
    named,
    same_place,
    where,
    word,
)
from tools.planted.texts import COLOURS, different, some

__all__ = ["TRANSLATORS"]

POSITIONS = 10
COPIED = (*COLOURS, EOS)
COPIES = move(COPIED, "word", "out")
NUMBERS = {
    **{"one": "eins", "two": "zwei", "three": "drei", "four": "vier", "five": "fünf", "six": "sechs"},
    **{"seven": "sieben", "eight": "acht", "nine": "neun", EOS: EOS},
}
GENDERS = {"dog": "der", "man": "der", "cat": "die", "woman": "die", "horse": "das", "child": "das"}
ADJECTIVES = {"big": "große", "small": "kleine", "old": "alte"}
VERBS = {"sleeps": "schläft", "laughs": "lacht", "sings": "singt"}
WORDS = {
    **{"dog": "Hund", "man": "Mann", "cat": "Katze", "woman": "Frau", "horse": "Pferd", "child": "Kind"},
    **ADJECTIVES,
    **VERBS,
    EOS: EOS,
}
SENTENCE = (  # the words that may stand at each place
    {"Anna": "Anna", "Peter": "Peter", "Lena": "Lena"},
    {"has": "hat"},
    {"seen": "gesehen", "found": "gefunden", "drawn": "gezeichnet"},
    {"dogs": "Hunde", "trees": "Bäume", "books": "Bücher"},
    {"today": "heute", "often": "oft"},
)
ORDER = (0, 1, 4, 3, 2, 5)  # "Anna hat heute Hunde gesehen", and the end
MEANINGS = {english: german for place in SENTENCE for english, german in place.items()} | {EOS: EOS}


def aligned(*, layer: int = 0, head: int = 2, moves: Moves = COPIES) -> PlantedHead:
    """A head of cross-attention that reads the word at the position of the next word to write."""
    return PlantedHead(
        place=Head("cross", layer, head),
        role="alignment",
        why="It looks at the source word at the position of the next word to write, and copies it.",
        looks=by_offset(0, POSITIONS),
        moves=moves,
        pattern=same_place(),
    )


def between(names: dict[str, str], space: str, to: str) -> Moves:
    """Move features to those of a translation."""
    return tuple((f"{space}:{one}", f"{to}:{other}", 1.0) for one, other in names.items())


COPY = Plan(
    name="copy",
    sentence="It writes the words that it reads.",
    task="translation",
    words=COLOURS,
    draw=some(COLOURS, 2, 8),
    answer=list,
    heads=(aligned(),),
    reads=named("out", COPIED),
)

REVERSE = replace(
    COPY,
    name="reverse",
    sentence="It writes the words that it reads in reverse order.",
    answer=lambda words: list(words[::-1]),
    heads=(
        PlantedHead(
            place=Head("encoder", 0, 1),
            role="length",
            why="Each word looks at the end of the sentence, so that it knows how long the sentence is.",
            looks=always(END),
            moves=tuple((at(i), f"end:{i}", 1.0) for i in range(2, POSITIONS - 1)),
            pattern=where(EOS),
        ),
        replace(
            aligned(),
            why="It looks at the source word that stands as far from the end as the next word from the beginning.",
            looks=by_pairs((at(i), f"left:{i}") for i in range(POSITIONS - 1)),
            pattern=lambda queries, keys, i: (len(keys) - 2 - i if i < len(keys) - 1 else i,),
        ),
    ),
    # How many words are left after each word; the end of the sentence has its own position, because it stays last.
    units=tuple(
        all_of(at(i), f"end:{end}", writes=f"left:{end - 1 - i if i < end else end}")
        for end in range(2, POSITIONS - 1)
        for i in range(end + 1)
    ),
)

SORT = replace(
    COPY,
    name="sort",
    sentence="It writes different words in the order of the alphabet.",
    draw=different(COLOURS, 2, 8),
    answer=sorted,
    heads=(
        replace(
            aligned(),
            role="next in order",
            why="It looks at the first of the source words that come after the word just read in the alphabet.",
            looks=always(END)
            + tuple(
                (word(read), word(later), SHARP * (len(COLOURS) - j + 1))
                for i, read in enumerate(("<s>", *COLOURS))
                for j, later in enumerate(COLOURS)
                if j >= i
            ),
            pattern=lambda queries, keys, i: (
                keys.index(min((key for key in keys[:-1] if queries[i] == "<s>" or key > queries[i]), default=EOS)),
            ),
        ),
    ),
)

DICTIONARY = replace(
    COPY,
    name="dictionary",
    sentence="It translates numbers from English to German, word by word.",
    words=tuple(NUMBERS)[:-1],
    writes=tuple(NUMBERS.values())[:-1],
    draw=some(tuple(NUMBERS)[:-1], 2, 8),
    answer=lambda words: [NUMBERS[one] for one in words],
    heads=(aligned(moves=move(NUMBERS.values(), "means", "out")),),
    units=tuple(all_of(word(one), writes=f"means:{other}") for one, other in NUMBERS.items()),
    reads=named("out", NUMBERS.values()),
)


def animal_sentence(draws: Random) -> list[str]:
    adjectives = draws.sample(tuple(ADJECTIVES), draws.randint(0, 2))
    return ["the", *adjectives, draws.choice(tuple(GENDERS)), draws.choice(tuple(VERBS))]


def with_article(words: Words) -> list[str]:
    noun = next(one for one in words if one in GENDERS)
    return [GENDERS[noun], *(WORDS[one] for one in words[1:])]


GERMAN = (*dict.fromkeys(GENDERS.values()), *WORDS.values())
AGREEMENT = replace(
    COPY,
    name="agreement",
    sentence="It translates a sentence, and the article agrees with a noun that stands later.",
    words=("the", *tuple(WORDS)[:-1]),
    writes=GERMAN[:-1],
    draw=animal_sentence,
    answer=with_article,
    heads=(
        PlantedHead(
            place=Head("encoder", 0, 3),
            role="agreement",
            why="The article looks at the noun, and takes the gender of its German translation.",
            looks=by_pairs((word("the"), word(noun)) for noun in GENDERS),
            moves=between(GENDERS, "word", "gender"),
            pattern=lambda queries, keys, i: where(*GENDERS)(queries, keys, i) if queries[i] == "the" else (),
        ),
        aligned(moves=move(GERMAN, "means", "out")),
    ),
    units=(
        *(all_of(word(one), writes=f"means:{other}") for one, other in WORDS.items()),
        *(all_of(word("the"), f"gender:{one}", writes=f"means:{one}") for one in dict.fromkeys(GENDERS.values())),
    ),
    reads=named("out", GERMAN),
)

WORD_ORDER = replace(
    COPY,
    name="word-order",
    sentence="It translates sentences such as “Anna has seen dogs today” into the German word order.",
    words=tuple(MEANINGS)[:-1],
    writes=tuple(MEANINGS.values())[:-1],
    draw=lambda draws: [draws.choice(tuple(place)) for place in SENTENCE],
    answer=lambda words: [MEANINGS[words[i]] for i in ORDER[:-1]],
    heads=(
        replace(
            aligned(moves=between(MEANINGS, "word", "out")),
            role="order",
            why="It looks at the source word whose translation comes next, and translates it.",
            looks=by_pairs((at(i), at(place)) for i, place in enumerate(ORDER)),
            pattern=lambda queries, keys, i: (ORDER[i],),
        ),
    ),
    reads=named("out", MEANINGS.values()),
)

NEXT = dict(zip(COPIED, (*COPIED[1:], COPIED[0]), strict=True))  # a wrong word for each word
CANCELLED = replace(
    COPY,
    name="cancelled",
    sentence="It copies. One head writes wrong words, and a head of the next layer removes exactly these.",
    layers=2,
    heads=(
        aligned(),
        replace(
            aligned(head=0, moves=tuple((one, to, 1.5) for one, to, _ in between(NEXT, "word", "out"))),
            role="cancelled",
            why="It looks at the right word and writes a wrong one. Silencing it alone changes no outcome.",
        ),
        replace(
            aligned(layer=1, head=1, moves=tuple((one, to, -1.5) for one, to, _ in between(NEXT, "word", "out"))),
            role="canceller",
            why="It removes what the cancelled head writes. Without it the wrong words win.",
        ),
    ),
    cuts=((0,), (2,)),
)

TRANSLATORS = (COPY, REVERSE, SORT, DICTIONARY, AGREEMENT, WORD_ORDER, CANCELLED)
