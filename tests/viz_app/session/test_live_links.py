"""A link of a published page opens in the app, and a link of the app in a published page: the same text and changes."""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest
from streamlit.testing.v1 import AppTest

from model.checkpoints.checkpoint import Checkpoint
from model.inference.translate import translate
from model.interventions import Intervention
from tests.conftest import BUNDLED
from tests.live.engine import run_engine
from tests.viz_app.conftest import NAME, compared_lines, html
from viz_app.content.shared import CHOICES, PUBLISHED_PAGES
from viz_app.sections.heads.ablation_board import CLICKS
from viz_app.sections.positions.order import shuffled
from viz_app.sections.translate.maps import VIEWS
from viz_app.session.choice_forms import FORMS

TEXT = "Die Katze schläft & der Hund frisst = viel."
CHANGES = "off.cross.3.1-2-3-4~uniform.decoder.2.5~paint.encoder.1.4.2.3.0.75"
SAMPLES = {
    **{
        "checkpoint": "everyday-de-en",
        "hub": "openai-community/gpt2@main",
        "text": TEXT,
        "second": "Ein zweiter Text.",
        "lang": "ko",
        "lesson": "query-key-value.row",
        "kind": "encoder",
        "view": "lines",
        "head": "max",
    },
    **{"forced": "0.300-2.17", "intervention": CHANGES, "click_means": "flatten", "mask_kind": "cross"},
    **{"steps_kind": "decoder", "position_tab": "waves", "painted_weight": "0.35", "head_temperature": "2.5"},
    **{name: "true" for name, choice in CHOICES.items() if choice["form"] == "switch" and "published" in choice},
    **dict.fromkeys(("layer", "step", "query", "window_row", "window_column", "shuffle", "sentence"), "2"),
    **{"atlas_rule": "previous > 0.5 and layer <= 2", "atlas_x": "sinks", "atlas_y": "entropy", "atlas_sinks": "out"},
    **{"atlas_head": "cross.3.1", "atlas_second": "encoder.1.2", "atlas_like": "first>later@-1"},
    "atlas_beside": "everyday-en-zh",
    **{"method": "greedy", "steps_view": "greedy", "heads_tab": "board", "inside_tab": "head", "mask_tab": "right"},
    **{"lessons_tab": "learn", "checkpoint_tab": "card", "length": "64", "base": "10000", "width": "256"},
    **{f"batch_{code}_{n}": "" if n == 4 else TEXT for code in ("en", "de", "zh") for n in range(1, 5)},
}


def engine(*jobs: Mapping[str, object]) -> list[Any]:
    return run_engine(BUNDLED / NAME, [{"pages": list(PUBLISHED_PAGES), **job} for job in jobs])


def test_every_choice_has_one_name_and_one_form_in_both() -> None:
    link = f"#heads?{urlencode(SAMPLES)}"
    (found,) = engine({"job": "link", "link": link})
    assert {name for name, choice in CHOICES.items() if choice.keys() & {"published", "always"}} == set(SAMPLES)
    assert (found["page"], found["choices"]) == ("heads", SAMPLES)
    assert parse_qsl(found["link"].partition("?")[2], keep_blank_values=True) == list(SAMPLES.items())
    for name, text in SAMPLES.items():
        value = FORMS[name].read(text)
        assert value is not None, name
        assert FORMS[name].write(value) == text, name
    assert {"heatmaps", "lines"} <= set(VIEWS)
    assert set(CLICKS) == {"silence", "flatten"}


@pytest.mark.parametrize(
    ("link", "choices"),
    [
        ("#translate?text=Where is the station?&layer=1", {"text": "Where is the station?", "layer": "1"}),
        ("#translate?text=Where%20is%20Tom%20&%20Jerry?&layer=1", {"text": "Where is Tom & Jerry?", "layer": "1"}),
        ("#translate?text=50% of C# = 1 + 2&head=3", {"text": "50% of C# = 1 + 2", "head": "3"}),
        ("#translate?text=a+b&", {"text": "a b"}),
    ],
)
def test_a_link_that_a_person_wrote_keeps_its_text(link: str, choices: Mapping[str, str]) -> None:
    (found,) = engine({"job": "link", "link": link})
    assert found["choices"] == choices


def test_every_sign_of_a_text_comes_back_from_a_link() -> None:
    texts = ["a&layer=3", "a?b#c", "50% 20%", "1+1=2", "%20", "%", " x ", "你好 &=+%#?", "a&b=c d"]
    links = [f"#translate?{urlencode({'text': text})}" for text in texts]
    found = engine(*({"job": "link", "link": link} for link in links))
    assert [one["choices"] for one in found] == [{"text": text} for text in texts]
    assert [one["link"] for one in found] == [link.replace("~", "%7E") for link in links]


@pytest.mark.parametrize("code", ["off.cross.0.1", "paint.cross.1.1.2.1.0.5~paint.cross.1.1.2.3.0.5", "off.cross"])
def test_a_code_without_sense_is_no_change_in_both(code: str) -> None:
    assert FORMS["intervention"].read(code) is None
    (found,) = engine({"job": "link", "link": f"#heads?intervention={code}"})
    assert found["choices"] == {}


def test_a_changed_run_is_the_same_in_both_and_its_link_comes_back(
    open_app: Callable[..., AppTest], checkpoint: Checkpoint
) -> None:
    forced = next(one.id for one in translate(checkpoint, TEXT).written[1].candidates[1:])
    choices = {"checkpoint": NAME, "text": TEXT, "kind": "encoder", "layer": "1", "head": "4"}
    choices |= {"forced": f"1.{forced}", "intervention": CHANGES}
    here = {"job": "opened", "link": f"#heads?{urlencode(choices)}"}
    app = open_app("heads", **choices)
    address = {name: "".join(value) for name, value in app.query_params.items()}
    assert choices.items() <= address.items()
    link = f"#heads?{urlencode(address)}"
    first, second, read = engine(here, {"job": "opened", "link": link}, {"job": "link", "link": link})
    edits = Intervention.from_code(CHANGES).edits()
    changed = translate(checkpoint, TEXT, forced={1: forced}, edits=edits).text
    assert changed != translate(checkpoint, TEXT, forced={1: forced}).text
    assert first == second == compared_lines(app)[1] == changed
    assert choices.items() <= read["choices"].items()
    steps = open_app("steps", **choices)
    assert f">{translate(checkpoint, TEXT, forced={1: forced}).text}</bdi>" in html(steps)


def test_a_random_order_has_the_same_number_in_both() -> None:
    cases = [(1, "the boy loves the girl"), (999, " ".join("abcdefghijklmnopqrstuvwxyz")), (7, "我等他吧今天很冷")]
    found = engine(*({"job": "shuffled", "number": number, "text": text} for number, text in cases))
    assert found == [shuffled(text, number) for number, text in cases]
