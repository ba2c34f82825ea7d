"""Start a Streamlit server and measure its memory, its processor time and the tracebacks in its log."""

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

__all__ = ["ROOT", "Server", "free_port", "school", "streamlit", "wait_until_up"]

ROOT = Path(__file__).resolve().parent.parent
NAN = float("nan")


@dataclass(frozen=True, kw_only=True)
class Server:
    """`process` and `log` belong to a server that we started; otherwise they are None."""

    url: str
    process: psutil.Process | None = None
    log: Path | None = None

    def megabytes(self) -> float:
        return self.process.memory_info().rss / 1e6 if self.process else NAN

    def busy_seconds(self) -> float:
        """Processor time of the server so far."""
        return sum(self.process.cpu_times()[:2]) if self.process else NAN

    def tracebacks(self) -> int:
        return self.log.read_text(errors="replace").count("Traceback") if self.log else 0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until_up(url: str, process: subprocess.Popen[bytes]) -> None:
    """Raises RuntimeError if the process ends instead."""
    while process.poll() is None:
        try:
            urllib.request.urlopen(f"{url}/_stcore/health", timeout=2).close()
            return
        except (urllib.error.URLError, TimeoutError):
            time.sleep(0.1)
    raise RuntimeError("The server ended at once.")


@contextmanager
def streamlit(script: str, *options: str) -> Iterator[Server]:
    """Serve a script of this repository on a free port of this machine, until the context ends."""
    port = free_port()
    command = [sys.executable, "-m", "streamlit", "run", script, "--server.headless=true", f"--server.port={port}"]
    with started([*command, "--server.address=127.0.0.1", *options], port) as server:
        yield server


@contextmanager
def school(processes: int) -> Iterator[Server]:
    """Serve the app in several processes behind nginx, until the context ends."""
    port = free_port()
    command = [sys.executable, "deploy/serve.py", "--processes", str(processes), "--port", str(port)]
    with started(command, port) as server:
        yield server


@contextmanager
def started(command: Sequence[str], port: int) -> Iterator[Server]:
    url = f"http://127.0.0.1:{port}"
    environment = {name: value for name, value in os.environ.items() if name != "HEADLIGHT_CHECKPOINTS"}
    with tempfile.NamedTemporaryFile(suffix=".log") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT)
        try:
            wait_until_up(url, process)
            yield Server(url=url, process=psutil.Process(process.pid), log=Path(log.name))
        finally:
            process.terminate()
            process.wait()
