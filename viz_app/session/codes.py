"""Short codes for pages, which a teacher can read aloud.

The store of the server keeps the latest codes. A code holds what a link holds, and not who made it.
"""

import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass

from viz_app.server.store import Kind, Records, Store, shared_store

__all__ = ["CODES", "DAYS", "LENGTH", "SIGNS", "Codes", "Place"]

SIGNS = "abcdefghjkmnpqrstuvwxyz23456789"  # without signs that sound or look like others: i, l, o, 0, 1
LENGTH = 5


@dataclass(frozen=True)
class Place:
    """A page with its choices."""

    page: str  # a name in `PAGES`
    choices: tuple[tuple[str, str], ...]  # as the URL writes them


class Codes:
    """Places by code. The same place keeps its code; the codes that nobody has asked for are forgotten first.

    Args:
        most: Codes at the same time.
        seconds: A code is forgotten after this time.
        store: Returns the store.
    """

    def __init__(self, *, most: int, seconds: float, store: Callable[[], Store] = shared_store) -> None:
        self.kind, self._store = Kind(name="page", most=most, seconds=seconds), store

    def code_of(self, place: Place) -> str:
        """The code of a place. From now on it leads there.

        Raises:
            StoreError: the store cannot be used.
        """

        def change(records: Records) -> str:
            number = int.from_bytes(hashlib.sha256(repr(place).encode()).digest())
            while True:
                code = ""
                for _ in range(LENGTH):
                    number, sign = divmod(number, len(SIGNS))
                    code += SIGNS[sign]
                if self._read(records, code) in (None, place):  # else the code is taken: try the next signs
                    records.put(self.kind, code, asdict(place))
                    return code

        return self._store().change(change)

    def place_of(self, code: str) -> Place | None:
        """The place of a code, typed with or without blanks and capitals; None for an unknown code.

        Raises:
            StoreError: the store cannot be used.
        """
        return self._store().change(lambda records: self._read(records, code.strip().lower()))

    def _read(self, records: Records, code: str) -> Place | None:
        found = records.all(self.kind, code)
        return Place(found["page"], tuple((name, value) for name, value in found["choices"])) if found else None


DAYS = 30
CODES = Codes(most=1_000, seconds=DAYS * 24 * 3600)  # each holds what fits into a URL: 8 MB in total at most
