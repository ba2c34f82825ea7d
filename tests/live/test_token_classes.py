"""The class of a token in a published page is that of the atlas."""

import json
import subprocess
import sys
import unicodedata
from collections.abc import Sequence

import pytest

from model.atlas.token_classes import CLASSES, classes_of
from tests.conftest import ROOT
from tests.javascript.check import program

SCRIPT = """
import { tokenClasses } from "./live/engine/atlas/token_classes.js";
import { readFileSync } from "node:fs";
const [tokens, words] = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(tokenClasses(tokens.map((text, i) => ({ text, word: words[i] })))));
"""
CHARACTERS = [
    chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) not in ("Cn", "Co", "Cs")
]


def in_page(tokens: Sequence[str], words: Sequence[int]) -> list[str]:
    command = [program("node"), "--disable-warning=MODULE_TYPELESS_PACKAGE_JSON", "--input-type=module", "-e", SCRIPT]
    given = json.dumps([tokens, words])
    found = subprocess.run(command, cwd=ROOT, input=given, capture_output=True, encoding="utf-8", check=True)
    classes: list[str] = json.loads(found.stdout)
    return classes


@pytest.mark.parametrize("form", ["{}", "·{}", " {}\t", "5{}", "{}a", "⟨{}", "⟨{}⟩", ".{}.", ""])
def test_a_token_of_every_character_has_the_class_of_the_atlas(form: str) -> None:
    tokens = [form.format(one) for one in CHARACTERS]
    words = [i // 2 for i in range(len(tokens))]  # each word has two tokens
    assert in_page(tokens, words) == [CLASSES[i] for i in classes_of(tokens, words)]


def test_bytes_of_a_character_have_the_class_of_the_atlas() -> None:
    tokens = [f"⟨{byte:02X}⟩" for one in CHARACTERS for byte in one.encode()]
    words = [number for number, one in enumerate(CHARACTERS) for _ in one.encode()]
    assert in_page(tokens, words) == [CLASSES[i] for i in classes_of(tokens, words)]
    without_end = [-1 if i % 7 == 3 else word for i, word in enumerate(words)]
    assert in_page(tokens, without_end) == [CLASSES[i] for i in classes_of(tokens, without_end)]


def test_special_tokens_and_later_tokens_of_a_word_have_their_own_classes() -> None:
    tokens = ["<s>", "un", "·believ", "·able", "12", "·.", "我", "⟨E4 BD⟩", "</s>", ".", "</s>"]
    words = [-1, 0, 0, 0, 1, 1, 2, 2, -1, -1, -1]
    expected = ["special", "first", "later", "later", "number", "punctuation", "first", "later", *["special"] * 3]
    assert in_page(tokens, words) == expected == [CLASSES[i] for i in classes_of(tokens, words)]
