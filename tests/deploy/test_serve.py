"""The command that starts the processes and nginx: its arguments and its refusals."""

import socket
import sys
from pathlib import Path

import pytest

from deploy import serve
from deploy.serve import TEMPLATE, configuration
from viz_app.server import resources

TWO = ["127.0.0.1:9001", "10.0.0.2:9002"]


def test_every_process_has_its_lines() -> None:
    filled = configuration(TWO, "0.0.0.0:80")
    assert [line.split()[1] for line in filled.splitlines() if line.strip().startswith("server 1")] == TWO
    assert "p1 127.0.0.1:9001;" in filled
    assert "p2 10.0.0.2:9002;" in filled
    assert r"10\.0\.0\.2:9002$" in filled
    assert "listen 0.0.0.0:80;" in filled
    assert "127.0.0.1:8080" not in filled


def test_the_template_is_a_configuration_itself() -> None:
    assert configuration(["127.0.0.1:8501"], "127.0.0.1:8080") == TEMPLATE.read_text(encoding="utf-8").rstrip("\n")


def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    monkeypatch.setattr(sys, "argv", ["serve.py", *arguments])
    with pytest.raises(SystemExit) as ended:
        serve.main()
    return f"{capsys.readouterr().err}{ended.value}"


@pytest.mark.parametrize("arguments", [("--processes", "0"), ("--processes", "two"), ("--also", "10.0.0.2")])
def test_invalid_arguments_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: tuple[str, str]
) -> None:
    assert f"{arguments[1]} is not" in refused(monkeypatch, capsys, *arguments)


def test_a_port_in_use_is_refused_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(serve, "Processes", lambda _: pytest.fail("it started"))
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        assert f"cannot listen at 127.0.0.1:{port}" in refused(monkeypatch, capsys, "--port", port)


def test_no_process_gets_the_port_for_visitors(monkeypatch: pytest.MonkeyPatch) -> None:
    offered = iter(range(8080, 8090))  # a machine may begin with that port

    class Probe(socket.socket):
        def bind(self, _address: object) -> None:
            self.port = next(offered)

        def getsockname(self) -> tuple[str, int]:
            return "127.0.0.1", self.port

    monkeypatch.setattr(socket, "socket", Probe)
    assert serve.free_ports(3, without=8080) == [8081, 8082, 8083]


def test_processes_share_the_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    none = {"groups": tmp_path, "own": tmp_path / "none"}
    whole = resources.memory(**none)
    monkeypatch.setenv("HEADLIGHT_PROCESSES", "4")
    assert resources.memory(**none) == pytest.approx(whole / 4, abs=1)
    monkeypatch.setenv("HEADLIGHT_PROCESSES", "1000")
    assert resources.cores(**none) == 1
