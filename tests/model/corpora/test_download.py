"""Against a real HTTP server on localhost that can cut off, corrupt and refuse."""

import hashlib
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from model.config.section import ConfigError
from model.corpora import download
from model.corpora.download import CHUNK, DownloadError, RemoteCorpus, download_corpus

FILES = {"train.en.gz": bytes(range(256)) * 3000, "train.de.gz": b"de" * 5000}


class Server(ThreadingHTTPServer):
    """Serves FILES; `cut` ends answers after so many bytes, `corrupt` changes them, `ranges` honours Range."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.cuts: list[int] = []
        self.corrupt = False
        self.ranges = True
        self.requested: list[tuple[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        name, wanted = self.path.strip("/"), self.headers.get("Range", "")
        self.server.requested.append((name, wanted))
        if name not in FILES:
            self.send_error(404)
            return
        body = FILES[name][::-1] if self.server.corrupt else FILES[name]
        start = int(re.findall(r"\d+", wanted)[0]) if wanted and self.server.ranges else 0
        if start >= len(body):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        cut = self.server.cuts.pop(0) if self.server.cuts else len(body)
        self.wfile.write(body[start : start + cut])

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    sums = {name: hashlib.sha256(body).hexdigest() for name, body in FILES.items()}
    corpus = RemoteCorpus(base_url="http://127.0.0.1:9", notice="A notice.", files=sums)
    monkeypatch.setitem(download.CORPORA, "tiny", corpus)
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, args=[0.02])  # else it ends half a second late
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def fetch(server: Server, root: Path) -> Path:
    return download_corpus("tiny", root, base_url=server.url, report=lambda _: None)


def test_files_are_complete_and_not_downloaded_twice(server: Server, tmp_path: Path) -> None:
    folder = fetch(server, tmp_path)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == FILES
    fetch(server, tmp_path)
    assert len(server.requested) == 2


def test_a_cut_off_answer_is_continued_where_it_ended(server: Server, tmp_path: Path) -> None:
    server.cuts = [100_000]  # the last chunk that is not whole is asked for again
    folder = fetch(server, tmp_path)
    assert (folder / "train.en.gz").read_bytes() == FILES["train.en.gz"]
    assert server.requested[1] == ("train.en.gz", f"bytes={100_000 // CHUNK * CHUNK}-")


def test_a_later_run_continues_an_unfinished_download(server: Server, tmp_path: Path) -> None:
    server.cuts = [CHUNK, CHUNK, CHUNK]
    with pytest.raises(
        DownloadError, match=r"train\.en\.gz could not be downloaded .* Run the command again to continue"
    ):
        fetch(server, tmp_path)
    assert not (tmp_path / "tiny" / "train.en.gz").exists()
    fetch(server, tmp_path)
    assert server.requested[3] == ("train.en.gz", f"bytes={3 * CHUNK}-")
    assert (tmp_path / "tiny" / "train.en.gz").read_bytes() == FILES["train.en.gz"]


def test_a_server_without_ranges_sends_it_all_again(server: Server, tmp_path: Path) -> None:
    server.cuts, server.ranges = [1000], False
    folder = fetch(server, tmp_path)
    assert (folder / "train.en.gz").read_bytes() == FILES["train.en.gz"]


def test_a_corrupt_file_is_not_kept(server: Server, tmp_path: Path) -> None:
    server.corrupt = True
    with pytest.raises(DownloadError, match=r"train\.en\.gz .* is damaged or has changed"):
        fetch(server, tmp_path)
    assert list((tmp_path / "tiny").iterdir()) == []


def test_a_part_that_is_already_too_long_is_thrown_away(server: Server, tmp_path: Path) -> None:
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "train.en.gz.part").write_bytes(b"x" * 2_000_000)
    with pytest.raises(DownloadError, match="damaged"):
        fetch(server, tmp_path)
    fetch(server, tmp_path)


def test_a_missing_server_gets_a_message(server: Server, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="could not be downloaded"):
        download_corpus("tiny", tmp_path, report=lambda _: None)


def test_an_unknown_corpus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="There is no corpus 'wmt'"):
        download_corpus("wmt", tmp_path)
