"""The chosen search and the forced words: pages show that run, or a note says that they do not."""

import re
from collections.abc import Callable
from html import escape
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from model.checkpoints.checkpoint import Checkpoint
from model.config.search import SearchConfig
from model.decoding.search import length_limit
from model.inference.run import Result
from model.inference.translate import compute, forced_ids, translate
from model.interventions import Intervention
from tests.viz_app.conftest import NAME, TEXT, compared_lines, head_map
from viz_app.services import analyses, models

OpenApp = Callable[..., AppTest]
SAMPLING = SearchConfig(method="sample", temperature=2.0, seed=3)
ASKED = {"method": "sample", "temperature": "2.0", "seed": "3"}
GREEDY_RUN = "This page shows greedy search"


def tokens_read(app: AppTest) -> list[str]:
    return [option.partition(" · ")[2] for option in app.selectbox(key="station_place").options]


def differences(app: AppTest) -> float:
    """How far the numbers of the page are from those of the model."""
    (sentence,) = [one.value for one in app.success]
    numbers = re.findall(r"\d[\d.]*(?:e[+-]\d+)?", sentence)
    return float(numbers[0].rstrip("."))


def test_inside_follows_the_run_of_the_chosen_search(open_app: OpenApp, checkpoint: Checkpoint) -> None:
    drawn = translate(checkpoint, TEXT, search=SAMPLING)
    assert drawn.text != translate(checkpoint, TEXT).text
    app = open_app("inside", checkpoint=NAME, text=TEXT, inside_tab="stations", **ASKED)
    assert tokens_read(app) == [token.text for token in drawn.read]
    assert differences(app) < 1e-4


def test_a_slow_model_runs_in_a_job_with_progress(
    open_app: OpenApp, checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports: list[tuple[int, int]] = []

    def reporting(*args: Any, report: Callable[[int, int], object], **kwargs: Any) -> Result:
        return compute(*args, report=lambda *counts: (reports.append(counts), report(*counts)), **kwargs)

    monkeypatch.setattr(models, "READ_PER_SECOND", 1.0)
    monkeypatch.setattr(analyses, "compute", reporting)
    text = "Ein alter Mann wartet vor dem Bahnhof auf seinen Sohn."
    expected = translate(checkpoint, text)
    app = open_app("translate", checkpoint=NAME, text=text, kind="cross", layer="2", head="3")
    np.testing.assert_allclose(head_map(app), expected.maps["cross"][1, 2], atol=1e-6)
    assert [done for done, _ in reports] == list(range(len(expected.written) + 1))
    assert {most for _, most in reports} == {length_limit(len(expected.source), checkpoint.model.config.max_length)}
    reports.clear()
    app.run()
    assert not reports, "the result is kept"


def test_inside_follows_forced_words_and_can_clear_them(open_app: OpenApp, checkpoint: Checkpoint) -> None:
    app = open_app("inside", checkpoint=NAME, text=TEXT, inside_tab="stations", forced="1.300")
    expected = translate(checkpoint, TEXT, forced={1: 300})
    assert tokens_read(app) == [token.text for token in expected.read]
    next(one for one in app.button if one.label == "Clear forced words").click().run()
    assert tokens_read(app) == [token.text for token in translate(checkpoint, TEXT).read]


def test_a_typed_translation_is_followed_step_by_step(open_app: OpenApp) -> None:
    app = open_app("steps", checkpoint=NAME, text=TEXT, method="typed", typed="A cat.")
    assert any(one.value.startswith("You typed this translation") for one in app.caption)


@pytest.mark.parametrize("page", ["translate", "steps"])
def test_a_typed_translation_beyond_the_positions_names_them(
    open_app: OpenApp, checkpoint: Checkpoint, page: str
) -> None:
    typed = "A cat. " * 120
    tokens, positions = len(forced_ids(checkpoint.tokenizers, typed.strip())), checkpoint.model.config.max_length
    assert tokens > positions
    app = open_app(page, checkpoint=NAME, text=TEXT, method="typed", typed=typed)
    (said,) = [one.value for one in app.warning]
    for number in (tokens, positions, tokens - positions):
        assert f" {number:,} " in said


@pytest.mark.parametrize(
    ("page", "tab"),
    [("compare", {}), ("learning", {}), ("masks", {}), ("steps", {}), ("heads", {"heads_tab": "paste"})],
)
def test_a_page_without_search_notes_that_it_shows_greedy_search(
    open_app: OpenApp, page: str, tab: dict[str, str]
) -> None:
    app = open_app(page, checkpoint="everyday-de-en", method="beam", **tab)
    assert sum(GREEDY_RUN in one.value for one in app.caption) == 1
    app = open_app(page, checkpoint="everyday-de-en", **tab)
    assert not any(GREEDY_RUN in one.value for one in app.caption)


def test_the_board_compares_the_run_of_the_chosen_search(open_app: OpenApp, checkpoint: Checkpoint) -> None:
    changed = Intervention.from_code("off.cross.3.1-2-3-4-5-6-7-8")
    app = open_app("heads", checkpoint=NAME, text=TEXT, intervention=changed.code(), **ASKED)
    expected = [
        translate(checkpoint, TEXT, search=SAMPLING).text,
        translate(checkpoint, TEXT, search=SAMPLING, edits=changed.edits()).text,
    ]
    assert compared_lines(app) == [escape(text) for text in expected]
    assert not any("Blue: without this head" in one.value for one in app.markdown)  # is measured on the greedy run


def test_the_board_keeps_forced_words(open_app: OpenApp, checkpoint: Checkpoint) -> None:
    app = open_app("heads", checkpoint=NAME, text=TEXT, forced="1.300")
    assert compared_lines(app)[0] == escape(translate(checkpoint, TEXT, forced={1: 300}).text)
    assert any(one.value.startswith("Forced: ") for one in app.caption)
