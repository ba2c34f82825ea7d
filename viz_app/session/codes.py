"""Short codes for pages, which a teacher can read aloud.

The server keeps the latest codes in memory. A code holds what a link holds, and not who made it.
"""

import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass

__all__ = ["CODES", "LENGTH", "SIGNS", "Codes", "Place"]

SIGNS = "abcdefghjkmnpqrstuvwxyz23456789"  # without signs that sound or look like others: i, l, o, 0, 1
LENGTH = 5


@dataclass(frozen=True)
class Place:
    """A page with its choices."""

    page: str  # a name in `PAGES`
    choices: tuple[tuple[str, str], ...]  # as the URL writes them


class Codes:
    """Places by code. The same place keeps its code; the oldest codes are forgotten first."""

    def __init__(self, *, most: int) -> None:
        self.most = most
        self._lock = threading.Lock()
        self._places: OrderedDict[str, Place] = OrderedDict()

    def code_of(self, place: Place) -> str:
        """The code of a place. From now on it leads there."""
        number = int.from_bytes(hashlib.sha256(repr(place).encode()).digest())
        with self._lock:
            while True:
                code = ""
                for _ in range(LENGTH):
                    number, sign = divmod(number, len(SIGNS))
                    code += SIGNS[sign]
                if self._places.setdefault(code, place) == place:  # else the code is taken: try the next signs
                    break
            self._places.move_to_end(code)
            while len(self._places) > self.most:
                self._places.popitem(last=False)
            return code

    def place_of(self, code: str) -> Place | None:
        """The place of a code, typed with or without blanks and capitals; None for an unknown code."""
        with self._lock:
            return self._places.get(code.strip().lower())


CODES = Codes(most=1_000)  # each holds what fits into a URL: 8 MB in total at most
