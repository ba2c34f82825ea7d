"""Converts Chinese between simplified and traditional characters, phrase by phrase, with OpenCC."""

from functools import cache

from opencc import OpenCC

__all__ = ["simplified", "traditional"]


@cache
def converter(name: str) -> OpenCC:
    return OpenCC(name)


def simplified(text: str) -> str:
    return str(converter("t2s").convert(text))


def traditional(text: str) -> str:
    return str(converter("s2t").convert(text))
