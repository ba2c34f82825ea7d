"""Train one here: the buttons, the curves and the map of a model while it learns."""

import errno
import time
from collections.abc import Callable, Iterator
from weakref import WeakValueDictionary

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from model.checkpoints.checkpoint import WEIGHTS
from model.corpora.toys import TOYS
from model.inference.opening import open_translator
from model.inference.translate import forced_ids, translate
from tests.viz_app.conftest import charts, head_map
from tests.viz_app.server.test_gate import until
from viz_app.server import presence, training_jobs
from viz_app.server.jobs import Report
from viz_app.server.training_jobs import TRAININGS, Plan, Training
from viz_app.server.uploads import OWN

OpenApp = Callable[..., AppTest]
SMALL = {"toy": "copy", "toy_longest": "5", "toy_width": "32", "toy_heads": "2"}
PATIENCE = 120  # seconds for what takes five on a free processor


def press(app: AppTest, label: str) -> AppTest:
    (button,) = [button for button in app.button if button.label == label]
    return button.click().run()


def training_of(app: AppTest) -> Training | None:
    return TRAININGS.of(app.session_state["visitor"])


def passes(training: Training) -> int:
    history = training.folder / "history.csv"
    return len(history.read_text(encoding="utf-8").splitlines()) - 1 if history.exists() else 0


def labels(app: AppTest) -> dict[str, bool]:
    """Button → whether it can be pressed."""
    return {button.label: not button.disabled for button in app.button if button.key != "share"}


def test_a_model_is_trained_stopped_and_kept_and_the_map_is_its_own(open_app: OpenApp) -> None:
    app = open_app("training", **SMALL)
    assert "Train" in labels(app)
    assert "a diagonal" in app.info[0].value
    app = press(app, "Train")
    training: Training | None = training_of(app)
    assert training is not None
    end = time.monotonic() + PATIENCE
    while not passes(training) and time.monotonic() < end:
        assert labels(app) == {"Stop": True, "Resume": False, "Keep as a checkpoint": False}
        time.sleep(0.5)
        app.run()
    app = press(app, "Stop")
    while training.saving:
        assert time.monotonic() < end
        assert not any(can for label, can in labels(app).items())
        time.sleep(0.2)
        app.run()
    app.run()  # the training run may have ended after the page was drawn
    assert training.has_state
    assert not app.exception
    assert labels(app) == {"Start over": True, "Resume": True, "Keep as a checkpoint": True}
    history = pd.read_csv(training.folder / "history.csv")
    right, loss = charts(app)
    assert right["layout"]["yaxis"]["range"] == [0, 100]
    assert list(right["data"][0]["y"]) == history["valid_exact"].tolist()
    assert list(loss["data"][1]["y"]) == history["valid_loss"].tolist()
    checkpoint = open_translator(training.folder)
    text, answer = TOYS["copy"].example(5)
    read = translate(checkpoint, text, forced=forced_ids(checkpoint.tokenizers, answer))
    np.testing.assert_allclose(head_map(app), read.maps["cross"][0, 0], atol=1e-6)

    app = press(app, "Start over")  # asks first
    assert "it is deleted" in " ".join(text.value for text in app.markdown)
    assert training_of(app) is training
    app = press(app, "Keep as a checkpoint")
    assert "copy" in app.success[0].value
    assert app.session_state["checkpoint"] == "copy-trained-here"
    app = press(app, "Keep as a checkpoint")
    assert app.session_state["checkpoint"] == "copy-trained-here-2"
    assert len(OWN[app.session_state["visitor"]].uploads) == 2
    app = press(app, "Start over")  # it is kept, so nothing is lost
    assert training_of(app) not in (training, None)
    press(app, "Stop")
    assert app.session_state["checkpoint"] == "copy-trained-here-2"  # what is kept stays


def test_the_dialog_deletes_a_model_that_is_not_kept(open_app: OpenApp) -> None:
    app = open_app("training", **SMALL)
    before = Training(Plan(toy="copy", longest=5, d_model=32, layers=1, heads=2))
    before.folder.mkdir()
    (before.folder / WEIGHTS).touch()
    TRAININGS._trainings[app.session_state["visitor"]] = before
    app = press(press(app.run(), "Start over"), "Delete it and start over")
    after = training_of(app)
    assert after not in (before, None)
    after.stop()


@pytest.fixture
def two_tabs(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[AppTest, AppTest]]:
    """Two tabs of one browser. A training run has weights at once, and continues until it is stopped."""

    def work(training: Training, report: Report) -> None:
        (training.folder / "training").mkdir(parents=True, exist_ok=True)
        for path in (training.folder / WEIGHTS, training.folder / "training" / "state.safetensors"):
            path.touch()
        while True:
            report(1, 4)
            time.sleep(0.01)

    monkeypatch.setattr(Training, "_work", work)
    monkeypatch.setattr(presence, "VISITORS", WeakValueDictionary())
    monkeypatch.setattr(presence, "secret_of_browser", lambda: b"two tabs, 16 B !")
    one, two = open_app("training", **SMALL), open_app("training", **SMALL)
    yield one, two
    stopped(two)


def stopped(app: AppTest) -> Training:
    """Stop the training run of this browser without its page."""
    training = training_of(app)
    assert training is not None
    until(lambda: training.has_weights and training.has_state)
    training.stop()
    until(lambda: not training.saving)
    return training


def test_the_buttons_of_a_tab_act_on_the_training_run_of_another_tab(two_tabs: tuple[AppTest, AppTest]) -> None:
    one, two = two_tabs
    first = stopped(press(one, "Train"))
    one.run()
    press(press(two.run(), "Start over"), "Delete it and start over")
    second = training_of(two)
    assert second not in (first, None)
    press(one, "Resume")
    assert not one.error
    assert (first.active, second.active) == (False, True)
    stopped(two)
    press(press(two.run(), "Start over"), "Delete it and start over")
    press(one, "Stop")
    assert not training_of(one).active
    press(two.run(), "Resume")
    assert training_of(two).active
    assert (first.active, second.active) == (False, False)


def test_the_model_of_another_tab_is_deleted_only_after_a_question(two_tabs: tuple[AppTest, AppTest]) -> None:
    one, two = two_tabs
    learned = stopped(press(two, "Train"))
    press(one, "Train")  # there was no training run when this tab was drawn
    assert training_of(one) is learned
    press(press(two.run(), "Start over"), "Delete it and start over")
    newer = training_of(two)
    press(one, "Delete it and start over")  # the question was about the first training run
    assert training_of(one) is newer
    assert newer.active


def test_a_kept_model_that_learns_more_is_deleted_only_after_a_question(
    two_tabs: tuple[AppTest, AppTest],
) -> None:
    one, _ = two_tabs
    training = stopped(press(one, "Train"))
    training.kept = True
    press(one.run(), "Resume")
    stopped(one)
    press(one.run(), "Start over")
    assert training_of(one) is training


def test_the_page_works_if_no_second_process_can_be_prepared(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    def started() -> None:
        tried.append("start")
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(training_jobs, "start_process", started)
    monkeypatch.setattr(training_jobs.SPARE, "prepare", training_jobs.Spare().prepare)
    app = open_app("training", **SMALL)
    assert tried == ["start"]
    assert not app.error
    assert app.info


@pytest.mark.parametrize("toy", TOYS)
def test_every_task_says_what_to_expect(open_app: OpenApp, toy: str) -> None:
    app = open_app("training", toy=toy)
    assert TOYS[toy].expect in app.info[0].value
    assert app.slider[0].disabled == (toy == "dates")


def test_a_link_with_an_unknown_size_is_ignored(open_app: OpenApp) -> None:
    app = open_app("training", toy="x", toy_longest="99", toy_width="100000", toy_layers="70", toy_heads="3")
    assert not app.exception
    assert [one.value for one in app.selectbox if one.key and one.key.startswith("toy")] == ["reverse", 64, 1, 4]
