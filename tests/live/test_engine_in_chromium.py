"""The engine in a real browser: a worker reads a checkpoint over HTTP and translates."""

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser

from model.checkpoints.checkpoint import load_checkpoint
from model.inference.translate import translate
from model.interventions import Head, Intervention
from tests.conftest import BUNDLED, ROOT

TEXT = "Where is the train station, please?"
SCRIPT = """async ({ checkpoint, text, changes, inWorker }) => {
    const { LocalEngine, startEngine } = await import("/live/engine/engine.js");
    const file = (name) => fetch(`${checkpoint}/${name}`);
    const [config, tokenizer] = [await file("config.json"), await file("tokenizer.json")];
    const engine = inWorker ? startEngine("/live/engine/worker.js") : new LocalEngine();
    const texts = [], maps = {};
    await engine.open({
        texts: { "config.json": await config.text(), "tokenizer.json": await tokenizer.text() },
        weights: { "model.safetensors": await (await file("model.safetensors")).blob() },
    });
    const report = (step) => texts.push(step.text);
    const translation = await engine.result({ text, changes }, {}, { report });
    for (const [kind, { data }] of Object.entries(translation.maps)) maps[kind] = [...data];
    const controller = new AbortController();
    const cancelled = await engine.result({ text }, {}, { signal: controller.signal, report: () => controller.abort() })
        .catch((error) => error.code);
    return { texts, maps, cancelled, ids: translation.written.map(({ id }) => id) };
}"""


class Quiet(SimpleHTTPRequestHandler):
    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        pass

    def log_error(self, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """The repository as static files."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(ROOT)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("in_worker", [True, False], ids=["in a worker", "in the page"])
def test_a_browser_writes_the_same_tokens_with_the_same_maps(chromium: Browser, site: str, in_worker: bool) -> None:
    folder, head = BUNDLED / "everyday-en-de", Head("cross", 2, 1)
    changed = Intervention(ablated=frozenset({head}))
    ours = translate(load_checkpoint(folder), TEXT, edits=changed.edits())
    page = chromium.new_page()
    page.goto(f"{site}/live/engine/README.md")
    given: dict[str, Any] = {"checkpoint": "/checkpoints/everyday-en-de", "text": TEXT, "inWorker": in_worker}
    found = page.evaluate(SCRIPT, given | {"changes": changed.code()})
    page.close()
    assert found["ids"] == [token.id for token in ours.written]
    assert found["texts"][-1] == ours.text
    assert len(found["texts"]) == len(ours.written)
    for kind, maps in ours.maps.items():
        np.testing.assert_allclose(np.array(found["maps"][kind]), maps.ravel(), atol=1e-5)
    assert found["cancelled"] == "cancelled"
