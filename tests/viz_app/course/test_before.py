"""What a browser may send as the choices from before a lesson."""

import json

import pytest

from model.interventions import Intervention
from viz_app.course.progress import Before, read_before, written_before

PAGES = {"translate", "heads"}
CHOSEN = {
    "text": "My own sentence.",
    "forced": ((1, 20), (3, 7)),
    "intervention": Intervention.from_code("off.cross.1.3"),
    "beam_size": 4,
    "merge": True,
}


def test_the_browser_gives_back_what_it_got() -> None:
    before = Before(page="heads", chosen=CHOSEN)
    assert read_before(json.loads(json.dumps(written_before(before))), PAGES) == before


@pytest.mark.parametrize(
    "stored",
    [None, "text", 3, [], {}, {"page": "nowhere", "chosen": {}}, {"page": ["heads"], "chosen": {}}, {"page": "heads"}],
)
def test_what_names_no_page_is_nothing(stored: object) -> None:
    assert read_before(stored, PAGES) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("forced", "1.x"),
        ("intervention", "silence everything"),
        ("beam_size", "many"),
        ("beam_size", 4),
        ("merge", ["true"]),
        ("text", "x" * 20_001),
        ("text", {"a": 1}),
        ("lang", "zh"),
        ("present", "true"),
        ("lesson", "many-heads.together"),
        ("no-choice", "x"),
    ],
)
def test_a_choice_that_a_lesson_cannot_restore_is_left_out(name: str, value: object) -> None:
    assert read_before({"page": "heads", "chosen": {name: value, "kind": "cross"}}, PAGES) == Before(
        page="heads", chosen={"kind": "cross"}
    )
