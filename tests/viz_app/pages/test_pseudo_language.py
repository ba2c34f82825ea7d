"""Every page and tab in a language that marks what is translated: what a visitor reads is not English."""

import re
from collections.abc import Callable, Iterator

import pytest
from streamlit.testing.v1 import AppTest

from tests.conftest import BUNDLED
from tests.viz_app.conftest import NAME, tab
from viz_app.content import examples
from viz_app.content.catalogues import PSEUDO
from viz_app.content.lesson_texts import lesson_text, plan_text
from viz_app.content.shared import CHOICES, PAGES
from viz_app.course.catalogue import LESSONS
from viz_app.course.quiz import questions
from viz_app.services.listing import CheckpointKey, model_card
from viz_app.session.choice_forms import OLD_TABS

OpenApp = Callable[..., AppTest]
TABS_OF = {
    "positions": ("position_tab", ("matrix", "waves", "distances", "sentence", "relations")),
    "masks": ("mask_tab", ("right", "bugs")),
    "heads": ("heads_tab", ("board", "roles", "importance", "alignment", "paste")),
    "inside": ("inside_tab", ("head", "stations", "layers", "why", "read")),
    "lessons": ("lessons_tab", ("learn", "quiz", "teach")),
    "checkpoints": ("checkpoint_tab", ("card", "curves", "parameters", "configuration")),
}
# What is not translated: translated texts in their brackets, tokens and code, formulas, icons, addresses, HTML.
MARKED = re.compile(
    r"\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\]|`[^`]*`|\$[^$]*\$|:material/\w+:|<style>.*?</style>|<[^<>]*>", re.S
)
# Names, and what a model reads and writes.
DATA = re.compile(
    r"\b(?:Headlight|BLEU|chrF|softmax|English|Chinese|German|Transformer)\b|everyday-\w+-\w+|imdb-sentiment"
)
WORD = re.compile(r"[A-Za-z]{3,}")


def shown(app: AppTest) -> Iterator[str]:
    """Every text of a page that Streamlit's own harness can see, labels and help texts too."""
    for element in app.main, app.sidebar:
        for kind in ("markdown", "caption", "info", "warning", "error", "success", "header", "subheader"):
            yield from (one.value for one in element.get(kind))
        yield from (one.proto.body for one in element.get("html") if 'lang="' not in one.proto.body)
        for kind in ("button", "selectbox", "radio", "slider", "text_input", "text_area", "toggle", "checkbox"):
            for one in element.get(kind):
                yield from (one.label, one.proto.help)
        yield from (option for one in element.get("button_group") for option in options_of(one))


def options_of(group: object) -> list[str]:
    return [option.content for option in group.proto.options]  # type: ignore[attr-defined]


def is_english(text: str) -> bool:
    """Whether a text has English words outside brackets that are no data."""
    text = re.sub(r"\\(\W)", r"\1", text)  # as `plain` escaped it
    return bool(WORD.search(DATA.sub(" ", MARKED.sub(" ", text))))


def course_texts() -> Iterator[str]:
    """What the page Lessons shows of the files of the course, which have one file per language."""
    for number, lesson in enumerate(LESSONS, start=1):
        text = lesson_text(lesson.name, PSEUDO)
        yield f"**{number}. {text.title}** {text.goal}"
    for number in range(1, len(questions(PSEUDO)) + 1):
        yield from (f"{number}. {one.question}" for one in questions(PSEUDO))
    yield plan_text(PSEUDO).partition("\n")[2].strip()  # without its title


@pytest.mark.parametrize("page", PAGES)
def test_no_english_is_left_on_a_page(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch, page: str) -> None:
    monkeypatch.setenv("HEADLIGHT_PSEUDO", "1")
    app = open_app(page, checkpoint=NAME, lang=PSEUDO)
    key, tabs = TABS_OF.get(page, ("", ("",)))
    data = {one for table in (examples.EVERYDAY, examples.CAPTIONS) for texts in table.values() for one in texts}
    key_of_card = CheckpointKey(path=str(BUNDLED / NAME), version="")
    data.add(model_card(key_of_card, PSEUDO).text.strip())  # the words of its author
    data |= set(course_texts())
    for name in tabs:
        if name:
            tab(app, key, name)
        assert {text for text in shown(app) if text and text not in data and is_english(text)} == set(), name


def test_every_tab_is_visited() -> None:
    assert {key for key, _ in TABS_OF.values()} == {name for name, choice in CHOICES.items() if choice["form"] == "tab"}
    assert {tab for _, tabs in TABS_OF.values() for tab in tabs} >= set(OLD_TABS.values())
