"""A local hub: two web servers with the addresses of the Hugging Face Hub, one for the list and one for large files."""

import json
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from urllib.parse import unquote

from tests.live.hosts import address_of, serving

HEADER = 1 << 16  # more bytes than the header of the weights has
COMMIT = "0123456789abcdef0123456789abcdef01234567"
LIST = re.compile(r"/api/models/(.+)/revision/([^/]+)")
FILE = re.compile(rf"/(.+)/resolve/{COMMIT}/(.+)")


@dataclass(frozen=True, kw_only=True)
class HubModel:
    """A model of the hub.

    Attributes:
        files: Name → contents.
        status: Of the answer to a request for its list; 0: the connection ends without an answer.
        file_status: Of the answers to requests for its files.
        sizes: Name → size in the list, where it is not that of the contents.
        gated: Only for people who have accepted its terms.
        ranges: The file host sends parts of files.
        missing: How many bytes at the end of each part are not sent.
        length: Of the answer to a request for config.json, where it is not the true one.
        redirect: The host to which requests for weights go.
        pause: Seconds before a part of the numbers of the weights is sent.
    """

    files: Mapping[str, bytes] = field(default_factory=dict)
    status: int = 200
    file_status: int = 200
    sizes: Mapping[str, int] = field(default_factory=dict)
    gated: bool = False
    ranges: bool = True
    missing: int = 0
    length: int = 0
    redirect: str = ""
    pause: float = 0


@dataclass(kw_only=True)
class Hub:
    """A running hub.

    Attributes:
        models: Name → model; a test adds its own.
        address: Of the host with the lists.
        files: The address of the host with large files.
        asked: Each request: its path, and its headers by their names in small letters.
        parts: Path, first byte and number of bytes of each part that was asked for.
    """

    models: dict[str, HubModel] = field(default_factory=dict)
    address: str = ""
    files: str = ""
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    parts: list[tuple[str, int, int]] = field(default_factory=list)

    def listed(self, name: str) -> bytes:
        one = self.models[name]
        siblings = [{"rfilename": file, "size": one.sizes.get(file, len(data))} for file, data in one.files.items()]
        return json.dumps({"id": name, "sha": COMMIT, "gated": one.gated and "auto", "siblings": siblings}).encode()


class Handler(BaseHTTPRequestHandler):
    """What both hosts have in common."""

    hub: Hub

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the library
        pass

    def answer(self, status: int, body: bytes = b"", **headers: object) -> None:
        self.send_response(status)
        self.send_header("Access-Control-Allow-Origin", "*")
        for name, value in ({"Content_Length": len(body)} | headers).items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        with suppress(OSError):  # the visitor has left
            self.wfile.write(body)

    def do_GET(self) -> None:
        path = unquote(self.path.partition("?")[0])
        self.hub.asked.append((path, {name.lower(): value for name, value in self.headers.items()}))
        found, wanted = LIST.fullmatch(path), FILE.fullmatch(path)
        name = found[1] if found else wanted[1] if wanted else ""
        one = self.hub.models.get(name, HubModel(status=401))
        if found:
            if one.status:
                self.answer(one.status, self.hub.listed(name) if one.status == 200 else b"")
        elif wanted:
            self.send_file(path, wanted[2], one)

    def send_file(self, path: str, file: str, one: HubModel) -> None:
        raise NotImplementedError


class ListHost(Handler):
    def send_file(self, path: str, file: str, one: HubModel) -> None:
        if one.file_status != 200:
            self.answer(one.file_status)
        elif file.endswith(".safetensors"):
            self.answer(302, Location=f"{one.redirect or self.hub.files}{self.path}")
        elif one.length and file == "config.json":
            self.answer(200, one.files[file], Content_Length=one.length)
            with suppress(OSError):  # until the visitor has left
                for _ in range(one.length >> 16):
                    self.wfile.write(b" " * (1 << 16))
        else:
            self.answer(200, one.files[file])


class FileHost(Handler):
    def send_file(self, path: str, file: str, one: HubModel) -> None:
        given = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if not given or not one.ranges:
            self.answer(200, one.files[file])
            return
        start, end = int(given[1]), int(given[2]) + 1
        self.hub.parts.append((path, start, end - start))
        time.sleep(one.pause if end - start > HEADER else 0)
        self.answer(206, one.files[file][start : end - one.missing])


@contextmanager
def serve_hub() -> Iterator[Hub]:
    """A hub without models, while the block runs."""
    hub = Hub()
    lists, files = (type(one.__name__, (one,), {"hub": hub}) for one in (ListHost, FileHost))
    with serving(lists) as first, serving(files) as second:
        hub.address, hub.files = address_of(first), address_of(second)
        yield hub
