"""A published page opens models of a hub by their names, and asks no other host."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from headlight.command import main
from model.inference.opening import open_checkpoint
from model.inference.run import Run
from model.inference.translate import compute
from tests.foreign_folders import make_folder
from tests.live.conftest import PUBLISHED, Open
from tests.live.hosts import Quiet, address_of, serving
from tests.live.hub_server import Hub, HubModel, serve_hub
from tests.live.test_page_in_chromium import AXE, AXE_RUN, PHONE, ready, shown_map

NAME, TEXT = "someone/tiny-gpt2", "a dog runs in"
FETCHED = "(address) => fetch(address).then(({ status }) => status, () => 'refused')"


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("hub") / "tiny-gpt2", "gpt2")


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    with serve_hub() as hub:
        yield hub


@pytest.fixture(scope="module")
def address(hub: Hub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A site that may ask the hub."""
    folder = tmp_path_factory.mktemp("site") / "site"
    assert main(["publish", PUBLISHED, "--out", str(folder), "--hub", hub.address, hub.files]) == 0
    with serving(partial(Quiet, directory=str(folder))) as server:
        yield f"{address_of(server)}/"


@pytest.fixture
def model(hub: Hub, gpt2: Path) -> HubModel:
    hub.asked.clear()
    hub.parts.clear()
    one = HubModel(files={path.name: path.read_bytes() for path in gpt2.iterdir()} | {"onnx/config.json": b"{}"})
    hub.models = {NAME: one}
    return one


@pytest.fixture
def visit_hub(chromium: Browser, address: str, hub: Hub) -> Iterator[Open]:
    """Open a page of the site; it may ask the hub, and no other host."""
    pages: list[Page] = []
    strange: list[str] = []

    def open_page(link: str = "#checkpoints", **options: object) -> Page:
        page = chromium.new_context(**{"viewport": {"width": 1280, "height": 720}} | options).new_page()  # type: ignore[arg-type]
        pages.append(page)
        known = (address, hub.address, hub.files, "data:", "blob:")
        page.on("requestfinished", lambda one: None if one.url.startswith(known) else strange.append(one.url))
        page.on("pageerror", lambda error: strange.append(str(error)))
        page.goto(f"{address}{link}")
        page.wait_for_selector("html[data-ready]")
        return page

    yield open_page
    for page in pages:
        page.context.close()
    assert strange == []


def changed(model: HubModel, **fields: object) -> HubModel:
    return HubModel(**{**vars(model), **fields})


def find(page: Page, name: str) -> None:
    page.locator("input[name=hub]").fill(name)
    page.get_by_role("button", name="Find this model").click()


def open_found(page: Page) -> None:
    ready(page, page.get_by_role("button", name="Open this model").click)


def test_a_model_opens_by_its_name_and_does_what_it_does_in_python(
    visit_hub: Open, hub: Hub, model: HubModel, gpt2: Path
) -> None:
    page = visit_hub()
    host = hub.address.removeprefix("http://")
    expect(page.locator(".opens")).to_contain_text(f"so {host} learns which model you open")
    assert hub.asked == [], "nothing is asked before a visitor wants it"
    find(page, f"{NAME}@main")
    facts = page.locator(".found .facts")
    expect(facts).to_contain_text("2 layers with 4 heads each")
    expect(facts).to_contain_text("MB while it is open")
    expect(page.locator(".found .note")).to_contain_text(f"loads 1 MB from {host}")
    weights = len(model.files["model.safetensors"])
    assert sum(size for _, _, size in hub.parts) < weights / 4, "only the header of the weights is read"
    open_found(page)
    expect(page.locator(".page svg.map").first).to_be_visible()
    field = page.locator("input[name=text]")
    field.fill(TEXT)
    ready(page, lambda: field.press("Enter"))
    ours = compute(open_checkpoint(gpt2), Run(text=TEXT))
    assert page.locator(".written").text_content() == ours.text
    shown = shown_map(page)
    np.testing.assert_allclose(
        np.nan_to_num(shown), ours.maps["decoder"][-1, 0][: len(shown), : shown.shape[1]], atol=6e-5
    )
    assert f"hub={quote(f'{NAME}@main', safe='')}" in page.url
    assert max(size for _, _, size in hub.parts) <= 8 << 20
    assert sum(size for _, _, size in hub.parts) < 1.25 * weights, "no part is read twice"
    for _, headers in hub.asked:
        assert not {"referer", "cookie"} & headers.keys()
        assert TEXT not in str(headers)


def test_a_link_shows_what_it_found_and_opens_its_page_when_the_visitor_agrees(
    visit_hub: Open, hub: Hub, model: HubModel
) -> None:
    page = visit_hub(f"#heads?hub={NAME}&checkpoint=tiny-gpt2&text={quote(TEXT)}&layer=2")
    expect(page.locator(".found .facts")).to_contain_text("It continues a text.")
    assert sum(size for _, _, size in hub.parts) < len(model.files["model.safetensors"]) / 4
    open_found(page)
    page.wait_for_function("() => location.hash.startsWith('#heads')")
    expect(page.locator("input[name=text]")).to_have_value(TEXT)
    assert "layer=2" in page.url
    assert page.get_by_label("Checkpoint").input_value() == "tiny-gpt2"
    ready(page, lambda: page.get_by_label("Checkpoint").select_option(PUBLISHED))
    assert "hub=" not in page.url
    asked = len(hub.asked)
    page.go_back()
    expect(page.get_by_role("combobox", name="Checkpoint")).to_have_value("tiny-gpt2")
    expect(page.locator(".page .problem, .opening")).to_have_count(0)
    assert not [path for path, _ in hub.asked[asked:] if path.startswith("/api")], "it is still there"


def test_a_cancelled_link_leaves_no_trace(visit_hub: Open, model: HubModel) -> None:
    page = visit_hub(f"#translate?hub={NAME}")
    expect(page.locator(".found .facts")).to_be_visible()
    page.locator(".found").get_by_role("button", name="Cancel").click()
    expect(page.locator(".found")).to_be_empty()
    assert "hub=" not in page.url
    find(page, NAME)
    expect(page.locator(".found .facts")).to_be_visible()
    page.go_back()
    expect(page.locator(".found")).to_be_empty()


REFUSED = {
    "unknown": ({"status": 401}, "has no public model someone/unknown. Check the name."),
    "missing": ({"status": 404}, "has no public model"),
    "gated": ({"gated": True}, "only for people who have accepted its terms"),
    "closed": ({"file_status": 403}, "only for people who have accepted its terms"),
    "busy": ({"status": 429}, "too many requests"),
    "busy-files": ({"file_status": 429}, "too many requests"),
    "broken": ({"status": 500}, "answered with the error 500"),
    "offline": ({"status": 0}, "could not be reached. Check the connection"),
    "whole": ({"ranges": False}, "sends whole files"),
    "early": ({"missing": 1}, "model.safetensors ended too early"),
    "large": ({"sizes": {"model.safetensors": 3 << 30}}, "The weights have more than 2048 MB."),
    "listed": ({"sizes": {"config.json": 1 << 30}}, "config.json has 1024 MB, and the limit is 1 MB."),
    "announced": ({"length": 1 << 30}, "config.json has more than 1 MB"),
    "list": ({"sizes": {"config.json": "1"}}, "The list of files from"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_loaded_ends_in_a_sentence(visit_hub: Open, hub: Hub, model: HubModel, name: str) -> None:
    fields, sentence = REFUSED[name]
    hub.models[f"someone/{name}"] = changed(model, **fields)
    page = visit_hub()
    find(page, f"someone/{name}")
    expect(page.locator(".found .problem")).to_contain_text(sentence)
    find(page, NAME)
    expect(page.locator(".found .facts")).to_contain_text("It continues a text.")


def test_files_decide_what_opens(visit_hub: Open, hub: Hub, model: HubModel) -> None:
    files = dict(model.files)
    hub.models["someone/bin"] = changed(model, files={"config.json": files["config.json"], "pytorch_model.bin": b"x"})
    hub.models["someone/adapter"] = changed(model, files={**files, "adapter_model.safetensors": b"x"})
    hub.models["someone/long"] = changed(
        model, files={**files, "config.json": b" " * (3 << 20)}, sizes={"config.json": 9}
    )
    page = visit_hub()
    find(page, "someone/bin")
    expect(page.locator(".found .problem")).to_contain_text("pytorch_model.bin has weights in a format that can hold")
    find(page, "someone/adapter")
    expect(page.locator(".found .facts")).to_contain_text("adapter_model.safetensors")
    find(page, "someone/long")
    expect(page.locator(".found .problem")).to_contain_text("config.json has more than 1 MB")
    asked = len(hub.asked)
    for name in ("<img src=x>", "../someone/tiny-gpt2", "a/b/c", "a b", "someone/tiny-gpt2@../x"):
        find(page, name)
        expect(page.locator(".found .problem")).to_contain_text(f"{name} is not the name of a model")
    assert page.locator("main img").count() == 0
    assert len(hub.asked) == asked
    find(page, f" {hub.address}/{NAME} ")
    expect(page.locator(".found .facts")).to_be_visible()


def test_the_weights_can_be_cancelled_and_a_failure_is_said(visit_hub: Open, hub: Hub, model: HubModel) -> None:
    page = visit_hub()
    find(page, NAME)
    expect(page.locator(".found .facts")).to_be_visible()
    hub.models[NAME] = changed(model, pause=60)
    page.get_by_role("button", name="Open this model").click()
    expect(page.locator(".opening")).to_contain_text("0 of 1 MB")
    page.locator(".opening").get_by_role("button", name="Cancel").click()
    expect(page.locator(".opens")).to_be_visible()
    assert page.get_by_label("Checkpoint").locator("option").all_text_contents() == [PUBLISHED]
    hub.models[NAME] = model
    find(page, NAME)
    expect(page.locator(".found .facts")).to_be_visible()
    hub.models[NAME] = changed(model, missing=1)
    page.get_by_role("button", name="Open this model").click()
    expect(page.locator(".found .problem")).to_contain_text("model.safetensors ended too early. Try again.")


def test_the_policy_allows_the_hub_and_nobody_else(visit_hub: Open, hub: Hub, model: HubModel, address: str) -> None:
    with serve_hub() as other:
        hub.models["someone/elsewhere"] = changed(model, redirect=other.files)
        other.models = hub.models
        page = visit_hub()
        page.evaluate("async () => { await navigator.serviceWorker.ready; }")
        for _ in range(2):  # without and with the service worker
            assert page.evaluate(FETCHED, f"{hub.address}/api/models/{NAME}/revision/main") == 200
            assert page.evaluate(FETCHED, f"{other.address}/api/models/{NAME}/revision/main") == "refused"
            find(page, "someone/elsewhere")
            expect(page.locator(".found .problem")).to_contain_text("could not be reached")
            ready(page, page.reload)
        assert other.asked == []


def test_a_page_without_a_hub_asks_nobody(visit: Open, folder: Path) -> None:
    page = visit(f"#checkpoints?hub={NAME}")
    expect(page.locator("main")).to_contain_text(f"The link asks for what this page does not have: hub={NAME}.")
    assert page.locator("input[name=hub]").count() == 0
    for file in (folder / "class" / "live").glob("*.js"):
        assert "resolve/" not in file.read_text(encoding="utf-8"), "its script cannot ask"


@pytest.mark.parametrize("phone", [False, True], ids=["a laptop, light", "a phone, dark"])
def test_axe_finds_nothing_while_a_model_of_a_hub_is_offered(visit_hub: Open, model: HubModel, phone: bool) -> None:
    page = visit_hub(f"#checkpoints?hub={NAME}", color_scheme="dark" if phone else "light", **PHONE if phone else {})
    page.evaluate(AXE)
    expect(page.locator(".found .facts")).to_be_visible()
    assert page.evaluate(AXE_RUN) == []
    assert page.evaluate("() => document.documentElement.scrollWidth <= document.documentElement.clientWidth")
