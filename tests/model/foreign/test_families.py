"""The page of families: every family is measured, each number is small, and a part of it is measured again."""

import operator
import re

import pytest
import transformers

from tests.conftest import ROOT
from tools.families import measure, measure_maps
from tools.families_page import IN_PAGE, NUMBER, READ_ONLY, Row, page, rows_on_page
from tools.family_analyses import ANALYSES
from tools.foreign_families import FAMILIES, family_named
from viz_app.content.shared import FAMILIES as IN_BROWSER

PAGE = (ROOT / "docs" / "families.md").read_text(encoding="utf-8")
ROWS = rows_on_page(PAGE)
AGAIN = ["mT5, wide heads", "Gemma 3, wide heads", "Mixtral, window", "ModernBERT", "BERT classifier", "FNet"]
AGAIN += ["OpenAI GPT", "LED", "BLOOM"]  # read-only
AGAIN += ["Marian", "Llama classifier"]  # in the page, and in neither
MAPS, LOGITS, ANALYSIS = 3e-6, 1e-5, 1e-4  # the largest differences


def test_the_page_is_measured_with_the_installed_version() -> None:
    """After an upgrade of `transformers`: run `python -m tools.families`, and read what has changed."""
    assert f"with transformers {transformers.__version__}." in PAGE


@pytest.mark.parametrize("title", AGAIN)
def test_a_row_is_what_is_measured_today(title: str) -> None:
    found, row = measure(family_named(title)), ROWS[title]
    assert found.refusal == row.refusal
    assert found.in_page.partition(" ")[0] == row.in_page.partition(" ")[0]
    if not found.refusal:
        require_right(found)
    reasons = {name: text for name, text in row.analyses.items() if not NUMBER.fullmatch(text)}
    assert reasons == {name: text for name, text in found.analyses.items() if not NUMBER.fullmatch(text)}


@pytest.mark.filterwarnings("ignore::UserWarning")  # of the library, while it makes some of these small models
@pytest.mark.parametrize("task", ["translation", "continuation", "reading", "classification"])
def test_every_family_opens_with_the_maps_of_the_library_or_is_refused_as_the_page_says(task: str) -> None:
    measured = [measure_maps(family) for family in FAMILIES if family.task == task]
    wrong = [row for row in measured if row.refusal != ROWS[row.title].refusal or not row.difference < MAPS]
    assert wrong == []


def require_right(row: Row) -> None:
    assert row.same_text, row.title
    assert row.edit in ("✓", READ_ONLY), row.title
    assert row.difference < MAPS, row.title
    if in_page := IN_PAGE.fullmatch(row.in_page):
        assert in_page[1] in ("✓", "maps only"), row.title
        assert all(map(operator.lt, map(float, NUMBER.findall(row.in_page)), (MAPS, LOGITS))), row.title
    assert set(row.analyses) == set(ANALYSES)
    numbers = [float(text) for text in row.analyses.values() if NUMBER.fullmatch(text)]
    assert max(numbers, default=0.0) < ANALYSIS, row.title


def test_the_page_has_a_right_row_for_every_family() -> None:
    assert list(ROWS) == [family.title for family in FAMILIES]
    opened = [row for row in ROWS.values() if not row.refusal]
    for row in opened:
        require_right(row)
    assert f"{len(opened)} of {len(FAMILIES)} models open" in PAGE
    assert "**no**" not in PAGE, "something differs from the library"


def test_the_page_opens_every_model_of_the_families_that_it_knows() -> None:
    for family in FAMILIES:
        row = ROWS[family.title]
        if family.model_type in IN_BROWSER and not row.refusal:
            assert IN_PAGE.fullmatch(row.in_page), row.title
    assert f"The page opens {sum(bool(IN_PAGE.fullmatch(row.in_page)) for row in ROWS.values())} of them." in PAGE


def test_every_family_in_the_guide_opens() -> None:
    text = (ROOT / "docs" / "own_models.md").read_text(encoding="utf-8")
    listed = re.findall(r"^- .*models.*?: (.*?)(?:\.|$)", text.partition("These models open:")[2], flags=re.M)
    named = [name.strip() for names in listed[:3] for name in names.split(",")]
    opened = {part for family in FAMILIES if not ROWS[family.title].refusal for part in family.title.split(" and ")}
    assert len(named) > 15
    assert set(named) <= opened


def test_one_family_is_measured_without_a_change_of_the_other_rows() -> None:
    assert page(list(ROWS.values())) == PAGE
    assert rows_on_page(PAGE.replace("with transformers", "with transformers 0.")) == {}


def test_differences_and_refusals_are_written_into_the_table() -> None:
    reasons = dict.fromkeys(ANALYSES, "It has no layers.") | {"Masks": "5e-01"}
    rows = [
        Row(title="Wrong", task="reading", difference=0.5, in_page="It is slow.", analyses=reasons),
        Row(title="Closed", task="reading", refusal="No.", in_page="It is slow."),
        Row(title="Opened", task="reading", in_page="maps only 1e-07"),
    ]
    written = page(rows)
    assert "| Wrong | 5e-01 | **no** | **no** | a | b | b | b | b | b | 5e-01 | b |" in written
    assert "- **a**: It is slow.\n- **b**: It has no layers." in written
    assert "| Closed | No. | a |" in written
    assert "| Opened | 0e+00 | **no** | **no** | maps only 1e-07 |" in written
    assert "2 of 3 models open" in written
    assert "The page opens 1 of them." in written
