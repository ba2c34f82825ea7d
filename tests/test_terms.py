"""Retired words stay out of pages, documents, code and comments. The list is in docs/terms.md."""

import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import ROOT

PAGE, SELF = "docs/terms.md", "tests/test_terms.py"
ROWS = re.findall(
    r"^\| `(.+?)` \| (.+?) \|$",
    (ROOT / PAGE).read_text(encoding="utf-8").partition("## Retired words")[2],
    re.MULTILINE,
)
RETIRED = {pattern.replace(r"\|", "|"): instead for pattern, instead in ROWS}
ANY_RETIRED = re.compile("|".join(RETIRED))  # one pass over a text
KINDS = (".py", ".md", ".js", ".mjs", ".css", ".toml", ".conf")  # no notebook: its output is of an earlier run
SKIPPED = {"node_modules", "data", "build", "dist", "htmlcov"}  # and folders with a dot: nobody here wrote their files
# Sentences that a model reads are data: another word would make another corpus or another test set.
SENTENCES = re.compile(r"model/corpora/(phrasebook_\w+\.toml|substitutions\w*\.py|short_reviews\.py)$")
# These words are ids in links. Old links must open the same view, so the ids keep their names.
LINKED = {
    "viz_app/session/choice_forms.py": "giver",
    "viz_app/sections/heads/head_patching.py": '"giver"',
    "tests/viz_app/pages/test_any_page.py": '"giver"',
    "tests/viz_app/pages/test_circuits_page.py": '"giver"',
    "tests/viz_app/pages/test_classifier_heads.py": "giver=",
    "tests/viz_app/pages/test_foreign_pages.py": "giver=",
    "tests/viz_app/sections/test_head_patching.py": "giver=",
}


def texts() -> Iterator[tuple[str, str]]:
    """Every file that is read by this test: its path and its text without ids of links."""
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in SKIPPED and not name.startswith(".")]
        for file in files:
            path = (Path(folder) / file).relative_to(ROOT).as_posix()
            if file.endswith(KINDS) and path not in (PAGE, SELF) and not SENTENCES.search(path):
                text = (ROOT / path).read_text(encoding="utf-8")
                yield path, text.replace(LINKED[path], "") if path in LINKED else text


def places(path: str, text: str) -> list[str]:
    """The places of retired words in a text, and what to write instead."""
    return [
        f"{path}:{text.count(chr(10), 0, match.start()) + 1}: “{match[0]}”. Write: {remedy(match[0])}."
        for match in ANY_RETIRED.finditer(text.lower())
    ]


def remedy(word: str) -> str:
    return next(instead for pattern, instead in RETIRED.items() if re.fullmatch(pattern, word))


def test_no_retired_word_is_used() -> None:
    read = dict(texts())
    found = [place for path, text in read.items() for place in places(path, text)]
    assert not found, "\n".join(found)
    kinds = Counter(Path(path).suffix for path in read)
    assert len(RETIRED) > 10
    assert kinds[".py"] > 300
    assert all(kinds[kind] for kind in KINDS)


def test_a_retired_word_is_found_with_its_line_and_its_remedy() -> None:
    assert places("page.md", "One.\nA map Of which two.") == ["page.md:2: “of which”. Write: a second sentence."]
