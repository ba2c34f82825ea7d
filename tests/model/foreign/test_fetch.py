"""`python -m model fetch`, against a server of our own that answers as the Hugging Face Hub does."""

import hashlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import torch
from huggingface_hub import close_session, constants
from safetensors.torch import load_file

from model.cli.main import main
from model.inference.opening import open_translator
from model.inference.translate import translate
from tests.foreign_folders import make_folder

COMMIT = "0123456789abcdef0123456789abcdef01234567"
NAME = "some-group/small-model"
LARGE = "more.safetensors"
BREAK = 12_000_000  # bytes; the library keeps what it has in pieces of ten million


class Hub(ThreadingHTTPServer):
    """One repository; the large file breaks off after `breaks` bytes, if that is set."""

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.folder = folder
        self.breaks: int | None = None
        self.asked: list[tuple[str, str]] = []  # path, Range


class Answer(BaseHTTPRequestHandler):
    server: Hub

    def do_HEAD(self) -> None:
        self.do_GET(body=False)

    def do_GET(self, *, body: bool = True) -> None:
        path = self.path.partition("?")[0]
        files = sorted(self.server.folder.iterdir())
        if path.startswith(f"/api/models/{NAME}/tree/"):
            listed = [
                {"type": "file", "path": file.name, "size": file.stat().st_size, "oid": sha(file)} for file in files
            ]
            self.send_json(listed, body=body)
        elif path.startswith(f"/api/models/{NAME}"):
            siblings = [{"rfilename": file.name} for file in files]
            self.send_json({"id": NAME, "sha": COMMIT, "siblings": siblings, "private": False}, body=body)
        elif path.startswith(f"/{NAME}/resolve/"):
            self.send_file(self.server.folder / path.rpartition("/")[2], body=body)
        else:
            self.send_response(404)
            self.send_header("X-Error-Code", "RepoNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()

    def send_json(self, values: object, *, body: bool) -> None:
        content = json.dumps(values).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body:
            self.wfile.write(content)

    def send_file(self, file: Path, *, body: bool) -> None:
        content, wanted = file.read_bytes(), self.headers.get("Range", "")
        if body:
            self.server.asked.append((file.name, wanted))
        start = int(wanted.removeprefix("bytes=").partition("-")[0] or 0) if wanted else 0
        self.send_response(206 if wanted else 200)
        for name, value in {
            "ETag": f'"{sha(file)}"',
            "X-Repo-Commit": COMMIT,
            "Accept-Ranges": "bytes",
            "Content-Length": str(len(content) - start),
            "Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}",
        }.items():
            if name != "Content-Range" or wanted:
                self.send_header(name, value)
        self.end_headers()
        if body:
            breaks = self.server.breaks if file.name == LARGE else None
            self.wfile.write(content[start:][:breaks])
            if breaks is not None:
                self.close_connection = True

    def log_message(self, *_: object) -> None: ...


def sha(file: Path) -> str:
    return hashlib.sha1(file.read_bytes()).hexdigest()


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    folder = make_folder(tmp_path / "repository", "bart")
    (folder / "README.md").write_text("# A small model\nIts card.\n")
    (folder / "modeling.py").write_text("raise SystemExit('run')\n")
    (folder / "tf_model.h5").write_bytes(b"other weights")
    (folder / "pytorch_model.bin").write_bytes(b"the same weights again")
    (folder / "chat_template.jinja").write_text("{{ messages }}")
    server = Hub(folder)
    threading.Thread(target=server.serve_forever, args=[0.02], daemon=True).start()  # else it ends half a second late
    yield server
    server.shutdown()
    server.server_close()


@dataclass(frozen=True)
class Done:
    """What the command line returned and printed."""

    returncode: int
    stdout: str
    stderr: str


Fetch = Callable[..., Done]


@pytest.fixture
def fetch(hub: Hub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Fetch]:
    """Run `python -m model fetch` against our server, as `fetch(out, name)`."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    endpoint = f"http://127.0.0.1:{hub.server_address[1]}"
    files = constants.HUGGINGFACE_CO_URL_TEMPLATE.removeprefix(constants.ENDPOINT)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", endpoint + files)
    monkeypatch.setattr(constants, "ENDPOINT", endpoint)
    monkeypatch.setattr(constants, "HF_HUB_DOWNLOAD_TIMEOUT", 5)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)

    def run(out: Path, name: str = NAME) -> Done:
        close_session()  # the library keeps its connections
        code = main(["fetch", name, "--out", str(out)])
        printed = capsys.readouterr()
        return Done(code, printed.out, printed.err)

    yield run
    close_session()


def test_a_checkpoint_is_fetched_without_code_and_opens(hub: Hub, fetch: Fetch, tmp_path: Path) -> None:
    done = fetch(tmp_path)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "small-model"
    assert "bart, translation" in done.stdout
    files = {file.name for file in folder.iterdir() if file.is_file()}
    assert files == {file.name for file in hub.folder.iterdir()} - {"modeling.py", "tf_model.h5", "pytorch_model.bin"}
    assert "Left out: modeling.py, pytorch_model.bin, tf_model.h5" in done.stderr
    found, expected = (translate(open_translator(at), "The cat.") for at in (folder, hub.folder))
    assert found.text == expected.text
    asked = len(hub.asked)
    assert fetch(tmp_path).returncode == 0
    assert len(hub.asked) == asked  # what is there is not fetched again


def test_weights_of_pytorch_in_several_files_are_fetched(hub: Hub, fetch: Fetch, tmp_path: Path) -> None:
    state = load_file(hub.folder / "model.safetensors")
    parts = {name: f"pytorch_model-{i % 2 + 1:05}-of-00002.bin" for i, name in enumerate(state)}
    for file in set(parts.values()):
        torch.save({name: tensor for name, tensor in state.items() if parts[name] == file}, hub.folder / file)
    (hub.folder / "pytorch_model.bin.index.json").write_text(json.dumps({"metadata": {}, "weight_map": parts}))
    for name in ("model.safetensors", "pytorch_model.bin"):
        (hub.folder / name).unlink()
    assert fetch(tmp_path).returncode == 0
    assert not open_translator(tmp_path / "small-model").unused


def test_a_repository_without_weights_that_open_is_refused_before_the_download(
    hub: Hub, fetch: Fetch, tmp_path: Path
) -> None:
    for name in ("model.safetensors", "pytorch_model.bin"):
        (hub.folder / name).unlink()
    done = fetch(tmp_path)
    assert "tf_model.h5 holds weights of TensorFlow" in done.stderr
    assert not (tmp_path / "small-model").exists()


def test_an_interrupted_download_continues_where_it_stopped(hub: Hub, fetch: Fetch, tmp_path: Path) -> None:
    (hub.folder / LARGE).write_bytes(bytes(range(256)) * 60_000)
    hub.breaks = BREAK
    broken = fetch(tmp_path)
    assert "Traceback" not in broken.stderr
    hub.breaks = None
    assert fetch(tmp_path).returncode == 0
    assert (tmp_path / "small-model" / LARGE).read_bytes() == (hub.folder / LARGE).read_bytes()
    ranges = [wanted for name, wanted in hub.asked if name == LARGE]
    assert ranges[0] == ""
    assert all(int(wanted.removeprefix("bytes=").rstrip("-")) >= 10_000_000 for wanted in ranges[1:])
    assert len(ranges) > 1


@pytest.mark.parametrize(
    ("name", "says"), [("no-such/thing", "could not be downloaded"), ("../../etc", "not the name of")]
)
def test_a_missing_repository_gets_a_message(fetch: Fetch, tmp_path: Path, name: str, says: str) -> None:
    done = fetch(tmp_path, name)
    assert done.returncode == 1
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "thing").exists()


def test_without_a_network_the_error_is_one_sentence(
    fetch: Fetch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as closed:  # bound, but nobody listens
        closed.bind(("127.0.0.1", 0))
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{closed.getsockname()[1]}")
        done = fetch(tmp_path)
    assert done.returncode == 1
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith(f"Error: {NAME} could not be downloaded: ")
    assert line.endswith("Try again; finished files are not downloaded twice.")
