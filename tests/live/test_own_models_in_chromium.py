"""A visitor's own model in a published page: folders of other libraries, archives, and what the page refuses."""

import base64
import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from model.inference.opening import open_checkpoint
from model.inference.run import Result, Run
from model.inference.translate import compute
from tests.conftest import BUNDLED
from tests.foreign_folders import make_folder
from tests.live.conftest import Open
from tests.live.test_page_in_chromium import AXE, AXE_RUN, PHONE, ready, shown_map

DROP = """({ files, folder }) => {
    const transfer = new DataTransfer();
    for (const [name, text] of files) {
        const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
        transfer.items.add(new File([bytes], name));
    }
    for (const type of ["dragover", "drop"])
        document.body.dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer: transfer }));
}"""


def choose(page: Page, *paths: Path, folder: bool = False) -> None:
    fields = page.locator("input[type=file]")  # a phone has only that for files
    (fields.first if folder else fields.last).set_input_files([str(path) for path in paths])


def open_found(page: Page) -> None:
    button = page.get_by_role("button", name="Open this model")
    expect(button).to_be_visible()
    ready(page, button.click)
    page.wait_for_function("() => location.hash.startsWith('#translate')")
    expect(page.locator(".page svg.map").first).to_be_visible()


def python_result(folder: Path, text: str) -> Result:
    return compute(open_checkpoint(folder), Run(text=text))


def type_text(page: Page, text: str) -> None:
    field = page.locator("input[name=text]")
    field.fill(text)
    ready(page, lambda: field.press("Enter"))


# One of each task: test_engine_foreign.py compares all families.
@pytest.mark.parametrize("family", ["llama", "roberta", "t5", "bert-classifier"])
def test_a_chosen_folder_of_another_library_does_what_it_does_in_python(
    visit: Open, tmp_path: Path, family: str
) -> None:
    folder = make_folder(tmp_path / "Ein Modell & mehr", family)
    page = visit("#checkpoints")
    choose(page, folder, folder=True)
    facts = page.locator(".found .facts")
    expect(facts).to_contain_text("2 layers with 4 heads each")
    expect(facts).to_contain_text("MB while it is open")
    open_found(page)
    assert page.get_by_label("Checkpoint").input_value() == "Ein-Modell-mehr"
    text = "a dog <mask> in the park" if family in ("bert", "roberta") else "a dog runs in"
    type_text(page, text)
    ours = python_result(folder, text)
    assert page.locator(".written").text_content() == (ours.text or "(the model wrote nothing)")
    kind = next(iter(ours.maps))
    shown = shown_map(page)
    whole = ours.maps[kind][-1, 0][: len(shown), : shown.shape[1]]  # a large map is shown in sections
    np.testing.assert_allclose(np.nan_to_num(shown), whole, atol=6e-5)
    for name in page.locator("nav a").all_text_contents():
        ready(page, page.get_by_role("navigation").get_by_role("link", name=name, exact=True).click)
        assert page.get_by_role("alert").count() == 0, name


@pytest.mark.parametrize(("compression", "inside"), [(zipfile.ZIP_DEFLATED, "a/b/"), (zipfile.ZIP_STORED, "")])
def test_an_archive_opens_and_the_pages_keep_the_choice(
    visit: Open, tmp_path: Path, compression: int, inside: str
) -> None:
    archive = tmp_path / "tiny.zip"
    with zipfile.ZipFile(archive, "w", compression) as file:
        for path in sorted((BUNDLED / "tiny-bert-en").iterdir()):
            file.write(path, f"{inside}{path.name}")
        file.writestr(f"{inside}__MACOSX/._config.json", "x")
    page = visit("#checkpoints")
    choose(page, archive)
    expect(page.locator(".found .facts")).to_contain_text("Not read")
    open_found(page)
    type_text(page, "The [MASK] near the tree are hungry.")
    expect(page.locator(".written")).to_have_text("The friends near the tree are hungry.")
    assert page.get_by_role("navigation").get_by_role("link", name="Step by step").count() == 0, "it writes nothing"
    ready(page, page.get_by_role("navigation").get_by_role("link", name="Models").click)
    expect(page.locator("pre.card")).to_contain_text("# tiny-bert-en")
    expect(page.locator(".facts")).to_contain_text("about 5 MB while it is open")
    ready(page, lambda: page.get_by_label("Checkpoint").select_option("everyday-en-de"))
    expect(page.locator(".card").first).to_contain_text("CC-BY")


def test_dropped_files_are_described_and_a_cancelled_model_leaves_no_trace(visit: Open) -> None:
    page = visit("#steps")
    folder = BUNDLED / "tiny-gpt-en"
    files = [
        [name, base64.b64encode((folder / name).read_bytes()).decode()]
        for name in ("config.json", "generation_config.json", "model.safetensors", "tokenizer.json")
    ]
    page.evaluate(DROP, {"files": files})
    expect(page.locator(".found .facts")).to_contain_text("It continues a text.")
    page.locator(".found").get_by_role("button", name="Cancel").click()
    expect(page.locator(".found")).to_be_empty()
    assert page.get_by_label("Checkpoint").locator("option").all_text_contents() == ["everyday-en-de"]


def test_a_model_that_another_one_closed_opens_again(visit: Open) -> None:
    page = visit("#checkpoints")
    choose(page, BUNDLED / "tiny-gpt-en", folder=True)
    open_found(page)
    expect(page.locator("h1")).to_have_text("Continue a text")
    type_text(page, "Anna saw the dog and")
    ready(page, page.get_by_role("navigation").get_by_role("link", name="Models").click)
    choose(page, BUNDLED / "tiny-bert-en", folder=True)
    expect(page.locator(".found")).to_contain_text("Opening it closes your other model tiny-gpt-en.")
    open_found(page)
    expect(page.locator("h1")).to_have_text("Fill gaps")
    for _ in range(2):
        ready(page, page.go_back)
    expect(page.locator("main .page")).to_contain_text("The model tiny-gpt-en is closed")
    page.get_by_role("button", name="Open tiny-gpt-en again").click()
    expect(page.locator(".written")).to_contain_text("Anna saw the dog and")
    page.reload()
    expect(page.locator("main .page")).to_contain_text("tiny-gpt-en is closed, because this page was loaded again.")
    page.get_by_role("button", name="Go on with everyday-en-de").click()
    expect(page.locator(".written")).to_be_visible()
    assert "checkpoint=everyday-en-de" in page.url


def test_a_phone_opens_files_and_says_when_its_memory_is_small(visit: Open) -> None:
    page = visit("#checkpoints", **PHONE)
    assert page.locator("input[type=file]").count() == 1, "no dialog of a phone chooses a folder"
    page.evaluate("() => Object.defineProperty(Navigator.prototype, 'deviceMemory', { get: () => 0.001 })")
    choose(page, BUNDLED / "tiny-bert-en" / "config.json")
    expect(page.locator(".found .problem")).to_contain_text("Missing: model.safetensors, tokenizer.json.")
    choose(page, *(path for path in sorted((BUNDLED / "tiny-bert-en").iterdir()) if path.is_file()))
    expect(page.locator(".found")).to_contain_text("The browser may close this page")
    open_found(page)


def refused(folder: Path, name: str) -> None:
    """Change a folder so that it is refused."""
    config = json.loads((folder / "config.json").read_text())
    if name == "family":
        (folder / "config.json").write_text(json.dumps({**config, "model_type": "<img src=x>"}))
    if name == "weights":
        (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    if name == "config":
        (folder / "config.json").unlink()
    if name == "tokenizer":
        (folder / "tokenizer.json").write_text("{")
    if name == "header":
        (folder / "model.safetensors").write_bytes(b"\xff" * 4096)
    if name == "size":
        (folder / "config.json").write_text(json.dumps({**config, "n_embd": 1 << 30}))


REFUSED = {
    "family": "<img src=x>",
    "weights": "Save the model as safetensors",
    "config": "Missing: config.json.",
    "tokenizer": "The tokenizer is damaged",
    "header": "not a safetensors file",
    "size": "n_embd",
}


def test_what_cannot_be_opened_ends_in_a_sentence_before_weights_are_read(visit: Open, tmp_path: Path) -> None:
    page = visit("#checkpoints")
    for name, reason in REFUSED.items():
        folder = shutil.copytree(BUNDLED / "tiny-gpt-en", tmp_path / name)
        refused(folder, name)
        choose(page, folder, folder=True)
        expect(page.locator(".found .problem")).to_contain_text(reason, timeout=5_000)
        assert page.locator("main img[src=x]").count() == 0
    choose(page, BUNDLED / "tiny-gpt-en", folder=True)  # another try
    expect(page.locator(".found .facts")).to_contain_text("It continues a text.")


def ask_in_vain(page: Page, text: str) -> None:
    """Ask for a text while the worker is busy without a pause, as with a tokenizer that has no end."""
    page.workers[-1].evaluate("() => { setTimeout(() => { for (;;); }); }")
    page.locator("input[name=text]").fill(text)
    page.locator("input[name=text]").press("Enter")


def test_a_model_that_does_not_answer_leaves_the_page_free_and_can_be_stopped(visit: Open) -> None:
    page = visit("#checkpoints")
    choose(page, BUNDLED / "tiny-gpt-en", folder=True)
    open_found(page)
    ask_in_vain(page, "Anna saw")
    page.get_by_label("Language").select_option("zh")
    expect(page.locator("html")).to_have_attribute("lang", "zh")  # the page still draws
    page.locator(".settings select").last.select_option("en")
    page.locator(".working").get_by_role("button", name="Stop").click()
    expect(page.get_by_role("alert")).to_contain_text("The model was stopped. Choose a shorter text")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".written")).to_contain_text("Anna saw")
    ask_in_vain(page, "Anna saw the dog")
    ready(page, lambda: page.get_by_label("Checkpoint").select_option("everyday-en-de"))
    type_text(page, "The dog sleeps.")
    expect(page.locator(".written")).to_contain_text("Hund")


@pytest.mark.parametrize("phone", [False, True], ids=["a laptop, light", "a phone, dark"])
def test_axe_finds_nothing_while_a_model_is_offered(visit: Open, phone: bool) -> None:
    page = visit("#checkpoints", color_scheme="dark" if phone else "light", **PHONE if phone else {})
    page.evaluate(AXE)
    choose(page, *(path for path in sorted((BUNDLED / "tiny-bert-en").iterdir()) if path.is_file()))
    expect(page.locator(".found .facts")).to_be_visible()
    assert page.evaluate(AXE_RUN) == []
    assert page.evaluate("() => document.documentElement.scrollWidth <= document.documentElement.clientWidth")
