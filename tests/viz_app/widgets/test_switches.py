"""A switch that `live/shared.json` describes is on the page, in the link and in the run, without more code."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from model.inference.run import Run
from tests.viz_app.conftest import NAME, TEXT, component_data
from viz_app.content.shared import SWITCHES
from viz_app.services import models
from viz_app.session.choice_forms import FORM_NAMES, FORMS
from viz_app.widgets.switches import ViewSettings

OpenApp = Callable[..., AppTest]


@pytest.fixture
def switches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two more switches: one that changes the run, and one that changes two settings of the view."""
    texts = {"form": "switch", "help": "What it does."}
    more: dict[str, dict[str, Any]] = {
        "unordered": {"label": "Without positions", "run": {"changes": "nopositions"}, **texts},
        "words_only": {"label": "Words only", "view": {"merge": True, "hide_special": True}, **texts},
    }
    for name, switch in more.items():
        monkeypatch.setitem(SWITCHES, name, switch)
        monkeypatch.setitem(FORMS, name, FORM_NAMES["switch"])


@pytest.mark.usefixtures("switches")
def test_a_switch_changes_the_run_on_all_pages(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[Run] = []
    compute = models.compute
    monkeypatch.setattr(models, "translates_together", lambda checkpoint: False)  # so that each run is computed alone
    monkeypatch.setattr(models, "compute", lambda checkpoint, run: runs.append(run) or compute(checkpoint, run))
    text = f"{TEXT} Danke."  # no other test keeps the result of this text
    app = open_app(checkpoint=NAME, text=text)
    app.toggle(key="unordered").set_value(True).run()
    assert [run.to_json() for run in runs][-2:] == [{"text": text}, {"text": text, "changes": "nopositions"}]
    assert "true" in app.query_params["unordered"]
    linked = open_app("inside", checkpoint=NAME, text=text, unordered="true")
    assert linked.toggle(key="unordered").value


@pytest.mark.usefixtures("switches")
def test_a_switch_changes_several_settings_of_the_view(open_app: OpenApp) -> None:
    app = open_app(checkpoint=NAME, text=TEXT, words_only="true")
    drawn = component_data(app, "attention_map")
    assert drawn["queries"][-1] != "</s>"
    assert not app.toggle(key="merge").value  # a switch does not turn others on


def test_every_switch_changes_what_exists() -> None:
    settings = {field.name for field in fields(ViewSettings)}
    for name, switch in SWITCHES.items():
        assert len(switch.keys() & {"view", "run"}) == 1, name
        assert switch.get("view", {}).keys() <= settings, name
        Run.from_json({"text": "", **switch.get("run", {})})
