"""The engine in a real browser: a worker reads a checkpoint over HTTP and translates."""

import threading
from base64 import b64encode
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser

from model.checkpoints.checkpoint import load_checkpoint
from model.inference.translate import translate
from model.interventions import Head, Intervention
from tests.conftest import BUNDLED, ROOT
from tests.live.test_engine_foreign import IDS, assert_same_arrays, open_both, recorded
from tools.foreign_families import family_named

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


FOREIGN = """async ({ config, weights, ids, target }) => {
    const { FOREIGN } = await import("/live/engine/foreign/open.js");
    const { Weights } = await import("/live/engine/safetensors.js");
    const { Trace } = await import("/live/engine/trace.js");
    const file = await (await fetch(`data:application/octet-stream;base64,${weights}`)).blob();
    const opened = await Weights.open({ file }), description = FOREIGN.describe({ "config.json": config });
    const model = FOREIGN.modelOf(description, opened), trace = new Trace();
    await opened.read();
    if (description.task === "translation") model.decode(target, model.encode(ids, trace), trace);
    else if (description.task === "continuation") model.forward(ids, trace);
    else model.logits(model.encode(ids, trace).states, trace);
    const found = trace.names.map((name) => [name, trace.joined(name)]);
    return found.map(([name, { data, shape }]) => [name, shape, [...data].map(String)]);
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


@pytest.mark.parametrize("title", ["GPT-NeoX", "Gemma 2", "BERT", "T5, gated (Flan-T5)"])
def test_a_browser_computes_the_models_of_others(title: str, chromium: Browser, site: str, tmp_path: Path) -> None:
    model: Any = open_both(tmp_path, family_named(title)).model
    target = [2, 17, 9]
    page = chromium.new_page()
    page.goto(f"{site}/live/engine/README.md")
    given = {
        "config": (tmp_path / "config.json").read_text(encoding="utf-8"),
        "weights": b64encode((tmp_path / "model.safetensors").read_bytes()).decode(),
        "ids": IDS,
        "target": target,
    }
    found = page.evaluate(FOREIGN, given)
    page.close()
    arrays = {
        name: np.array([float(n.replace("Infinity", "inf")) for n in numbers], dtype=np.float32).reshape(shape)
        for name, shape, numbers in found
    }
    assert_same_arrays(recorded(model, IDS, target), arrays)
