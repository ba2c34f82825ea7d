"""The engine in a real browser: a worker reads a checkpoint over HTTP and translates."""

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser

from model.checkpoints.checkpoint import load_checkpoint
from model.inference.translate import translate
from model.interventions import Head, Intervention
from tests.conftest import BUNDLED, ROOT
from tests.live.hosts import Quiet, address_of, serving
from tests.live.test_engine_foreign import CASES, IDS, assert_same_arrays, greedy, open_both, recorded
from tests.live.test_engine_parity import assert_same
from tools.family_in_page import array_of
from tools.small_models import Family

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


FOREIGN = """async (models) => {
    const { FOREIGN } = await import("/live/engine/foreign/open.js");
    const { Weights } = await import("/live/engine/safetensors.js");
    const { Trace } = await import("/live/engine/trace.js");
    const { editsOf } = await import("/live/engine/interventions.js");
    const { largestIndices } = await import("/live/engine/decoding/search.js");
    const numbers = ({ data, shape }) => {
        const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength), parts = [];
        for (let i = 0; i < bytes.length; i += 9999) parts.push(String.fromCharCode(...bytes.subarray(i, i + 9999)));
        return { numbers: btoa(parts.join("")), shape };
    };
    const run = async ({ config, weights, ids, target, silenced, count }) => {
        const file = await (await fetch(`data:application/octet-stream;base64,${weights}`)).blob();
        const opened = await Weights.open({ file }), description = FOREIGN.describe({ "config.json": config });
        const { task } = description, model = FOREIGN.modelOf(description, opened);
        await opened.read();
        const pass = (read, trace) => {
            if (task === "translation") return model.decode(read, model.encode(ids, trace), trace);
            if (task === "continuation") return model.decode(read, null, trace);
            return model.logits(model.encode(ids, trace).states, trace);
        };
        const [first, start] = task === "continuation" ? [ids, ids] : [target, target.slice(0, 1)];
        const trace = new Trace(), written = [];
        pass(first, trace);
        while (written.length < count) {
            const { data, shape } = pass([...start, ...written], new Trace());
            written.push(...largestIndices(data.subarray(-shape[1]), 1));
        }
        return {
            points: Object.fromEntries(trace.names.map((name) => [name, numbers(trace.joined(name))])), written,
            silenced: numbers(pass(first, new Trace({ edits: editsOf({ ablated: [silenced] }) }))),
        };
    };
    const found = [];
    for (const model of models) found.push(await run(model));
    return JSON.stringify(found);
}"""
TARGET = [2, 17, 9]  # the first one is where every decoder starts


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """The repository as static files."""
    with serving(partial(Quiet, directory=str(ROOT))) as server:
        yield address_of(server)


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


@pytest.mark.parametrize("missing", ["", "WebAssembly"], ids=["in WebAssembly", "in plain JavaScript"])
def test_a_browser_computes_the_models_of_others(missing: str, chromium: Browser, site: str, tmp_path: Path) -> None:
    """Every hook point of a pass, the text of greedy search, and the logits without a head.

    Some families of each task: test_engine_foreign.py compares all of them in Node.js, which has the same kernels.
    """
    given, expected = [], []
    for family in CASES[-1:] if missing else CASES[::5]:
        model, more = small_model(family, tmp_path / family.name)
        given.append(more)
        expected.append(what_the_library_computes(model, family.task, more))
    page = chromium.new_page()
    page.add_init_script(f"delete globalThis.{missing}" if missing else "")
    page.goto(f"{site}/live/engine/README.md")
    assert page.evaluate("typeof WebAssembly") == ("undefined" if missing else "object")
    found = json.loads(page.evaluate(FOREIGN, given), object_hook=array_of)
    page.close()
    for ours, theirs in zip(found, expected, strict=True):
        assert_same_arrays(theirs["points"], ours["points"])
        assert ours["written"] == theirs["written"]
        assert_same("logits without a head", theirs["silenced"], ours["silenced"])
        assert np.abs(theirs["silenced"] - theirs["points"]["logits"]).max() > 0.01


def small_model(family: Family, folder: Path) -> tuple[Any, dict[str, Any]]:
    """A small random model, and what a page needs of it."""
    model: Any = open_both(folder, family).model
    return model, {
        "config": (folder / "config.json").read_text(encoding="utf-8"),
        "weights": b64encode((folder / "model.safetensors").read_bytes()).decode(),
        "ids": IDS,
        "target": TARGET,
        "silenced": vars(Head("decoder" if family.task == "continuation" else "encoder", 0, 1)),
        "count": 8 if family.task in ("translation", "continuation") else 0,
    }


def what_the_library_computes(model: Any, task: str, given: Mapping[str, Any]) -> dict[str, Any]:
    edits = Intervention(ablated=frozenset({Head(**given["silenced"])})).edits()
    return {
        "points": recorded(model, IDS, TARGET),
        "written": greedy(model, task) if given["count"] else [],
        "silenced": recorded(model, IDS, TARGET, edits)["logits"],
    }
