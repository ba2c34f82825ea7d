"""`headlight publish`: the files of a site, and what it refuses."""

import base64
import gzip
import hashlib
import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

from headlight.command import main
from headlight.site_folder import write_folder
from model.config.section import ConfigError
from model.files import CheckpointError
from model.inference.opening import open_checkpoint
from tests.conftest import BUNDLED, ROOT
from tests.foreign_folders import make_folder
from tests.javascript.check import program
from viz_app.content.shared import FAMILIES
from viz_app.export import site as site_module
from viz_app.export.git_host import git_host_files
from viz_app.export.live_page import numbered
from viz_app.export.site import CLASSES, MARK, MAX_MB

MOST_CODE = 150_000  # bytes of a page, and of what it loads later
MOST_LATER = {"foreign": 39_500, "own": 10_500, "saving": 9_500, "steps": 8_200, "positions": 5_800}
NAME = "gru-de-en"  # the smallest of our checkpoints


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published") / "site"
    assert main(["publish", NAME, "everyday-en-de", "--out", str(folder)]) == 0
    return folder


def policy_of(page: str) -> dict[str, list[str]]:
    found = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert found
    return {name: values for name, *values in (rule.split() for rule in found[1].split(";") if rule.strip())}


def start_digest(page: str) -> str:
    """The digest of the script that says why a page cannot start."""
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def found(site: Path, pattern: str) -> Path:
    """The one file with this name, which contains a hash."""
    (file,) = site.glob(pattern)
    return file


def data_of(page: str, name: str) -> str:
    found = re.search(rf'<script type="application/json" id="{name}">([^<]*)</script>', page)
    assert found, name
    return found[1]


def test_a_site_has_its_checkpoints_unchanged_and_lists_them(site: Path) -> None:
    listed = json.loads(data_of((site / "index.html").read_text(encoding="utf-8"), "site"))["checkpoints"]
    assert [one["name"] for one in listed] == [NAME, "everyday-en-de"]
    for one in listed:
        own = BUNDLED / one["name"]
        assert set(one["files"]) == {"config.json", "tokenizer.json", "model.safetensors"}
        for file, address in one["files"].items():
            assert (site / address).read_bytes() == (own / file).read_bytes()
        (card,) = (site / "checkpoints" / one["name"]).glob("README.*.md")
        assert card.read_bytes() == (own / "README.md").read_bytes()


def test_every_address_in_a_site_is_a_file_of_it(site: Path) -> None:
    """Below any address, so none begins with a slash or names a host."""
    page = (site / "index.html").read_text(encoding="utf-8")
    manifest = json.loads(found(site, "manifest.*").read_text(encoding="utf-8"))
    named = [*re.findall(r'(?:href|src)="([^"]+)"', page), *(icon["src"] for icon in manifest["icons"])]
    named += re.findall(r'<meta name="offline" content="([^"]+)"', page)
    assert len(named) >= 7
    for address in named:
        assert (site / address).is_file(), address
    for script in site.rglob("*.js"):
        text = script.read_text(encoding="utf-8")
        for address in re.findall(r'^import\b[^"]*"([^"]+)"', text, re.MULTILINE):
            assert address.startswith(".")
            assert (script.parent / address).resolve().is_file(), (script, address)
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text), script


def test_the_policy_allows_only_scripts_of_the_site(site: Path) -> None:
    policy = policy_of((site / "index.html").read_text(encoding="utf-8"))
    assert policy["default-src"] == ["'none'"]
    assert policy["connect-src"] == policy["worker-src"] == ["'self'"]
    assert policy["script-src"] == ["'self'", start_digest((site / "index.html").read_text(encoding="utf-8"))]


@pytest.mark.parametrize("out", ["site", "one.html"])
@pytest.mark.parametrize(
    ("given", "hosts"),
    [
        ([], ["https://huggingface.co", "https://*.hf.co"]),
        (
            ["https://mirror.example/hf/", "http://files.example:8080"],
            ["https://mirror.example", "http://files.example:8080"],
        ),
    ],
)
def test_the_policy_of_a_page_with_a_hub_names_its_hosts(
    out: str, given: list[str], hosts: list[str], tmp_path: Path
) -> None:
    assert main(["publish", "everyday-en-de", "--out", str(tmp_path / out), "--hub", *given]) == 0
    page = (tmp_path / out / "index.html" if out == "site" else tmp_path / out).read_text(encoding="utf-8")
    assert policy_of(page)["connect-src"] == [*(["'self'"] if out == "site" else []), *hosts]
    assert json.loads(data_of(page, "site"))["hub"] == (given or hosts)[0].rstrip("/")


@pytest.mark.parametrize(
    "given", ["everyday-en-de", "ftp://x.example", "https://*.example", "https://a.example;x", "//a b"]
)
def test_what_is_no_address_of_a_hub_is_refused(given: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["publish", NAME, "--out", str(tmp_path / "site"), "--hub", given]) == 1
    assert f"--hub {given} is no address" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_adapter_beside_a_whole_model_is_named_as_in_the_app(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_folder(tmp_path / "mine", "gpt2")
    (folder / "adapter_config.json").write_text("{}")
    (folder / "adapter_model.safetensors").write_bytes((folder / "model.safetensors").read_bytes())
    assert open_checkpoint(folder).unused.files == ("adapter_model.safetensors",)
    assert main(["publish", str(folder), "--out", str(tmp_path / "site")]) == 0
    assert "Files are not used: adapter_model.safetensors\n" in capsys.readouterr().err
    assert not list((tmp_path / "site").rglob("adapter*"))


def test_every_file_has_its_hash_in_its_name_and_the_service_worker_knows_the_list(site: Path) -> None:
    """Without a hash are only the page, the list and the service worker, which has the hashes of both."""
    present = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}
    assert set(json.loads((site / MARK).read_text(encoding="utf-8"))["files"]) == present - {MARK}
    without = {name for name in present if hash_of((site / name).read_bytes()) not in name.split(".")}
    assert without == {"index.html", "offline-worker.js", MARK}
    worker = (site / "offline-worker.js").read_text(encoding="utf-8")
    for name in ("index.html", MARK):
        stem, ending = name.split(".")
        assert f'"{stem}.{hash_of((site / name).read_bytes())}.{ending}"' in worker


def hash_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def test_the_single_file_holds_the_weights_and_one_script_with_its_hash(tmp_path: Path) -> None:
    out = tmp_path / "one.html"
    assert main(["publish", NAME, "--out", str(out)]) == 0
    page = out.read_text(encoding="utf-8")
    weights = gzip.decompress(base64.b64decode(data_of(page, f"model.safetensors-{NAME}")))
    assert weights == (BUNDLED / NAME / "model.safetensors").read_bytes()
    (script,) = re.findall(r'<script type="module">(.*?)</script>', page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy_of(page)["script-src"] == [f"'sha256-{digest}'", start_digest(page), "'wasm-unsafe-eval'"]
    assert "connect-src" not in policy_of(page) or policy_of(page)["connect-src"] == ["'none'"]
    assert not re.findall(r'(?:src|href)="(?!data:)', page.split("<body>")[0])


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("multi30k-de-en-words", "spaCy"),
        ("imdb-sentiment", "spaCy"),
        ("gru-de-en-plain", "no attention"),
        ("no-such-checkpoint", "There is no checkpoint"),
    ],
)
def test_what_the_pages_cannot_show_is_refused(
    name: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "site"
    assert main(["publish", "everyday-en-de", name, "--out", str(out)]) == 1
    error = capsys.readouterr().err
    assert reason in error
    assert error.rstrip().endswith(".")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_another_library_is_a_part_of_a_site(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "mine", "bert")
    (folder / "training.log").write_text("not for the page")
    assert main(["publish", str(folder), "--out", str(tmp_path / "site")]) == 0
    page = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    (listed,) = json.loads(data_of(page, "site"))["checkpoints"]
    assert {one: listed[one] for one in ("name", "family", "task", "mask", "pairs")} == {
        "name": "mine",
        "family": "bert",
        "task": "filling",
        "mask": "<mask>",
        "pairs": False,
    }
    for file in ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"):
        assert (tmp_path / "site" / listed["files"][file]).read_bytes() == (folder / file).read_bytes()
    assert not [path for path in (tmp_path / "site").rglob("*") if "training" in path.name]


def test_foreign_folders_that_the_page_does_not_compute_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_folder(tmp_path / "mine", "gpt2")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    out = ["--out", str(tmp_path / "site")]
    (folder / "config.json").write_text(json.dumps({**config, "model_type": "marian", "architectures": ["MarianX"]}))
    assert main(["publish", str(folder), *out]) == 1
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    assert main(["publish", str(folder), *out]) == 1
    assert "safetensors" in capsys.readouterr().err
    assert not (tmp_path / "site").exists()


def test_the_page_computes_the_families_that_are_published() -> None:
    """shared.json and live/engine/foreign/architecture.js name the same families and tasks, and CLASSES has the same
    classes.
    """
    script = (
        'import { FAMILIES, TASKS } from "./live/engine/foreign/architecture.js";'
        "console.log(JSON.stringify([[...FAMILIES].map(([name, { task }]) => [name, task]), TASKS]));"
    )
    command = [program("node"), "--disable-warning=MODULE_TYPELESS_PACKAGE_JSON", "--input-type=module", "-e", script]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=True)
    families, tasks = json.loads(found.stdout)
    assert dict(families) == FAMILIES
    assert list(dict(tasks)) == list(CLASSES)
    assert f"MAX_MB = {MAX_MB};" in (ROOT / "live" / "engine" / "safetensors.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("named", ["BertForTokenClassification", "BertLMHeadModel"])
def test_classes_that_the_page_does_not_compute_are_refused(
    named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_folder(tmp_path / "mine", "bert")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    named_there = {"architectures": [named], "is_decoder": named == "BertLMHeadModel"}
    (folder / "config.json").write_text(json.dumps({**config, **named_there}))
    assert main(["publish", str(folder), "--out", str(tmp_path / "site")]) == 1
    assert f"bert ({named})" in capsys.readouterr().err


def test_weights_that_are_too_large_for_the_page_are_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site_module, "MAX_MB", 0)
    monkeypatch.setattr(site_module.Published, "file", lambda *_: pytest.fail("it was read"))
    with pytest.raises(CheckpointError, match="more than 0 MB"):
        site_module.published(make_folder(tmp_path / "mine", "bert"))


def test_another_folder_is_never_replaced_and_our_own_is(
    site: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "homework"
    out.mkdir()
    (out / "essay.txt").write_text("mine")
    assert main(["publish", NAME, "--out", str(out)]) == 1
    assert "essay.txt" in capsys.readouterr().err
    assert [path.name for path in out.iterdir()] == ["essay.txt"]
    (out / "essay.txt").unlink()
    for _ in range(2):  # empty, then ours
        assert main(["publish", NAME, "--out", str(out)]) == 0
    (out / "words.txt").write_text("added later")
    assert main(["publish", NAME, "--out", str(out)]) == 1
    assert (out / "words.txt").read_text() == "added later"


def test_a_repository_keeps_its_history_and_what_its_owner_added(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "site"
    (out / ".git" / "objects").mkdir(parents=True)
    (out / ".git" / "HEAD").write_text("ref: refs/heads/main")
    assert main(["publish", NAME, "--out", str(out), "--pages"]) == 0  # a repository without files
    workflow, own = out / ".github" / "workflows" / "pages.yml", out / "course" / "notes.txt"
    workflow.write_text("changed by its owner")
    own.parent.mkdir(exist_ok=True)
    for file in (own, out / "README.md"):
        file.write_text("mine")
    (out / ".nojekyll").unlink()
    assert main(["publish", "everyday-en-de", "--out", str(out), "--pages"]) == 0
    assert (out / ".git" / "HEAD").read_text() == "ref: refs/heads/main"
    assert (out / ".git" / "objects").is_dir()
    assert workflow.read_text() == "changed by its owner"
    assert own.read_text() == (out / "README.md").read_text() == "mine"
    assert (out / ".nojekyll").is_file()
    assert [path.name for path in (out / "checkpoints").iterdir()] == ["everyday-en-de"]
    assert main(["publish", NAME, "--out", str(out)]) == 0
    assert workflow.is_file()
    (out / "index.html").unlink()
    (out / MARK).unlink()
    assert main(["publish", NAME, "--out", str(out)]) == 1  # now a repository of something else
    assert "did not write" in capsys.readouterr().err
    assert (out / "README.md").read_text() == "mine"


def test_a_file_of_a_repository_owner_is_never_replaced_by_one_of_the_site(tmp_path: Path) -> None:
    out = tmp_path / "site"
    write_folder(out, {MARK: b'{"files": []}'}, mark=MARK)
    (out / ".git").write_text("gitdir: elsewhere")  # of a worktree
    (out / "cards").write_text("mine")
    for path in ("cards", "cards/a.json"):
        with pytest.raises(ConfigError, match="such as cards"):
            write_folder(out, {path: b"", MARK: b'{"files": []}'}, mark=MARK)
    assert (out / "cards").read_text() == "mine"
    assert (out / ".git").read_text() == "gitdir: elsewhere"


def test_pages_has_what_a_git_host_needs_and_no_more_rights(tmp_path: Path) -> None:
    out = tmp_path / "site"
    for _ in range(2):  # without Git, the files are known too
        assert main(["publish", NAME, "--out", str(out), "--pages"]) == 0
    workflow = yaml.safe_load((out / ".github" / "workflows" / "pages.yml").read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read", "pages": "write", "id-token": "write"}
    used = [step["uses"] for step in workflow["jobs"]["pages"]["steps"]]
    assert all(re.fullmatch(r"actions/[\w-]+@v\d+", one) for one in used)
    job = yaml.safe_load((out / ".gitlab-ci.yml").read_text(encoding="utf-8"))["pages"]
    assert job["artifacts"]["paths"] == ["public"]
    subprocess.run(["sh", "-e"], input="\n".join(job["script"]), cwd=out, text=True, check=True)
    listed = json.loads((out / MARK).read_text(encoding="utf-8"))["files"]
    assert all((out / "public" / path).read_bytes() == (out / path).read_bytes() for path in listed)
    assert not (out / "public" / ".github").exists()


def test_git_does_not_change_the_files_of_a_site(tmp_path: Path) -> None:
    out = tmp_path / "site"
    write_folder(out, {**git_host_files(), "vocab.txt": b"a\r\nb\r\n", MARK: b"{}"}, mark=MARK)
    git = ["git", "-C", str(out), "-c", "core.autocrlf=input", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "Publish"]):
        subprocess.run([*git, *arguments], check=True)
    kept = subprocess.run([*git, "show", "HEAD:vocab.txt"], capture_output=True, check=True).stdout
    assert kept == b"a\r\nb\r\n"


def test_another_page_is_never_replaced_and_our_own_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "index.html"
    out.write_text("<!doctype html><title>My home page</title>")
    assert main(["publish", NAME, "--out", str(out)]) == 1
    assert "did not write" in capsys.readouterr().err
    assert "My home page" in out.read_text()
    out.unlink()
    for _ in range(2):
        assert main(["publish", NAME, "--out", str(out)]) == 0


@pytest.mark.parametrize("method", ["write_bytes", "rename"])
def test_a_site_that_cannot_be_written_leaves_the_old_one_and_nothing_else(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "site"
    write_folder(out, {"a/index.html": b"old", MARK: b'{"files": ["a/index.html"]}'}, mark=MARK)
    usual = getattr(Path, method)

    def full(self: Path, argument: object) -> object:
        if method == "write_bytes" or self.parent.name == "new":
            raise OSError(28, "No space left on device")
        return usual(self, argument)

    monkeypatch.setattr(Path, method, full)
    assert main(["publish", NAME, "--out", str(out)]) == 1
    assert "No space left on device" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["site"]
    assert (out / "a" / "index.html").read_bytes() == b"old"


def test_the_code_of_a_page_is_small(site: Path) -> None:
    """Without checkpoints and words; a recurrent network, which this site has, needs code of its own."""
    later = {name: found(site, f"{name}.*.js") for name in MOST_LATER}
    page = (site / "index.html").read_text(encoding="utf-8")
    words = (data_of(page, "site"), data_of(page, "start"), *re.findall("<noscript>.*?</noscript>", page))
    for one in words:
        page = page.replace(one, "")
    others = {*later.values(), found(site, "lessons.*.js")}
    files = [path for path in site.iterdir() if path.suffix in (".js", ".css") and path not in others]
    assert sum(path.stat().st_size for path in files) + len(page.encode()) < MOST_CODE
    for name, path in later.items():
        assert path.stat().st_size < MOST_LATER[name], name


def test_a_page_has_only_the_code_that_its_checkpoints_need(site: Path, tmp_path: Path) -> None:
    transformer = tmp_path / "transformer"
    assert main(["publish", "everyday-en-de", "--out", str(transformer)]) == 0
    scripts = [found(folder, "app.*.js").read_text(encoding="utf-8") for folder in (site, transformer)]
    assert len(scripts[0]) - len(scripts[1]) > 2000


def test_a_site_has_all_words_and_its_script_has_none(site: Path) -> None:
    words = json.loads(data_of((site / "index.html").read_text(encoding="utf-8"), "site"))["words"]
    assert list(words) == ["en", "zh", "ko"]
    script, english = found(site, "app.*.js").read_text(encoding="utf-8"), words["en"]
    assert "Clear forced words" in english
    assert not [text for text in english if len(text) > 20 and text in script]
    for code in ("zh", "ko"):
        assert len(json.loads((site / words[code]).read_text(encoding="utf-8"))) == len(english)


def test_numbers_stand_for_texts_and_values_stay() -> None:
    assert numbered('say("b", { n }) + say("a")', ["a", "b"]) == "say(1, { n }) + say(0)"
    assert numbered('say(\n  "a \\"" + "b",\n  { n })', ['a "b']) == "say(\n  0,\n  { n })", "a long text"


def test_a_style_sheet_has_no_rule_for_what_the_script_does_not_make(site: Path) -> None:
    sheet = found(site, "style.*.css").read_text(encoding="utf-8")
    assert ".candidates" in sheet
    assert ":is(select,input" in sheet.replace(", ", ",")
    for class_name in (".edge", ".snapshot", ".hl-definitions"):
        assert class_name not in sheet, class_name
