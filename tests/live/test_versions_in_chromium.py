"""A published page is one version: while it is published again, on any host, and where a browser restricts it."""

import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from model.checkpoints.checkpoint import load_checkpoint
from model.inference.translate import translate
from tests.conftest import PATIENCE
from tests.live.hosts import HOME, Host, serve
from tests.live.variants import VARIANTS, write_checkpoint
from viz_app.export.site import published, site_file, site_files

FIRST, SECOND, THIRD = "everyday-en-de", "second", "third"  # lessons have the first one
TEXT = "A dog runs."
LINK = f"#translate?checkpoint={{}}&text={TEXT}"
KEPT = """async (part) => {
    const stores = await Promise.all((await caches.keys()).map((name) => caches.open(name)));
    return (await Promise.all(stores.map((store) => store.keys()))).flat().some(({ url }) => url.includes(part));
}"""
ACTIVE = "async () => Boolean((await navigator.serviceWorker.getRegistration())?.active)"
WAITS = "async () => Boolean((await navigator.serviceWorker.getRegistration())?.waiting)"
CACHING = {"Cache-Control": "max-age=600"}


@dataclass(frozen=True, kw_only=True)
class Version:
    files: Mapping[str, bytes]
    texts: Mapping[str, str]  # checkpoint → its translation of `TEXT`

    def path(self, part: str) -> str:
        """The address of the one file whose name begins so."""
        (name,) = (one for one in self.files if one.startswith(part))
        return HOME + name


def version(folder: Path, variants: Mapping[str, int]) -> Version:
    for name, variant in variants.items():
        (folder / name).mkdir(parents=True)
        write_checkpoint(folder / name, VARIANTS[variant])
    checkpoints = [published(folder / name) for name in variants]
    texts = {name: translate(load_checkpoint(folder / name), TEXT).text for name in variants}
    assert len(set(texts.values())) == len(texts)
    return Version(files=site_files(checkpoints), texts=texts)


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Version, Version]:
    """In the new one, the first checkpoint has other weights, the second is the same, the third needs other code."""
    folder = tmp_path_factory.mktemp("versions")
    old = version(folder / "old", {FIRST: 0, SECOND: 1})
    return old, version(folder / "new", {FIRST: 2, SECOND: 1, THIRD: -1})


@pytest.fixture(scope="module")
def one_file(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("one") / FIRST
    folder.mkdir()
    write_checkpoint(folder, VARIANTS[0])
    return site_file([published(folder)])


@pytest.fixture
def host() -> Iterator[Host]:
    with serve() as host:
        yield host


@pytest.fixture
def context(chromium: Browser) -> Iterator[BrowserContext]:
    with_all = chromium.new_context()
    yield with_all
    with_all.close()


@pytest.fixture
def plain_context(chromium: Browser) -> Iterator[BrowserContext]:
    """Without service workers."""
    without = chromium.new_context(service_workers="block")
    yield without
    without.close()


def shows(page: Page, text: str) -> None:
    expect(page.locator(".written").first).to_have_text(text)


def until(check: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not check():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def visit(context: BrowserContext, host: Host, link: str = LINK.format(FIRST), *, path: str = "") -> Page:
    page = context.new_page()
    page.goto(f"{host.url}{path}{link}")
    return page


def next_visit(context: BrowserContext, host: Host, text: str) -> Page:
    """The visit after all pages are closed. A browser needs a moment to forget them."""
    deadline = time.monotonic() + PATIENCE
    while True:
        page = visit(context, host)
        page.wait_for_selector("html[data-ready]")
        if page.locator(".written").first.text_content() == text:
            return page
        assert time.monotonic() < deadline
        page.close()
        time.sleep(0.2)


def kept(page: Page) -> None:
    """Wait until the site opens without a network."""
    until(lambda: page.evaluate(ACTIVE) and page.evaluate(KEPT, "/model."))


def choose(page: Page, *, checkpoint: str = "", language: str = "") -> None:
    page.locator("nav select").nth(0 if checkpoint else 1).select_option(checkpoint or language)


def ask(page: Page, text: str = TEXT) -> None:
    field = page.locator("input[name=text]")
    field.fill(text)
    field.press("Enter")


def weights(host: Host) -> list[str]:
    return [path for path in host.asked if "/model." in path]


def test_a_new_version_comes_as_a_whole_and_loads_only_what_has_changed(
    context: BrowserContext, host: Host, versions: tuple[Version, Version]
) -> None:
    old, new = versions
    host.files, host.headers = old.files, CACHING
    page = visit(context, host)
    shows(page, old.texts[FIRST])
    choose(page, checkpoint=SECOND)
    ask(page)
    shows(page, old.texts[SECOND])
    kept(page)
    host.files, host.asked = new.files, []
    other = visit(context, host)  # the browser finds the new version, and the old page stays open
    shows(other, old.texts[FIRST])
    until(lambda: other.evaluate(WAITS))
    page.get_by_role("link", name="Lessons").click()
    page.get_by_role("button", name=re.compile("Start: ")).first.click()
    choose(page, language="ko")
    expect(page.locator("html")).to_have_attribute("lang", "ko")
    expect(page.get_by_role("alert")).to_have_count(0)
    assert weights(host) == [new.path(f"checkpoints/{FIRST}/model")]
    for one in (page, other):
        one.close()
    last = next_visit(context, host, new.texts[FIRST])
    assert len(weights(host)) == 1
    assert not last.evaluate(KEPT, old.path("app").removeprefix(HOME))
    context.set_offline(True)
    for name in (FIRST, SECOND):
        shows(visit(context, host, LINK.format(name)), new.texts[name])


def test_an_old_page_says_that_its_files_are_gone_and_loads_the_new_version(
    context: BrowserContext, plain_context: BrowserContext, host: Host, versions: tuple[Version, Version]
) -> None:
    old, new = versions
    host.files, host.headers = old.files, CACHING
    with_worker, without = (visit(one, host, LINK.format(SECOND)) for one in (context, plain_context))
    for page in (with_worker, without):
        shows(page, old.texts[SECOND])
    kept(with_worker)
    still = old.path(f"checkpoints/{FIRST}/model")  # one file is still there, and comes after the page has said so
    host.files, host.slow = {**new.files, still.removeprefix(HOME): old.files[still.removeprefix(HOME)]}, {still: 2**16}
    choose(with_worker, checkpoint=FIRST)
    without.get_by_role("link", name="Lessons").click()
    for page in (with_worker, without):
        expect(page.get_by_role("alert")).to_contain_text("A new version of this page was published.")
        page.get_by_role("button", name="Load the new version").click()
    until(lambda: host.aborted == [still])
    ask(with_worker)
    shows(with_worker, new.texts[FIRST])
    without.get_by_role("button", name=re.compile("Start: ")).first.click()
    expect(without.locator("section.lesson")).to_be_visible()
    shows(visit(plain_context, host), new.texts[FIRST])


@pytest.mark.parametrize(
    ("broken", "how"),
    [
        ("app", "missing"),
        ("app", "cut"),
        ("style", "missing"),
        ("checkpoints/everyday-en-de/model", "cut"),
        ("checkpoints/everyday-en-de/model", "a page instead"),
    ],
)
def test_a_visit_during_an_upload_says_so_and_the_next_one_works(
    context: BrowserContext, host: Host, versions: tuple[Version, Version], broken: str, how: str
) -> None:
    _, new = versions
    name = new.path(broken).removeprefix(HOME)
    rest = {path: content for path, content in new.files.items() if path != name}
    host.files = {**rest, name: new.files[name][:-100]} if how == "cut" else rest
    host.soft, host.headers = how == "a page instead", CACHING
    page = visit(context, host)
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text(name)
    host.files = new.files
    page.close()
    shows(visit(context, host), new.texts[FIRST])


def test_a_visit_of_an_old_visitor_during_an_upload_stays_on_the_old_version(
    context: BrowserContext, host: Host, versions: tuple[Version, Version]
) -> None:
    old, new = versions
    host.files = old.files
    page = visit(context, host)
    shows(page, old.texts[FIRST])
    kept(page)
    half = {path: content for path, content in new.files.items() if not path.startswith("lessons.")}
    host.files, host.asked = half, []
    page.reload()
    shows(page, old.texts[FIRST])
    until(lambda: any("/lessons." in path for path in host.asked))
    host.files = new.files
    page.reload()
    shows(page, old.texts[FIRST])
    until(lambda: page.evaluate(WAITS))
    page.close()
    next_visit(context, host, new.texts[FIRST])


def test_the_checkpoint_chosen_last_answers_and_the_download_of_another_one_ends(
    plain_context: BrowserContext, host: Host, versions: tuple[Version, Version]
) -> None:
    _, new = versions
    host.files, host.slow = new.files, {f"/{FIRST}/model": 60_000}
    page = visit(plain_context, host)
    bar = page.locator("progress")
    expect(bar).to_have_attribute("value", re.compile("[1-9]"))
    choose(page, language="ko")
    expect(page.locator("html")).to_have_attribute("lang", "ko")
    ask(page, "A cat.")
    expect(bar).to_have_attribute("value", re.compile("[1-9]"))
    assert len(weights(host)) == 1, "the download goes on"
    choose(page, checkpoint=SECOND)
    choose(page, checkpoint=THIRD)
    ask(page)
    shows(page, new.texts[THIRD])
    until(lambda: new.path(f"checkpoints/{FIRST}/model") in host.aborted)
    choose(page, checkpoint=FIRST)
    choose(page, checkpoint=SECOND)
    host.slow = {}
    choose(page, checkpoint=FIRST)
    ask(page)
    shows(page, new.texts[FIRST])


@pytest.mark.parametrize(
    ("redirects", "aliases", "paths"),
    [
        ({f"{HOME}index.html": HOME}, {}, ["", "index.html"]),
        ({HOME: f"{HOME}index.html"}, {}, ["", "index.html"]),
        ({f"{HOME}index.html": f"{HOME}index"}, {f"{HOME}index": f"{HOME}index.html"}, ["index.html", "index", ""]),
        ({HOME.rstrip("/"): HOME, "/class/": HOME}, {}, ["../live", "../"]),
        ({HOME: HOME.rstrip("/")}, {HOME.rstrip("/"): f"{HOME}index.html"}, ["", "../live"]),
    ],
    ids=["index.html to the folder", "the folder to index.html", "no .html", "folders", "no slash"],
)
def test_a_host_may_redirect(
    context: BrowserContext,
    host: Host,
    versions: tuple[Version, Version],
    redirects: Mapping[str, str],
    aliases: Mapping[str, str],
    paths: list[str],
) -> None:
    old, _ = versions
    host.files, host.redirects, host.aliases = old.files, redirects, aliases
    for path in paths * 2:
        page = visit(context, host, path=path)
        shows(page, old.texts[FIRST])
        kept(page)
        page.close()
    context.set_offline(True)
    for path in [path for path in paths if not path.startswith("..")]:
        shows(visit(context, host, path=path), old.texts[FIRST])


NOT_SECURE = "delete window.caches; delete Crypto.prototype.subtle; delete Navigator.prototype.serviceWorker;"
REFUSING = "Object.defineProperty(window, 'caches', { get() { throw new DOMException('', 'SecurityError'); } });"


@pytest.mark.parametrize("limit", ["no-store", "not secure", "no caches", "full"])
def test_a_page_works_where_nothing_can_be_kept(
    chromium: Browser, host: Host, versions: tuple[Version, Version], limit: str
) -> None:
    old, _ = versions
    host.files = old.files
    if limit == "no-store":
        host.headers = {"Cache-Control": "no-store"}
    context = chromium.new_context(service_workers="block" if limit == "no caches" else "allow")
    page = context.new_page()
    page.add_init_script({"not secure": NOT_SECURE, "no caches": REFUSING}.get(limit, ";"))
    if limit == "full":
        origin = host.url.removesuffix(HOME)
        context.new_cdp_session(page).send("Storage.overrideQuotaForOrigin", {"origin": origin, "quotaSize": 1000})
    for _ in range(2):
        page.goto("about:blank")
        page.goto(f"{host.url}{LINK.format(FIRST)}")
        shows(page, old.texts[FIRST])
        page.get_by_role("link", name="Lessons").click()
        expect(page.get_by_role("button", name=re.compile("Start: ")).first).to_be_visible()
    context.close()


FRAME = '<!doctype html><iframe sandbox="allow-scripts" src="{}" width="1200" height="700"></iframe>'


def test_a_page_without_an_origin_works_or_says_what_to_do(
    context: BrowserContext, host: Host, versions: tuple[Version, Version], one_file: bytes, tmp_path: Path
) -> None:
    old, _ = versions
    for name, content in old.files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    page = context.new_page()
    page.goto((tmp_path / "index.html").as_uri())
    expect(page.get_by_role("alert")).to_contain_text("Put the folder on a web server")
    frames = {"frame.html": f"./{LINK.format(FIRST)}", "frame-one.html": f"one.html{LINK.format(FIRST)}"}
    host.files = {**old.files, "one.html": one_file}
    host.files |= {name: FRAME.format(link).encode() for name, link in frames.items()}
    page.goto(f"{host.url}frame.html")
    inside = page.frame_locator("iframe")
    expect(inside.get_by_role("alert")).to_contain_text("publish the page as one file")
    page.goto(f"{host.url}frame-one.html")
    expect(inside.locator(".written").first).to_have_text(old.texts[FIRST])
    host.headers = {"Access-Control-Allow-Origin": "*"}
    page.goto(f"{host.url}frame.html")
    expect(inside.locator(".written").first).to_have_text(old.texts[FIRST])


def test_one_file_that_is_cut_and_a_browser_without_scripts_get_a_sentence(
    context: BrowserContext, host: Host, one_file: bytes, tmp_path: Path
) -> None:
    file, page = tmp_path / "one.html", context.new_page()
    for size in (one_file.index(b'id="model.safetensors-') + 1000, len(one_file) - 1000):
        file.write_bytes(one_file[:size])
        page.goto(file.as_uri())
        expect(page.get_by_role("alert")).to_contain_text("This file is not complete. Copy it again.")
    host.files = {"one.html": one_file, "frame.html": b'<!doctype html><iframe sandbox src="one.html"></iframe>'}
    page.goto(f"{host.url}frame.html")
    expect(page.frame_locator("iframe").locator("noscript p").first).to_contain_text("Allow JavaScript for it.")
