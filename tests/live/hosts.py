"""Web servers of tests: of a folder, or with files, speed, headers, redirects and errors that a test changes."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from mimetypes import guess_type
from socketserver import BaseRequestHandler

HOME = "/class/live/"  # a site works below any address
PART = 4096  # bytes


class Quiet(SimpleHTTPRequestHandler):
    """Sends the files of a folder, and prints nothing."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the library
        pass


@contextmanager
def serving(handler: Callable[..., BaseRequestHandler]) -> Iterator[ThreadingHTTPServer]:
    """A web server of this machine, while the block runs."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=[0.02])  # else it ends half a second late
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def address_of(server: ThreadingHTTPServer) -> str:
    return f"http://127.0.0.1:{server.server_port}"


@dataclass(kw_only=True)
class Host:
    """What a web server sends.

    Attributes:
        port: Of this server.
        files: Path below `HOME` → contents.
        headers: Of every answer.
        redirects: Path → the path to which it leads.
        aliases: Path → the path whose file it has.
        slow: A part of a path → bytes per second.
        soft: Missing files are a page with the status 200.
        asked: The paths that were requested.
        aborted: The paths whose visitors left early.
    """

    port: int
    files: Mapping[str, bytes] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    redirects: Mapping[str, str] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    slow: Mapping[str, int] = field(default_factory=dict)
    soft: bool = False
    asked: list[str] = field(default_factory=list)
    aborted: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{HOME}"

    def content(self, path: str) -> bytes | None:
        path = self.aliases.get(path, path)
        return self.files.get("index.html" if path == HOME else path.removeprefix(HOME))


@contextmanager
def serve() -> Iterator[Host]:
    """A web server without files, while the block runs."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            host.asked.append(path)
            target, found = host.redirects.get(path), host.content(path)
            self.send_response(301 if target else 200 if found is not None or host.soft else 404)
            body = b"<!doctype html><title>Not found</title>" if found is None else found
            kind = "text/html" if found is None else guess_type(host.aliases.get(path, path))[0] or "text/html"
            more = {"Location": target} if target else {"Content-Type": kind, "Content-Length": str(len(body))}
            for name, value in {**host.headers, **more}.items():
                self.send_header(name, value)
            self.end_headers()
            if not target:
                self.send(path, body)

        def send(self, path: str, body: bytes) -> None:
            rate = next((rate for part, rate in host.slow.items() if part in path), 0)
            try:
                for start in range(0, len(body), PART if rate else len(body)):
                    self.wfile.write(body[start : start + PART] if rate else body)
                    time.sleep(PART / rate if rate else 0)
            except OSError:
                host.aborted.append(path)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the library
            pass

    with serving(Handler) as server:
        host = Host(port=server.server_port)
        yield host
