"""The strip of a lesson: a prediction hides the page, and the visitor's own run says what came out."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.foreign_folders import make_folder, make_many_languages
from tests.viz_app.conftest import component_data, head_map, html
from tests.viz_app.course.lesson_runs import ProbeStep
from viz_app.content import lesson_texts
from viz_app.content.shared import PAGES
from viz_app.course import catalogue
from viz_app.course.lesson import Action, Answer, Lesson, Number, OneOf, OneToken, Verdict
from viz_app.course.progress import read_before
from viz_app.course.situation import Situation
from viz_app.sections.course import lessons_page

OpenApp = Callable[..., AppTest]
TEXT = "The boy loves the girl."
PLACE = {"checkpoint": "everyday-en-de", "text": TEXT, "kind": "cross"}
HOSTILE = "<b>*bold*</b> $x$ ![a](http://a)"


def length(situation: Situation, answer: Answer) -> Verdict:
    """The answer "short" is right for sentences below eight tokens."""
    tokens, short = len(situation.translation.source), len(situation.translation.source) < 8
    right = (answer == "short") is short
    return Verdict(right=right, outcome="right" if right else "wrong", values={"tokens": tokens})


def echo(situation: Situation, answer: Answer) -> Verdict:
    """The answer comes back, and is right where it is the number 3, or the first token."""
    right = answer in (3, 0)
    shown = {"answer": str(answer), "text": situation.text, "hostile": HOSTILE, "share": 0.123, "many": 1260}
    return Verdict(right=right, outcome="right" if right else "wrong", values=shown)


def silenced(situation: Situation, _: Answer) -> Verdict:
    """The visitor has silenced a head."""
    heads = len(situation.intervention.ablated)
    return Verdict(right=heads > 0, outcome="right" if heads else "wrong", values={"heads": heads})


FORMS = {"number": Number(0, 9, 1), "token": OneToken("writes")}
PROBE = Lesson(
    name="probe",
    steps=(
        ProbeStep(name="length", page="translate", choices=PLACE, answer=OneOf(("short", "long")), compare=length),
        *(
            ProbeStep(name=name, page="translate", choices=PLACE, answer=form, compare=echo)
            for name, form in FORMS.items()
        ),
        ProbeStep(
            name="silence",
            page="heads",
            choices=PLACE,
            answer=Action(),
            compare=silenced,
            target="head_board",
            any_sentence=False,
            puzzle=True,
        ),
    ),
)
HEAD = "# Probe\nIt tries everything.\n"
BODY = """
## {name}
### Title
About {name}
### Text
Read this.
### Question
What about {name}?
### Options
- short: Short
- long: Long
### Hints
1. A nudge
2. A suggestion
3. The answer
### right
Good: {{tokens}} {{answer}} {{text}} {{hostile}} {{share:%}} {{many}} {{heads}} $d_{{k}}$
### wrong
Sorry: {{tokens}} {{answer}} {{heads}}
"""


@pytest.fixture
def probe(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, open_app: OpenApp) -> OpenApp:
    """Open the app with a lesson of its own that has each form of answer."""
    (tmp_path / "en").mkdir()
    bodies = (BODY.format(name=step.name) for step in PROBE.steps)
    (tmp_path / "en" / "probe.md").write_text(HEAD + "".join(bodies), encoding="utf-8")
    monkeypatch.setattr(lesson_texts, "LESSONS", tmp_path)
    monkeypatch.setattr(lessons_page, "LESSONS", (PROBE,))
    monkeypatch.setattr(catalogue, "STEPS", {PROBE.link(step): (PROBE, step) for step in PROBE.steps})
    yield open_app
    lesson_texts.lesson_text.cache_clear()


def end_with(monkeypatch: pytest.MonkeyPatch, **changed: Any) -> None:
    """Change the last step of the lesson."""
    lesson = replace(PROBE, steps=(*PROBE.steps[:-1], replace(PROBE.steps[-1], **changed)))
    monkeypatch.setattr(catalogue, "STEPS", {lesson.link(step): (lesson, step) for step in lesson.steps})


def shown(app: AppTest) -> str:
    kinds = (app.markdown, app.caption, app.warning, app.info, app.error)
    return "\n".join(element.value for kind in kinds for element in kind)


def has(app: AppTest, key: str) -> bool:
    return any(element.key == key for element in [*app.button, *app.text_input, *app.button_group])


def in_link(app: AppTest, name: str) -> str | None:
    """What a link to the page says. The browser alone completes the address of a page that has just opened."""
    written: dict[str, str] = app.session_state["choices"].in_link()
    return written.get(name)


def press(app: AppTest, key: str, *, opens: str = "") -> AppTest:
    """Press a button. The test harness has to be shown which page it opens."""
    app.button(key=key).click().run()
    assert not app.exception, app.exception
    return app.switch_page(f"viz_app/pages/{opens}.py") if opens else app


def test_a_prediction_hides_the_page_and_an_answer_reveals_it_with_the_numbers_of_this_run(probe: OpenApp) -> None:
    app = probe(lesson="probe.length")
    assert "Answer first. Then the picture appears." in shown(app)
    assert not has(app, "text"), "the page has not run"
    app.button_group(key="lesson_answer_probe.length").set_value("long").run()
    assert app.text_input(key="text").value == TEXT
    assert "**Not so.** Sorry: 7" in shown(app)
    app.button_group(key="lesson_answer_probe.length").set_value("short").run()
    assert "**Right.** Good: 7" in shown(app)
    app.text_input(key="text").set_value("The boy and the old man love the girl very much.").run()
    assert re.search(r"\*\*Not so\.\*\* Sorry: 1\d", shown(app)), "the same answer is judged on the new run"
    assert app.session_state["lesson_visit"].progress["probe.length"].right, "a right answer stays"


@pytest.mark.parametrize("name", FORMS)
def test_each_form_of_answer_reaches_the_check(probe: OpenApp, name: str) -> None:
    app, key = probe(lesson=f"probe.{name}"), f"lesson_answer_probe.{name}"
    if name == "number":
        form = app.number_input(key=key).form_id
        assert form, "Enter answers only in a form"
        assert app.button(key=f"{key}_send").form_id == form
        app.number_input(key=key).set_value(3)
        press(app, f"{key}_send")
    else:
        app.button_group[0].set_value(0).run()
    assert has(app, "text")
    said = shown(app)
    assert "**Right.** Good:" in said
    assert r"\<b\>\*bold\*\<\/b\> \$x\$ \!\[a\]\(http\:\/\/a\)" in said, "a value is text, never markup"
    assert "12.3\u00a0% 1,260" in said
    assert "$d_{k}$" in said


def test_a_token_of_an_earlier_sentence_is_no_answer(probe: OpenApp) -> None:
    app = probe(lesson="probe.token")
    app.button_group[0].set_value(0).run()
    app.text_input(key="text").set_value("Where is the station?").run()
    assert "The sentence has changed. Answer again." in shown(app)
    assert app.button_group[0].value is None


def test_hints_come_one_after_the_other_and_the_last_one_shows_the_page(probe: OpenApp) -> None:
    app = probe(lesson="probe.length")
    hints = [":material/lightbulb: A nudge", ":material/lightbulb: A suggestion", ":material/lightbulb: The answer"]
    for count in range(4):
        given = [element.value for element in app.markdown if "lightbulb" in element.value]
        assert given == hints[:count]
        assert has(app, "text") is (count == 3)
        if count < 3:
            press(app, "lesson_hint")
    assert not has(app, "lesson_hint")


@pytest.mark.parametrize(
    ("checkpoint", "choice", "kind"),
    [("small-nllb", {"into_language": "zho_Hans"}, "cross"), ("small-chat", {"chat": "true"}, "decoder")],
)
def test_a_check_sees_the_run_of_the_page_with_its_languages_and_its_chat_template(
    probe: OpenApp, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, checkpoint: str, choice: dict[str, str], kind: str
) -> None:
    make_many_languages(tmp_path / "models" / "small-nllb", ("deu_Latn", "eng_Latn", "zho_Hans"))
    template = make_folder(tmp_path / "models" / "small-chat", "llama") / "chat_template.jinja"
    template.write_text("{{ bos_token }}Be kind: {{ messages[0]['content'] }}</s>")
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path / "models"))
    seen: list[Situation] = []

    def look(situation: Situation, _: Answer) -> Verdict:
        seen.append(situation)
        return Verdict(right=True, outcome="right")

    end_with(monkeypatch, page="translate", compare=look)
    app = probe(
        lesson="probe.silence",
        checkpoint=checkpoint,
        text=TEXT,
        kind=kind,
        layer="1",
        head="1",
        new_tokens="5",
        **choice,
    )
    drawn, run = np.nan_to_num(head_map(app)), seen[-1].translation
    np.testing.assert_allclose(drawn, run.maps[kind][0, 0][: drawn.shape[0], : drawn.shape[1]], atol=1e-6)
    assert component_data(app, "attention_map")["keys"] == [token.text for token in run.tokens_of(kind)[1]]


def test_a_puzzle_shows_its_page_and_checks_what_the_visitor_does(probe: OpenApp) -> None:
    app = probe(lesson="probe.silence")
    assert ">Heads <" in html(app)
    assert "**Not yet.** Sorry: {tokens} {answer} 0" in shown(app)
    assert "st-key-head_board{outline" not in html(app)
    for _ in range(3):
        press(app, "lesson_hint")
    assert "st-key-head_board{outline" in html(app), "the last hint of a puzzle shows where to act"
    app.button[[button.label for button in app.button].index("Silence all heads")].click().run()
    assert "**Right.**" in shown(app)
    press(app, "lesson_reset")
    assert "**Already done.** Sorry: {tokens} {answer} 0" in shown(app), "a solved puzzle stays solved"
    assert "**Not yet.**" not in shown(app)
    app.text_input(key="text").set_value("Where is the station?").run()
    assert "Reset this step to see it" in shown(app)


def test_leaving_restores_the_choices_and_the_page_from_before(probe: OpenApp) -> None:
    app = probe("lessons", text="My own sentence.", checkpoint="everyday-en-de")
    press(app, "open_probe", opens="translate")
    assert in_link(app, "text") == TEXT
    press(app, "lesson_next")
    press(app, "lesson_leave")
    assert in_link(app, "lesson") is None
    assert in_link(app, "text") == "My own sentence."
    assert ">Lessons <" in html(app)


def test_leaving_restores_the_choices_from_before_also_after_a_reload(probe: OpenApp) -> None:
    app = probe("lessons", text="My own sentence.", checkpoint="everyday-en-de", merge="true")
    press(app, "open_probe", opens="translate")
    number, kept = component_data(app, "lesson_store")["before"]
    assert number > 0, "the browser keeps it once"
    assert kept["chosen"].items() >= {"text": "My own sentence.", "merge": "true"}.items()
    link = app.session_state["choices"].in_link()
    app = probe(**link)  # a new session, as after a reload
    assert component_data(app, "lesson_store")["before"] == [0, None], "the browser keeps what it has"
    app.session_state["lesson_visit"].before = read_before(json.loads(json.dumps(kept)), PAGES)
    press(app, "lesson_leave")
    assert in_link(app, "text") == "My own sentence."
    assert in_link(app, "merge") == "true"
    assert ">Lessons <" in html(app)
    later, nothing = component_data(app, "lesson_store")["before"]
    assert later > 0
    assert nothing is None, "the browser forgets it"


def test_finishing_restores_the_choices_too(probe: OpenApp) -> None:
    app = probe("lessons", text="My own sentence.")
    press(app, "open_probe", opens="translate")
    for _, after in pairwise(PROBE.steps):
        press(app, "lesson_next", opens=after.page)
    press(app, "lesson_finish")
    assert ">Lessons <" in html(app)
    assert in_link(app, "text") == "My own sentence."


def test_a_lesson_ends_with_what_the_visitor_has_found_in_own_runs(probe: OpenApp) -> None:
    app = probe(lesson="probe.length")
    app.button_group(key="lesson_answer_probe.length").set_value("short").run()
    app.text_input(key="text").set_value("The boy and the old man love the girl very much.").run()
    press(app, "lesson_next")
    app.number_input(key="lesson_answer_probe.number").set_value(1)
    press(app, "lesson_answer_probe.number_send")
    for step in PROBE.steps[2:]:
        press(app, "lesson_next", opens=step.page)
    press(app, "lesson_finish")
    said = [text.value for text in app.markdown]
    assert "It tries everything." in said
    assert any(one.startswith("**About length:** Good: 7 ") for one in said), "a right answer stays"
    assert any(one.startswith("**About number:** Sorry: ") for one in said), "a wrong answer has a result too"
    assert not any("About silence" in one for one in said), "an unsolved puzzle has found nothing"
    assert f"{len(PROBE.steps) - 2} steps have no result yet." in shown(app)
    press(app, "open_probe", opens="translate")
    app.switch_page("viz_app/pages/lessons.py").run()
    assert "About number" not in shown(app), "another lesson begins"


def test_an_offered_sentence_is_the_text_of_the_page(probe: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
    end_with(monkeypatch, offers=({"text": "I am tired."}, {"text": "Where is the station?"}))
    app = probe(lesson="probe.silence")
    app.selectbox(key="lesson_offer_probe.silence").set_value(1).run()
    assert app.text_input(key="text").value == in_link(app, "text") == "Where is the station?"
    assert app.selectbox(key="lesson_offer_probe.silence").value is None


def test_a_step_about_pointing_is_done_after_the_visitor_has_pointed(
    probe: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    def points(*_: object) -> Verdict:
        return Verdict(right=True, outcome="right", values={"tokens": 7})

    end_with(monkeypatch, page="translate", compare=points, points_at="map")
    app = probe(lesson="probe.silence")
    assert component_data(app, "lesson_store")["pointing"] == ["probe.silence", "map"]
    assert "Good: 7" not in shown(app)
    for name in ("probe.length", {"a": 1}, None, "probe.silence"):
        app.session_state["lesson_visit"].point(name)  # what the browser reports; the harness has no components
        app.run()
        assert ("**Right.** Good: 7" in shown(app)) == (name == "probe.silence")


def test_the_visitors_own_sentence_goes_along_and_a_reset_brings_back_that_of_the_step(probe: OpenApp) -> None:
    app, own = probe(lesson="probe.length"), "Where is the station?"
    press(press(press(app, "lesson_hint"), "lesson_hint"), "lesson_hint")
    app.text_input(key="text").set_value(own).run()
    press(app, "lesson_reset")
    assert in_link(app, "text") == TEXT
    app.text_input(key="text").set_value(own).run()
    for step in PROBE.steps[1:-1]:
        press(app, "lesson_next")
        assert in_link(app, "text") == own, step.name
    press(app, "lesson_next")
    assert in_link(app, "text") == TEXT, "the last step takes no other sentence"


def test_a_link_with_choices_keeps_them(probe: OpenApp) -> None:
    app = probe(lesson="probe.silence", text="Where is the station?", checkpoint="everyday-en-de")
    assert in_link(app, "text") == "Where is the station?"
    assert "This step is on the page Heads" in app.get("page_link")[0].proto.label, "the address names Translate"


@pytest.mark.parametrize("name", ["probe.nothing", "<b>.$x$" + "x" * 300])
def test_an_unknown_name_in_a_link_ends_in_a_sentence(probe: OpenApp, name: str) -> None:
    app = probe(lesson=name)
    assert "No lesson of this server has the step" in app.warning[0].value
    assert "<b>" not in app.warning[0].value
    assert app.text_input(key="text").value, "the page itself is there"
    assert in_link(app, "lesson") is None


def test_the_name_of_a_lesson_opens_its_first_step(probe: OpenApp) -> None:
    assert in_link(probe(lesson="probe"), "lesson") == "probe.length"


def test_who_presents_shows_the_page_then_the_answer_then_the_next_step(probe: OpenApp) -> None:
    app = probe(lesson="probe.length", present="true")
    for _ in range(2):  # the second time the step has been answered, and is hidden again
        assert not has(app, "text")
        press(app, "lesson_next")
        assert has(app, "text")
        assert "Good:" not in shown(app)
        press(app, "lesson_next")
        assert ":material/key: **Short** Good: 7" in shown(app)
        app.button_group(key="lesson_answer_probe.length").set_value("long").run()
        assert "**Not so.** Sorry: 7" in shown(app), "the class may try another answer"
        press(app, "lesson_next")
        assert in_link(app, "lesson") == "probe.number"
        assert in_link(app, "present") == "true"
        press(app, "lesson_back")


def test_no_press_of_a_presenter_ends_the_lesson(probe: OpenApp) -> None:
    app = probe(lesson="probe.silence", present="true")
    press(app, "lesson_next")
    assert ":material/lightbulb: The answer" in shown(app), "the answer to a puzzle is its last hint"
    assert "st-key-head_board{outline" in html(app)
    assert not has(app, "lesson_next"), "the keys of a presenter press only this button"
    press(app, "lesson_finish")
    assert ">Lessons <" in html(app)


def test_another_page_leads_back_to_the_step(probe: OpenApp) -> None:
    app = probe(lesson="probe.length")
    app.switch_page("viz_app/pages/steps.py").run()
    assert ">Step by step <" in html(app)
    assert app.get("page_link")[0].proto.label == "This step is on the page Translate. Open it."


def test_the_browser_gets_each_answer_with_its_number(probe: OpenApp) -> None:
    app = probe(lesson="probe.length")
    app.button_group(key="lesson_answer_probe.length").set_value("long").run()
    app.button_group(key="lesson_answer_probe.length").set_value("short").run()
    kept = component_data(app, "lesson_store")
    [[number, name, record]] = kept["changes"]
    assert (name, record) == ("probe.length", {"first": "long", "answer": "short", "right": True})
    assert number == 4, "what was there before, two answers, and the verdict"


def test_the_tour_is_offered_only_where_the_address_has_no_parameters(open_app: OpenApp) -> None:
    assert component_data(open_app(), "lesson_store")["offer"]
    for query in ({"text": TEXT}, {"present": "true"}):
        components = [element.proto.component_name for element in open_app(**query).get("bidi_component")]
        assert not any(name.endswith("lesson_store") for name in components)


@pytest.mark.parametrize("page", ["start", "lessons"])
def test_the_tour_stands_in_the_menu(open_app: OpenApp, page: str) -> None:
    app = press(open_app(page), "take_tour", opens="translate")
    assert ">Translate <" in html(app)
    assert "Type a sentence of your own, and press Enter." in shown(app)
    app.text_input(key="text").set_value("I see a dog.").run()
    assert "The model read “I see a dog\\.” and wrote" in shown(app)
    press(app, "lesson_leave")
    assert in_link(app, "lesson") is None
