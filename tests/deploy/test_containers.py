"""The image, the containers and the workflows: what can be checked anywhere, and a run where an engine answers."""

import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks.server import free_port
from deploy import serve
from deploy.healthy import healthy
from tests.conftest import PATIENCE, ROOT
from tests.deploy.helpers import require_nginx
from viz_app.export.git_host import git_host_files

COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def linted(program: str, *arguments: str, text: str | None = None) -> None:
    command = [str(Path(sys.executable).with_name(program)), *arguments]
    done = subprocess.run(command, cwd=ROOT, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_image_passes_hadolint() -> None:
    linted("hadolint", "Dockerfile")


def test_the_workflows_pass_actionlint_ours_and_that_of_a_site() -> None:
    linted("actionlint", "-shellcheck=", *map(str, WORKFLOWS))
    linted("actionlint", "-shellcheck=", "-", text=git_host_files()[".github/workflows/pages.yml"].decode())


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_may_write_nothing_unless_a_job_says_so(path: Path) -> None:
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert found["permissions"]["contents"] == "read"
    assert all("timeout-minutes" in job for job in found["jobs"].values())


def test_the_image_has_every_room_of_an_installation() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    folders = project["packages"] + project["package-data"]["headlight.app"]
    rooms = {name.lstrip(".").split("/")[0].split(".")[0] for name in folders}  # .streamlit has a dot of its own
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert {line[1:].lstrip(".") for line in lines if line.startswith("!")} >= rooms | {
        "streamlit_app.py",
        "requirements.txt",
    }


def arguments_of(service: str) -> list[str]:
    """What a service gives to deploy/serve.py, with the default of each variable."""
    words = " ".join(COMPOSE[service]["command"]).replace("${HEADLIGHT_PROCESSES:-2}", "2").split()
    return words[words.index("deploy/serve.py") + 1 :]


def test_nginx_knows_the_processes_that_compose_starts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    require_nginx()
    arguments = arguments_of("configuration")
    monkeypatch.setattr(sys, "argv", ["serve.py", *arguments[: arguments.index(">")]])
    serve.main()
    printed = capsys.readouterr().out
    app = dict(zip(arguments_of("app")[1::2], arguments_of("app")[2::2], strict=True))
    ports = range(int(app["--port"]), int(app["--port"]) + int(app["--processes"]))
    assert [f"server 127.0.0.1:{port} " in printed for port in ports] == [True, True]
    assert "listen 0.0.0.0:8080;" in printed
    assert COMPOSE["app"]["ports"][0].endswith(":8080")
    assert COMPOSE["nginx"]["network_mode"] == "service:app"
    (tmp_path / "nginx.conf").write_text(serve.MAIN_CONFIGURATION.format(printed))
    nginx = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/bin")
    done = subprocess.run(
        [str(nginx), "-t", "-e", "stderr", "-p", str(tmp_path), "-c", "nginx.conf"], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_no_process_is_no_health() -> None:
    assert not healthy(free_port())


def engine() -> str | None:
    """A container engine that answers."""
    for name in filter(shutil.which, ("docker", "podman")):
        if subprocess.run([name, "info"], capture_output=True, check=False).returncode == 0:
            return name
    return None


@pytest.mark.skipif(engine() is None, reason="no container engine answers")
def test_the_image_is_built_and_becomes_healthy() -> None:
    docker = str(engine())

    def ask(*arguments: str) -> Any:
        return subprocess.run([docker, *arguments], cwd=ROOT, capture_output=True, text=True, check=True, timeout=3600)

    ask("build", "--tag", "headlight-test", ".")
    container = ask("run", "--rm", "--detach", "headlight-test").stdout.strip()
    try:
        assert ask("exec", container, "id", "-u").stdout.strip() == "1000"
        for _ in range(PATIENCE):
            state = json.loads(ask("inspect", "--format", "{{json .State.Health}}", container).stdout)["Status"]
            if state == "healthy":
                break
            ask("exec", container, "sleep", "1")
        assert state == "healthy"
    finally:
        ask("rm", "--force", container)
