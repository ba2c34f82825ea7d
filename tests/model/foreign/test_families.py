"""The table of families: a part of it is measure again, and no page promises a family that is not in it."""

import re

import pytest

from docs.families import Row, measure, page, rows_on_page
from docs.foreign_families import FAMILIES, family_named
from docs.small_models import Family
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "families.md").read_text(encoding="utf-8")
AGAIN = ["mT5, wide heads", "Gemma 3, wide heads", "Mixtral, window", "ModernBERT", "BERT classifier", "BLOOM"]
ROUNDING = 5e-6


@pytest.mark.parametrize("title", AGAIN)
def test_a_row_is_what_is_measured_today(title: str) -> None:
    found = measure(family_named(title))
    (line,) = re.findall(rf"^\| {re.escape(title)} \|.*$", PAGE, flags=re.M)
    assert (found.refusal in line) if found.refusal else "| the same | changes |" in line
    if not found.refusal:
        assert found.same_text
        assert found.edit_changes
        assert found.difference < ROUNDING


def test_the_page_has_a_row_for_every_family() -> None:
    titles = re.findall(r"^\| (.+?) \|", PAGE, flags=re.M)
    assert [title for title in titles if title != "Family" and "---" not in title] == [
        *(family.title for family in sorted_as_on_page() if family.title not in refused()),
        *(family.title for family in FAMILIES if family.title in refused()),
    ]
    assert f"{len(FAMILIES) - len(refused())} of {len(FAMILIES)} models open" in PAGE
    for line in PAGE.splitlines():
        if (cells := line.split(" | ")) and len(cells) == 4 and "e-" in cells[1]:
            assert float(cells[1]) < ROUNDING, line
    assert "**" not in PAGE.partition("## ")[2], "something differs from the library"


def refused() -> set[str]:
    return set(re.findall(r"^\| (.+?) \|", PAGE.partition("## Families that do not open")[2], flags=re.M)) - {"Family"}


def sorted_as_on_page() -> list[Family]:
    tasks = ["translation", "continuation", "reading", "classification"]
    return sorted(FAMILIES, key=lambda family: tasks.index(family.task))


def test_every_family_that_the_guide_names_opens() -> None:
    text = (ROOT / "docs" / "own_models.md").read_text(encoding="utf-8")
    listed = re.findall(r"^- .*models.*?: (.*?)(?:\.|$)", text.partition("These models open:")[2], flags=re.M)
    named = [name.strip() for names in listed[:3] for name in names.split(",")]
    opened = {part for family in FAMILIES if family.title not in refused() for part in family.title.split(" and ")}
    assert len(named) > 15
    assert set(named) <= opened


def test_one_family_is_measured_without_a_change_of_the_other_rows() -> None:
    rows = rows_on_page(PAGE)
    assert page([rows[family.title] for family in FAMILIES]) == PAGE
    assert rows_on_page(PAGE.replace("with transformers", "with transformers 0.")) == {}


def test_a_difference_would_stand_out() -> None:
    rows = [Row(title="Wrong", task="reading", difference=0.5), Row(title="Closed", task="reading", refusal="No.")]
    written = page(rows)
    assert "| Wrong | 5e-01 | **differs** | **nothing** |" in written
    assert "| Closed | No. |" in written
    assert "1 of 2 models open" in written
