"""Who may name a folder of the machine: nobody who comes from elsewhere, through whatever stands before the server."""

from types import SimpleNamespace

import pytest

from viz_app import own_checkpoints


@pytest.mark.parametrize(
    ("listens", "asked", "processes", "alone"),
    [
        ("localhost", "localhost:8501", None, True),
        ("127.0.0.1", "127.0.0.1:8501", None, True),
        ("::1", "[::1]:8501", None, True),
        ("localhost", None, None, True),
        ("localhost", "headlight.example.org", None, False),  # a host, or somebody's nginx
        ("localhost", "localhost.example.org:8501", None, False),
        ("localhost", "localhost:8501", "4", False),
        ("0.0.0.0", "localhost:8501", None, False),
        (None, "localhost:8501", None, False),
    ],
)
def test_folders_are_for_who_sits_at_the_machine(
    monkeypatch: pytest.MonkeyPatch, listens: str | None, asked: str | None, processes: str | None, alone: bool
) -> None:
    monkeypatch.delenv("HEADLIGHT_PROCESSES", raising=False)
    if processes:
        monkeypatch.setenv("HEADLIGHT_PROCESSES", processes)
    context = SimpleNamespace(headers={"Host": asked} if asked else {})
    monkeypatch.setattr(own_checkpoints, "st", SimpleNamespace(context=context, get_option=lambda _: listens))
    assert own_checkpoints.alone() == alone


def test_no_folders_for_whom_another_server_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADLIGHT_PROCESSES", raising=False)
    for headers, alone in (
        ({"Host": "localhost:8501", "Origin": "http://localhost:8501"}, True),
        ({"Host": "localhost:8501", "Origin": "https://school.example"}, False),
        ({"Host": "localhost:8501", "X-Forwarded-For": "10.0.0.7"}, False),
        ({"Host": "[::1]:8501"}, True),
    ):
        context = SimpleNamespace(headers=headers)
        monkeypatch.setattr(own_checkpoints, "st", SimpleNamespace(context=context, get_option=lambda _: "localhost"))
        assert own_checkpoints.alone() == alone, headers
