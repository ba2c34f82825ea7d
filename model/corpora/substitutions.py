"""Names, numbers and symbols that can replace each other on both sides of an English and German sentence pair."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from model.corpora import phrasebook
from model.corpora.overlap import Pair

__all__ = ["EMOJI", "GERMAN", "NAMES", "NUMBER_WORDS", "TEMPLATES", "Substitutions", "words"]


def words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


@dataclass(frozen=True, kw_only=True)
class Substitutions:
    """Replacements for English and another language. All pairs are (English, other language)."""

    language: str
    names: Mapping[str, Sequence[Pair]]  # a name is replaced by another name of its row, so that "his" stays right
    number_words: tuple[Sequence[str], Sequence[str]]  # the same numbers at the same positions
    templates: Sequence[Pair]  # sentences with slots: rows, {hour}, {minute}, {phone}, {year}, {small}
    rows: Mapping[str, Sequence[Pair]]  # other words for the slots
    spaced: bool = True  # whether the other language has spaces between words

    @cached_property
    def row_of(self) -> Mapping[str, str]:
        """English name → its row, for names that are replaced."""
        return {name: row for row, names in self.names.items() if row in REPLACED for name, _ in names}

    @cached_property
    def english_of(self) -> Mapping[str, str]:
        return {other: name for row, names in self.names.items() if row in REPLACED for name, other in names}

    @cached_property
    def patterns(self) -> tuple[re.Pattern[str], re.Pattern[str]]:
        """Patterns that find the names in English and in the other language."""
        longest_first = sorted(self.english_of, key=len, reverse=True)
        edge = r"\b" if self.spaced else ""
        return (
            re.compile(rf"\b({'|'.join(map(re.escape, self.row_of))})\b"),
            re.compile(rf"{edge}({'|'.join(map(re.escape, longest_first))}){edge}"),
        )


REPLACED = ("man", "woman", "surname", "city")  # rows of names that are searched for in a text

NAMES: Mapping[str, Sequence[str]] = {
    "man": words("""
        Tom John Ken Bob Jim Bill Mike Peter Paul Jack Fred George Tony David Mark Brian Adam Ben Daniel
        Eric Frank Henry Ivan Jacob Kevin Leo Martin Nick Oliver Oskar Patrick Ralf Robert Simon Stefan
        Steve Theo Tim Victor Walter Finn Noah Emil Anton Luca Matteo Ali Ahmed Mehmet Omar Yusuf Kenji
        Hiroshi Wei Arjun Ravi Igor Pavel Piotr Juan Diego Pedro Antonio Giovanni Jean Pierre Sven Lars
        Björn Jürgen Günter Michael Alexander Alex
    """),
    "woman": words("""
        Mary Jane Susan Ann Nancy Emily Alice Kate Linda Betty Lisa Julia Anna Emma Mia Lena Laura Lea Sarah
        Sophie Marie Hannah Clara Paula Nina Eva Maria Elena Sandra Monika Petra Ursula Claudia Katrin Heike
        Birgit Karin Greta Frieda Ida Ella Amelie Johanna Charlotte Olga Irina Svetlana Natasha Fatima Aisha
        Leyla Zeynep Yuki Sakura Mei Priya Anjali Carmen Lucia Isabella Giulia Chiara Francesca Chloe Amélie
        Ingrid Astrid Freya
    """),
    "surname": words("""
        Jackson Smith Brown Johnson White Green Tanaka Suzuki Yamada Davis Miller Wilson Taylor Clark Lewis
        Young King Wright Hill Baker Müller Schmidt Schneider Fischer Weber Meyer Wagner Becker Hoffmann
        Koch Bauer Richter Wolf Schröder Neumann Braun Zimmermann Krüger Lange Krause Lehmann Köhler Garcia
        Rossi Novak Ivanov Nguyen Singh Khan Kim Lee Wang Yilmaz Kowalski
    """),
    "city": words("""
        Boston Tokyo London Berlin Hamburg Chicago Madrid Amsterdam Sydney Bremen Leipzig Dresden Stuttgart
        Frankfurt Dortmund Bonn Potsdam Oslo Stockholm Helsinki Dublin Manchester Liverpool Edinburgh
        Barcelona Budapest Istanbul Ankara Toronto Montreal Vancouver Seattle Houston Miami Dallas Denver
        Mumbai Delhi Osaka Kyoto Seoul Bangkok Manila Jakarta Nairobi Lagos Lima Salzburg Linz Bern Basel
        Hannover
    """),
    "other script": words("""
        Олег Мария Ελένη 李雷 さくら 민수 أحمد Zoë Łukasz Çağla Søren Håkon @lena @max99 AB-12 X7 R2D2
    """),
}

# Without "one": its German form depends on the noun.
NUMBER_WORDS: Mapping[str, Sequence[str]] = {
    "en": words("""
        two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
        seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety
    """),
    "de": words("""
        zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn
        siebzehn achtzehn neunzehn zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig
    """),
}

EMOJI = words("😀 😂 😊 😍 😎 😢 😡 🤔 👍 👋 🙏 🎉 ❤️ 🔥 ⭐ 🌞 🌧️ 🐶 🐱 🍕 ☕ 🎂 ⚽ 🚗 🏠 :) :-) :( ;) <3 xD")

TEMPLATES = (
    ("I'm {woman}.", "Ich bin {woman}."),
    ("I am called {man}.", "Ich heiße {man}."),
    ("He is called {man}.", "Er heißt {man}."),
    ("Her name is {woman}.", "Sie heißt {woman}."),
    ("My name is {man} {surname}.", "Mein Name ist {man} {surname}."),
    ("My name is {woman}, and this is {man}.", "Mein Name ist {woman}, und das ist {man}."),
    ("Good morning, Mr. {surname}.", "Guten Morgen, Herr {surname}."),
    ("Good evening, {woman}!", "Guten Abend, {woman}!"),
    ("Hello, {man}!", "Hallo, {man}!"),
    ("Hello {woman}, how are you?", "Hallo {woman}, wie geht es dir?"),
    ("Goodbye, {man}!", "Auf Wiedersehen, {man}!"),
    ("Thank you, {woman}.", "Danke, {woman}."),
    ("Mrs. {surname} is our teacher.", "Frau {surname} ist unsere Lehrerin."),
    ("{woman} comes from {city}.", "{woman} kommt aus {city}."),
    ("I live in {city}.", "Ich wohne in {city}."),
    ("We are flying to {city}.", "Wir fliegen nach {city}."),
    ("How far is it to {city}?", "Wie weit ist es bis {city}?"),
    ("It is {hour}:{minute}.", "Es ist {hour}:{minute} Uhr."),
    ("The bus comes at {hour}:{minute}.", "Der Bus kommt um {hour}:{minute} Uhr."),
    ("We meet at {hour} o'clock.", "Wir treffen uns um {hour} Uhr."),
    ("You can reach me at {phone}.", "Du erreichst mich unter {phone}."),
    ("Call {phone}.", "Ruf {phone} an."),
    ("Her number is {phone}.", "Ihre Nummer ist {phone}."),
    ("{man} was born in {year}.", "{man} wurde {year} geboren."),
    ("The house was built in {year}.", "Das Haus wurde {year} gebaut."),
    ("I am {small} years old.", "Ich bin {small} Jahre alt."),
    ("{woman} is {small} years old.", "{woman} ist {small} Jahre alt."),
    ("That makes {small} euros.", "Das macht {small} Euro."),
    ("I have {small} books.", "Ich habe {small} Bücher."),
    ("{small} people are waiting.", "{small} Leute warten."),
)

GERMAN = Substitutions(
    language="de",
    names={row: tuple((name, name) for name in names) for row, names in NAMES.items()},
    number_words=(NUMBER_WORDS["en"], NUMBER_WORDS["de"]),
    templates=(*TEMPLATES, *phrasebook.GERMAN.phrases),
    rows=phrasebook.GERMAN.rows,
)
