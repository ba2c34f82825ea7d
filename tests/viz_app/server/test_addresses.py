"""The addresses at which other computers reach this server."""

import socket

import pytest

from viz_app.server import addresses
from viz_app.server.addresses import addresses_for_others


def test_a_page_has_addresses_that_others_reach_or_the_reason_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "own_addresses", lambda: ("192.168.7.5", "10.42.0.1"))
    assert addresses_for_others("http://room:8501/steps", "localhost") == (("http://room:8501/steps",), "")
    for local in ("localhost", "127.0.0.1", "::1"):
        nowhere, limit = addresses_for_others("http://localhost:8501/steps", local)
        assert nowhere == ()
        assert "accepts only this computer" in limit
        assert "`python run.py app --server.address 0.0.0.0`" in limit, "the command of this repository"
    both = ("http://192.168.7.5:8501/steps", "http://10.42.0.1:8501/steps")
    for anywhere in (None, "", "0.0.0.0", "::"):
        assert addresses_for_others("http://localhost:8501/steps", anywhere) == (both, "")
    assert addresses_for_others("http://127.0.0.1/steps", "10.0.0.9") == (("http://10.0.0.9/steps",), "")
    assert addresses_for_others("http://localhost/", "fd00::9")[0] == ("http://[fd00::9]/",)
    monkeypatch.setattr(addresses, "own_addresses", tuple)
    nowhere, limit = addresses_for_others("http://localhost:8501/", None)
    assert (nowhere, "no network" in limit) == ((), True)


def test_an_installation_names_its_own_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "COMMAND", "headlight")
    assert "`headlight --server.address 0.0.0.0`" in addresses_for_others("http://localhost/", "localhost")[1]


def test_the_addresses_of_this_computer_are_its_own() -> None:
    for address in addresses.own_addresses():
        with socket.socket() as server:
            server.bind((address, 0))  # as only an own address allows
