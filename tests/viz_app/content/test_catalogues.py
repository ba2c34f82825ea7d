"""The catalogues: every marked text is translated, and keeps its values, its markup and its terms."""

import re
import tomllib
from collections import Counter

import pytest
from babel.messages.catalog import Message
from babel.messages.pofile import read_po

from tests.conftest import BUNDLED, ROOT
from tools.words import SOURCES, Marked, domain, filled, marked
from viz_app.content.catalogues import ENGLISH, LANGUAGES, PSEUDO, Pseudo, catalogue_files
from viz_app.content.numbers import NO_SPACES

TRANSLATED = LANGUAGES[1:]
TEXTS = [text for path in SOURCES for text in marked(path)]
TERMS = tomllib.loads((ROOT / "viz_app/content/terms.toml").read_text(encoding="utf-8"))
WORDS = TERMS["terms"]

# Each term with the pattern that finds it in English, the longest first.
PATTERNS = [
    (re.compile(rf"(?<![\w-]){re.escape(term['en'])}(?:s|es)?(?![\w-])", re.IGNORECASE), term)
    for term in sorted(WORDS, key=lambda term: -len(term["en"]))
]
PLACEHOLDER = re.compile(r"(?<!\\)\{([a-z]\w*)\}")
NO_TERMS = re.compile(r'\{\w+\}|`[^`]*`|"[^"]*"|\w+\.json\b')  # values, names and values of settings, and files
FORMULA = re.compile(r"\$[^$]*\$")
STRUCTURE = re.compile(
    r"`[^`]*`|\$[^$]*\$|:material/\w+:|\*\*|\]\([^)]*\)|</?[a-z]+[^<>]*>|&\w+;|^\s*(?:[-*] |\d+\. |#+ |\|)|\n",
    re.MULTILINE,
)


def messages(language: str) -> list[tuple[str, Message]]:
    found = []
    for path in catalogue_files(language):
        with path.open("rb") as file:
            found += [(path.stem, message) for message in read_po(file, locale=language) if message.id]
    return found


def english(message: Message) -> tuple[str, ...]:
    return (message.id,) if isinstance(message.id, str) else tuple(message.id)


def translations(message: Message) -> tuple[str, ...]:
    return (message.string,) if isinstance(message.string, str) else tuple(message.string)


def key(message: Message) -> tuple[str | None, str]:
    return message.context, english(message)[0]


def structure(text: str) -> Counter[str]:
    return Counter(STRUCTURE.findall(text))


def ends(text: str) -> tuple[str, str]:
    return text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]


def placeholders(*texts: str) -> set[str]:
    return {name for text in texts for name in PLACEHOLDER.findall(FORMULA.sub("", text))}


@pytest.mark.parametrize("language", TRANSLATED)
def test_every_text_is_translated_and_every_translation_is_used(language: str) -> None:
    wanted = {(domain(one.path), one.context, one.text) for one in TEXTS}
    there = {(room, *key(message)) for room, message in messages(language)}
    assert wanted - there == set(), "run `python -m tools.words`, and translate these"
    assert there - wanted == set(), "the code does not use these: run `python -m tools.words`"
    missing = {(room, *key(message)) for room, message in messages(language) if not filled(message.string)}
    assert missing == set()
    assert [english(message)[0] for _, message in messages(language) if message.fuzzy] == []


@pytest.mark.parametrize("language", TRANSLATED)
def test_a_text_in_two_rooms_has_one_translation(language: str) -> None:
    found: dict[tuple[str | None, str], set[tuple[str, ...]]] = {}
    for _, message in messages(language):
        found.setdefault(key(message), set()).add(translations(message))
    assert {text: several for text, several in found.items() if len(several) > 1} == {}


@pytest.mark.parametrize("language", [*TRANSLATED, PSEUDO])
def test_a_translation_keeps_values_markup_and_spaces(language: str) -> None:
    for message in map(pseudo, TEXTS) if language == PSEUDO else (message for _, message in messages(language)):
        assert problems(message, language) == [], english(message)[0]


def pseudo(one: Marked) -> Message:
    return Message(one.key, string=Pseudo().text(one.many or one.text))


def problems(message: Message, language: str) -> list[str]:
    """What a translation has lost or invented."""
    several, found = english(message), []
    after = "字" if language in NO_SPACES else " "  # of the sentence that may follow
    for translation in filter(None, translations(message)):
        if placeholders(translation) != placeholders(*several):
            found.append(f"values: {translation}")
        if structure(translation) != structure(several[-1]):
            found.append(f"markup: {translation}")
        if ends(translation) != ends(several[-1]):
            found.append(f"spaces at the ends: {translation}")
        if not bold_is_shown(translation + after):
            found.append(f"bold that Markdown does not show: {translation}")
    return found


def bold_is_shown(text: str) -> bool:
    """Whether no sign of bold stands between a punctuation mark inside it and a letter outside it (CommonMark 6.2)."""
    before, *others = text.split("**")
    for inside, after in zip(others[::2], others[1::2], strict=False):
        if re.search(r"[^\w\s]$", inside) and re.match(r"\w", after):
            return False
        if re.match(r"[^\w\s]", inside) and re.search(r"\w$", before):
            return False
        before = after
    return True


@pytest.mark.parametrize(
    ("text", "translation"),
    [
        ("**All.** Now", "**全部。**现在"),
        ("**All.**", "**全部。**"),
        ("Layer {n}", "층"),
        ("Layer", "층 {n}"),
        ("a **bold** word", "一个 *bold* 词"),
        ("use `t`", "使用 t"),
        ("$x_1$ and", "$x_2$"),
        ("end ", "끝"),
    ],
)
def test_a_broken_translation_is_found(text: str, translation: str) -> None:
    assert problems(Message(text, string=translation), "zh")


@pytest.mark.parametrize("language", TRANSLATED)
def test_one_term_has_one_word(language: str) -> None:
    wrong: dict[str, list[str]] = {}
    for _, message in messages(language):
        text = NO_TERMS.sub("", " ".join(filter(None, (message.context, *english(message)))))
        for pattern, term in PATTERNS:
            text, times = pattern.subn("", text)  # a shorter term is not looked for inside a longer one
            accepted = [term[language]] if isinstance(term[language], str) else term[language]
            texts = [one for one in translations(message) if one and times and term.get("checked", True)]
            wrong |= {one: accepted for one in texts if not any(w.lower() in one.lower() for w in accepted)}
    assert wrong == {}


@pytest.mark.parametrize("language", TRANSLATED)
def test_no_translation_has_an_avoided_word(language: str) -> None:
    documents = [ROOT / f"README.{language}.md", *BUNDLED.glob(f"*/README.{language}.md")]
    texts = [path.read_text(encoding="utf-8") for path in documents]
    texts += [one for _, message in messages(language) for one in translations(message)]
    for avoided, instead in TERMS["avoided"].get(language, {}).items():
        assert [text[:200] for text in texts if avoided in text] == [], f"write {instead} for {avoided}"


def test_each_term_has_a_word_and_a_source_in_each_language() -> None:
    assert len(WORDS) >= 80
    for term in WORDS:
        assert {"en", *TRANSLATED} <= term.keys(), term
        assert term["source"].keys() == {*TRANSLATED}, term
    assert len({term["en"] for term in WORDS}) == len(WORDS)


def test_english_has_no_catalogue() -> None:
    assert catalogue_files(ENGLISH) == []
