"""The hosts that a published page may ask for models: the Hugging Face Hub, or another one with the same addresses."""

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from model.config.section import ConfigError

__all__ = ["HUB", "hub_hosts", "origin"]

# The Hub, and the hosts to which it redirects requests for large files. It lists them in /.well-known/meta.json.
HUB = ("https://huggingface.co", "https://*.hf.co")
ADDRESS = re.compile(r"https?://(\*\.)?[\w.-]+(:\d{1,5})?(/[\w./-]*)?")  # with nothing that ends a rule of a policy


def hub_hosts(addresses: Sequence[str]) -> tuple[str, ...]:
    """The addresses that a page asks for models: first the hub, then the hosts that have its files.

    Args:
        addresses: As they were typed; `HUB` without any.

    Raises:
        ConfigError: one of them is no address.
    """
    for place, address in enumerate(addresses):
        if not ADDRESS.fullmatch(address) or (place == 0 and "*" in address):
            raise ConfigError(
                "--hub {address} is no address such as https://huggingface.co. Write --hub after the checkpoints, "
                "alone or with addresses.",
                address=address,
            )
    return tuple(address.rstrip("/") for address in addresses) or HUB


def origin(address: str) -> str:
    """The part of an address that a policy names: without a path, which would not hold for redirects."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"
