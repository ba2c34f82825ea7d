"""Where other computers reach this server."""

import socket
from contextlib import suppress
from urllib.parse import urlsplit, urlunsplit

from model.config.paths import HOME, ROOT
from viz_app.content.translation import t

__all__ = ["LOCAL", "addresses_for_others"]

LOCAL = ("localhost", "127.0.0.1", "::1")
ANYWHERE = ("0.0.0.0", "::")  # a server with one of these addresses listens at every address of its computer
COMMAND = "python run.py app" if HOME == ROOT else "headlight"
# The system looks up the route to each of these, and the route begins at an own address: the route to everywhere (an
# address for documentation, RFC 5737), and to the network of a hotspot of this computer (Linux, Windows, macOS).
ELSEWHERE = ("192.0.2.1", "10.42.0.2", "192.168.137.2", "192.168.2.2")


def addresses_for_others(url: str, listens_at: str | None) -> tuple[tuple[str, ...], str]:
    """The addresses that open a page from other computers, the likeliest first, and why there is none, or "".

    Args:
        url: The address in this visitor's browser.
        listens_at: The address at which the server listens; None for every address of its computer.
    """
    parts = urlsplit(url)
    if parts.hostname not in LOCAL:
        return (url,), ""
    if listens_at in LOCAL:
        return (), t(
            "This server accepts only this computer, so no other computer can open its pages. Stop it, and start it "
            "with `{command} --server.address 0.0.0.0` to accept others.",
            command=COMMAND,
        )
    hosts = own_addresses() if listens_at in (None, "", *ANYWHERE) else (listens_at,)
    if not hosts:
        return (), t("This computer has no network, so no other computer can open its pages.")
    names = (f"[{host}]" if host and ":" in host else host for host in hosts)
    places = (f"{name}:{parts.port}" if parts.port else str(name) for name in names)
    return tuple(urlunsplit(parts._replace(netloc=place)) for place in places), ""


def own_addresses() -> tuple[str, ...]:
    """The addresses of this computer in its networks; none without a network. Nothing is sent."""
    found = dict.fromkeys(map(own_address, ELSEWHERE))
    return tuple(address for address in found if address and not address.startswith("127."))


def own_address(there: str) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, suppress(OSError):
        probe.connect((there, 9))
        return str(probe.getsockname()[0])
    return ""
