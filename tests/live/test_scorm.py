"""`headlight publish --scorm`: a package for learning platforms, and a learner in it."""

import json
import subprocess
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from shutil import copy
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Browser, FrameLocator, Page, expect

from headlight.command import main
from tests.conftest import ROOT
from tests.javascript.check import MODULES, install, program
from tests.live.hosts import Quiet, address_of, serving
from tests.live.test_publish import data_of
from viz_app.course.catalogue import LESSONS, TOUR
from viz_app.course.lesson import Number, OneOf, OneToken
from viz_app.export.scorm import MANIFEST

NAME, LESSON, KEPT = "everyday-en-de", "query-key-value", "headlight-lessons"
PACKAGING, ADL = "{http://www.imsproject.org/xsd/imscp_rootv1p1p2}", "{http://www.adlnet.org/xsd/adlcp_rootv1p2}"
# A platform: the API of scorm-again in the window around the page. What it commits is its memory of a learner.
PLATFORM = """<!doctype html><title>Platform</title><script src="scorm12.min.js"></script>
<script>
const kept = JSON.parse(localStorage.getItem("learner") ?? "null");
window.API = new Scorm12API({ autocommit: false, logLevel: 5 });
window.problems = [];
API.on("CommitError", () => problems.push("commit"));
if (kept) API.loadFromJSON(kept);
window.committed = kept;
API.on("LMSCommit", () => {
  committed = API.renderCMIToJSONObject().cmi;
  localStorage.setItem("learner", JSON.stringify(committed));
});
API.on("LMSFinish", () => localStorage.setItem("finished", API.lastErrorCode));
</script>
<iframe src="package/index.html" style="width:1200px;height:680px"></iframe>"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("package") / "lesson.zip"
    assert main(["publish", NAME, "--scorm", "--lesson", LESSON, "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def platform(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a platform that has unpacked the package."""
    install()
    root = tmp_path_factory.mktemp("platform")
    with zipfile.ZipFile(package) as file:
        file.extractall(root / "package")
    copy(MODULES / "scorm-again" / "dist" / "scorm12.min.js", root)
    (root / "index.html").write_text(PLATFORM, encoding="utf-8")
    with serving(partial(Quiet, directory=str(root))) as server:
        yield f"{address_of(server)}/"


def test_a_manifest_describes_one_object_with_every_file(package: Path) -> None:
    """What the content packaging of SCORM 1.2 asks of a package for a platform."""
    with zipfile.ZipFile(package) as file:
        root = ElementTree.fromstring(file.read(MANIFEST))
        names = file.namelist()
    assert root.tag == f"{PACKAGING}manifest"
    assert [one.tag for one in root] == [f"{PACKAGING}{name}" for name in ("metadata", "organizations", "resources")]
    metadata, organizations, resources = root
    assert [(one.tag, one.text) for one in metadata] == [
        (f"{PACKAGING}schema", "ADL SCORM"),
        (f"{PACKAGING}schemaversion", "1.2"),
    ]
    (organization,) = organizations
    assert organizations.attrib == {"default": organization.attrib["identifier"]}
    title, item = organization
    assert (title.tag, title.text) == (f"{PACKAGING}title", "Query, key, value")
    assert [one.tag for one in item] == [f"{PACKAGING}title"], "no mastery score: an answer can be corrected"
    (resource,) = resources
    assert item.attrib["identifierref"] == resource.attrib["identifier"]
    assert resource.attrib["type"] == "webcontent"
    assert resource.attrib[f"{ADL}scormtype"] == "sco"
    listed = [unquote(one.attrib["href"]) for one in resource]
    assert sorted([*listed, MANIFEST]) == sorted(names)
    assert resource.attrib["href"] in listed
    identifiers = [one.attrib["identifier"] for one in (root, organization, item, resource)]
    assert len(set(identifiers)) == 4
    assert all(one[0].isalpha() for one in identifiers)
    location = root.attrib["{http://www.w3.org/2001/XMLSchema-instance}schemaLocation"].split()
    assert location[::2] == [PACKAGING[1:-1], ADL[1:-1]]
    assert location[1::2] == ["imscp_rootv1p1p2.xsd", "adlcp_rootv1p2.xsd"]


def test_the_same_package_has_the_same_bytes_and_is_replaced(package: Path) -> None:
    before = package.read_bytes()
    assert main(["publish", NAME, "--scorm", "--lesson", LESSON, "--out", str(package)]) == 0
    assert package.read_bytes() == before


def test_only_a_package_has_the_script_for_platforms_and_it_has_no_service_worker(
    package: Path, tmp_path: Path
) -> None:
    with zipfile.ZipFile(package) as file:
        page, names = file.read("index.html").decode(), file.namelist()
    assert [name for name in names if name.startswith("scorm.")]
    assert not [name for name in names if "worker" in name or "webmanifest" in name]
    assert 'name="offline"' not in page
    steps = json.loads(data_of(page, "package"))["steps"]
    assert steps
    assert {step.split(".")[0] for step in steps} == {LESSON}
    assert main(["publish", NAME, "--out", str(tmp_path / "site")]) == 0
    for path in (tmp_path / "site").rglob("*.js"):
        assert "LMS" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--scorm", "--out", "site"], "one file with the ending .zip"),
        (["--out", "site.zip"], "Add --scorm"),
        (["--lesson", LESSON, "--out", "site"], "needs --scorm"),
        (["--scorm", "--lesson", "no-such", "--out", "a.zip"], "Choose one of these: why-attention"),
        (["--scorm", "--lesson", "the-whole-layer", "--out", "a.zip"], "no step of the-whole-layer"),
        (["--pages", "--out", "one.html"], "--pages needs a folder"),
        (["--pages", "--scorm", "--out", "one.zip"], "--pages needs a folder"),
    ],
)
def test_options_that_contradict_each_other_get_a_sentence(
    arguments: list[str],
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["publish", NAME, *arguments]) == 1
    assert reason in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_another_zip_file_is_never_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "holiday.zip"
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("photo.txt", "mine")
    before = out.read_bytes()
    assert main(["publish", NAME, "--scorm", "--out", str(out)]) == 1
    assert "did not write" in capsys.readouterr().err
    assert out.read_bytes() == before


def inside(page: Page) -> FrameLocator:
    frame = page.frame_locator("iframe")
    expect(frame.locator("html[data-ready]")).to_be_attached()
    return frame


def answer(frame: FrameLocator, name: str) -> None:
    frame.get_by_role("group", name="Your answer").get_by_role("button", name=name).click()


def core(page: Page, **values: object) -> None:
    """Wait until the platform has these values of `cmi.core`."""
    for name, value in values.items():
        path = f"committed?.core.{name.replace('_of_', '.')}"
        page.wait_for_function(f"(value) => String({path}) === value", arg=str(value), timeout=30_000)


def test_a_platform_gets_the_steps_and_another_browser_goes_on(chromium: Browser, platform: str) -> None:
    context = chromium.new_context(viewport={"width": 1280, "height": 720})
    page = context.new_page()
    page.goto(platform)
    frame = inside(page)
    expect(frame.locator("section.lesson h1")).to_contain_text("A row of weights")
    core(page, lesson_status="incomplete", score_of_raw=0, score_of_min=0, score_of_max=100)
    answer(frame, "The number of keys")
    page.wait_for_function("committed.suspend_data.length > 2")
    answer(frame, "Always 1")
    expect(frame.locator(".lesson .outcome")).to_contain_text("Right.")
    core(page, score_of_raw=10)
    assert json.loads(page.evaluate("committed.suspend_data")) == {LESSON: {"row": ["one", 1, "keys"]}}
    said = page.evaluate("Object.values(committed.interactions.childArray ?? committed.interactions)")
    assert [(one["id"], one["result"]) for one in said] == [(f"{LESSON}.row", "correct")]
    assert page.evaluate(f"localStorage.getItem('{KEPT}')") is None, "another learner may use this browser"
    frame.get_by_role("button", name="Next step").click()
    expect(frame.locator("section.lesson h1")).to_contain_text("Query times key")
    page.evaluate("document.querySelector('iframe').src = 'about:blank'")
    page.wait_for_function("localStorage.getItem('finished') !== null")
    memory = page.evaluate("localStorage.getItem('learner')")
    assert json.loads(memory)["core"]["lesson_location"] == f"{LESSON}.best-key"
    context.close()

    other = chromium.new_context(viewport={"width": 1280, "height": 720})
    other.add_init_script(f"if (top === self && !localStorage.learner) localStorage.learner = {json.dumps(memory)};")
    page = other.new_page()
    page.goto(platform)
    frame = inside(page)
    expect(frame.locator("section.lesson h1")).to_contain_text("Query times key")
    frame.get_by_role("button", name="Back", exact=True).click()
    expect(frame.locator(".lesson .outcome")).to_contain_text("Right.")
    frame.get_by_role("link", name="Lessons").click()
    expect(frame.locator("main")).to_contain_text("Your learning platform keeps your answers.")
    expect(frame.locator("main")).to_contain_text("Answered: 1 of 10.")
    other.close()


def test_a_platform_that_keeps_nothing_is_named_and_the_page_goes_on(chromium: Browser, platform: str) -> None:
    context = chromium.new_context(viewport={"width": 1280, "height": 720})
    page = context.new_page()
    page.goto(platform)
    frame = inside(page)
    page.evaluate("API.LMSCommit = () => 'false'")
    answer(frame, "Always 1")
    expect(frame.get_by_role("alert")).to_contain_text("did not keep your answer")
    expect(frame.locator(".lesson .outcome")).to_contain_text("Right.")
    context.close()


def test_a_package_that_is_opened_alone_keeps_the_answers_in_the_browser(chromium: Browser, platform: str) -> None:
    context = chromium.new_context(viewport={"width": 1280, "height": 720})
    page = context.new_page()
    page.goto(f"{platform}package/index.html")
    page.get_by_role("group", name="Your answer").get_by_role("button", name="Always 1").click()
    expect(page.locator(".lesson .outcome")).to_contain_text("Right.")
    assert list(json.loads(page.evaluate(f"localStorage.getItem('{KEPT}')"))) == [f"{LESSON}.row"]
    context.close()


def test_all_answers_of_the_course_fit_what_a_platform_keeps() -> None:
    """The longest answers to every step, each with another first answer: 4,096 ASCII characters in SCORM 1.2."""
    records = {lesson.link(step): longest(step.answer) for lesson in (*LESSONS, TOUR) for step in lesson.steps}
    script = (ROOT / "live" / "app" / "scorm.js").read_text(encoding="utf-8")
    packed = script[script.index("function packed") : script.index("/** @param {string} text What")]
    command = [program("node"), "-e", f"{packed}; console.log(packed({json.dumps(records)}))"]
    text = subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout.rstrip()
    assert text.isascii()
    assert len(text) <= 4096


def longest(form: object) -> dict[str, object]:
    if isinstance(form, OneOf):
        answer, first = (sorted(form.options, key=len) * 2)[-2:]
    elif isinstance(form, Number | OneToken):
        answer, first = 1234.567, 1234.568  # type: ignore[assignment]
    else:
        answer = first = None  # type: ignore[assignment]
    return {"first": first, "answer": answer, "right": True}
