"""Firefox: a published page computes what Python computes, and the app draws its maps."""

from http.server import ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import pytest

from model.checkpoints.checkpoint import Checkpoint, load_checkpoint
from model.inference.opening import open_checkpoint
from model.inference.run import Run
from model.inference.translate import compute, translate
from model.interventions import Head, Intervention
from tests.browser.conftest import DRAWN, App
from tests.conftest import BUNDLED
from tests.firefox import ENTER, FIND, Tab
from tests.firefox import firefox as firefox
from tests.firefox import tab as tab
from tests.foreign_folders import make_folder
from tests.live.conftest import PUBLISHED
from tests.live.conftest import folder as folder
from tests.live.conftest import host as host
from tests.live.test_page_in_chromium import KEPT

TEXT = "The dog sleeps because it is tired."
OPENING = "Where is the station?"  # that of the app
DECIDED_BY_ONE_HEAD = "My father is cooking and my mother is reading a newspaper."
WRITES = "(text) => document.querySelector('.written')?.textContent === text"
# Whether the large map says these numbers about its cells, once somebody points at each.
SAYS = f"""(weights) => {{
    const home = ({FIND})('svg.map')?.getRootNode();
    return weights.every((row, query) => row.every((weight, key) => {{
        const cell = home?.querySelector(`[data-cell="${{query}},${{key}}"]`);
        cell?.dispatchEvent(new PointerEvent('pointerover', {{ bubbles: true }}));
        return cell && Math.abs(/[0-9.]+$/.exec(home.querySelector('.says').textContent)?.[0] - weight) <= 1e-5;
    }}));
}}"""
DRAWN_HERE = f"() => ({FIND})('.page svg.map')"
MEASURED = "() => document.querySelector('main')?.textContent.includes('The sign ≠ marks heads')"
OFFLINE_READY = f"async () => await navigator.serviceWorker.ready && await ({KEPT})()"
# The groups of buttons that stand in more than one row.
BROKEN = """() => [...document.querySelectorAll('[data-testid=stButtonGroup]')].filter((group) => new Set(
    [...group.querySelectorAll('button')].map((one) => one.getBoundingClientRect().top)).size > 1).length"""


@pytest.fixture(scope="module")
def checkpoint() -> Checkpoint:
    return load_checkpoint(BUNDLED / PUBLISHED)


@pytest.fixture
def root(host: ThreadingHTTPServer) -> str:
    return f"http://127.0.0.1:{host.server_port}/class/live/"


def type_text(tab: Tab, text: str) -> None:
    tab.wait(DRAWN_HERE)
    tab.click("input[name=text]")
    tab.call("() => document.querySelector('input[name=text]').select()")
    tab.press(text + ENTER)


def test_a_published_page_computes_what_python_computes_and_works_offline(
    tab: Tab, root: str, checkpoint: Checkpoint
) -> None:
    tab.open(root)
    type_text(tab, TEXT)
    ours = translate(checkpoint, TEXT)
    tab.wait(WRITES, ours.text)
    tab.click('[aria-label="layer 2, head 5"]')
    tab.wait("() => location.hash.includes('layer=2&head=5')")
    tab.wait(SAYS, ours.maps["cross"][1, 4].tolist())
    tab.wait(OFFLINE_READY)
    tab.set_offline(True)
    tab.reload()
    tab.wait(WRITES, ours.text)
    tab.set_offline(False)


def test_one_file_opens_from_a_disk_and_a_silenced_head_changes_its_translation(
    tab: Tab, folder: Path, checkpoint: Checkpoint
) -> None:
    tab.open(f"{(folder / 'one.html').as_uri()}#heads?text={quote(DECIDED_BY_ONE_HEAD)}")
    tab.wait(MEASURED)
    tab.click('[role=switch][aria-label^="cross-attention, layer 1, head 3"]')
    silenced = Intervention(ablated=frozenset({Head("cross", 0, 2)}))
    expected = [translate(checkpoint, DECIDED_BY_ONE_HEAD, edits=edits).text for edits in (None, silenced.edits())]
    assert expected[0] != expected[1]
    lines = "[...document.querySelectorAll('.hl-lines bdi')].map(({ textContent }) => textContent.trim())"
    tab.wait(f"(expected) => String({lines}) === String(expected)", expected)


def test_an_own_model_opens_and_a_step_of_a_lesson_is_answered(tab: Tab, root: str, tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "model", "gpt2")
    tab.open(f"{root}#checkpoints")
    tab.choose("input[type=file]:not([webkitdirectory])", *sorted(folder.iterdir()))
    tab.click("button", "Open this model")
    tab.wait("() => location.hash.startsWith('#translate')")
    type_text(tab, "a dog runs in")
    tab.wait(WRITES, compute(open_checkpoint(folder), Run(text="a dog runs in")).text)
    tab.open(f"{root}#inside?lesson=query-key-value.row")
    tab.click("button", "Always 1")
    tab.wait("() => document.querySelector('.lesson .outcome')?.textContent.includes('Right.')")


def test_the_app_draws_the_map_of_the_chosen_head_below_one_row_of_choices(
    tab: Tab, app: App, checkpoint: Checkpoint
) -> None:
    tab.open(app.url)
    tab.wait(DRAWN)
    assert tab.call(BROKEN) == 0, "a scroll bar takes room here; in Chromium without a screen it takes none"
    tab.click('[aria-label="layer 2, head 5"]')
    tab.wait("() => location.search.includes('layer=2&head=5')")
    tab.wait(DRAWN)
    tab.wait(SAYS, translate(checkpoint, OPENING).maps["cross"][1, 4].tolist())
