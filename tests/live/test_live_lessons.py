"""The lessons of a site: which steps it has, their texts, and where their code is."""

import json
import re
from pathlib import Path

import pytest

from headlight.command import main
from model.config.paths import HOME
from tests.live.test_publish import MOST_CODE, data_of
from tests.viz_app.course.lesson_runs import placeholders
from viz_app.content.shared import PUBLISHED_PAGES
from viz_app.course.catalogue import LESSONS, TOUR
from viz_app.export.live_lessons import live_lessons, live_steps, live_texts

NAME = "everyday-en-de"
MOST_LESSON_CODE = 45_000  # bytes
LIVE = HOME / "live"
STEPS = [
    (lesson, step) for lesson in (*LESSONS, TOUR) for step in live_steps(lesson, {NAME, "gru-de-en", "everyday-de-en"})
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published") / "site"
    assert main(["publish", NAME, "--out", str(folder)]) == 0
    return folder


def test_a_site_has_the_steps_whose_page_and_checkpoint_it_has() -> None:
    links = {lesson.link(step) for lesson, step in STEPS}
    assert {"query-key-value.row", "many-heads.one-head", "masks-and-decoding.padding", "first-visit.map"} <= links
    absent = {
        "masks-and-decoding.tiny-fill",
        "the-whole-layer.who-ends",
        "why-attention.one-vector",
        "positions.rotary",
    }
    assert not absent & links
    assert "why-attention.alignment" in links
    alone = {f"{one['name']}.{step['name']}" for one in live_lessons({NAME}) for step in one["steps"]}  # type: ignore[attr-defined]
    assert alone == {link for link in links if not link.startswith("why-attention")}
    counted = {str(one["name"]): one["only_in_app"] for one in live_lessons({NAME})}
    assert counted["the-whole-layer"] == len(next(one for one in LESSONS if one.name == "the-whole-layer").steps)
    assert live_lessons({"everyday-zh-en"}) == []


def test_the_pages_are_those_of_the_shared_list_and_know_every_target_of_a_step() -> None:
    pages, targets = ((LIVE / name).read_text() for name in ("pages/pages.js", "course/target.js"))
    assert tuple(re.findall(r"^  (\w+): \{ show", pages, re.MULTILINE)) == tuple(PUBLISHED_PAGES)
    for lesson, step in STEPS:
        assert not step.target or re.search(rf"\b{step.target}:", targets), lesson.link(step)


@pytest.mark.parametrize("language", ["en", "zh", "ko"])
def test_the_texts_of_a_step_keep_their_values_and_have_every_outcome(language: str) -> None:
    texts = live_texts({NAME}, language)
    for lesson, step in STEPS:
        if lesson.name == "why-attention":
            continue
        text = texts[lesson.name]["steps"][step.name]  # type: ignore[index]
        assert set(step.outcomes) <= set(text["outcomes"]), lesson.link(step)
        assert all(
            "script" not in html and " on" not in "".join(re.findall("<[^>]*>", html))
            for html in text["outcomes"].values()
        )
    right = texts["query-key-value"]["steps"]["best-key"]["outcomes"]["right"]  # type: ignore[index]
    assert placeholders(right) == {"key", "product", "second", "second_product"}


def test_the_lessons_are_loaded_only_with_a_lesson_and_their_code_is_small(site: Path) -> None:
    page = (site / "index.html").read_text(encoding="utf-8")
    data = data_of(page, "site")
    listed = json.loads(data)
    course, script = listed["course"], listed["scripts"]["lessons"]
    style = listed["styles"]["lessons"]
    addresses = [script, course["lessons"], style, *course["texts"].values()]
    assert all((site / address).is_file() for address in addresses)
    assert "course/" not in page.replace(data, "")
    code = sum((site / part).stat().st_size for part in (script, style))
    assert code < MOST_LESSON_CODE < MOST_CODE


def test_one_file_holds_the_lessons_and_a_site_without_steps_has_none(tmp_path: Path) -> None:
    assert main(["publish", NAME, "--out", str(tmp_path / "one.html")]) == 0
    page = (tmp_path / "one.html").read_text(encoding="utf-8")
    course = json.loads(data_of(page, "site"))["course"]
    assert [one["name"] for one in course["lessons"]][:2] == ["why-attention", "query-key-value"]
    assert list(course["texts"]) == ["en", "zh", "ko"]
    assert 'import("' not in page
    assert "headlight-lessons" in page
    assert main(["publish", "everyday-zh-en", "--out", str(tmp_path / "site")]) == 0
    assert not (tmp_path / "site" / "course").exists()
    assert "course" not in json.loads(data_of((tmp_path / "site" / "index.html").read_text(encoding="utf-8"), "site"))
