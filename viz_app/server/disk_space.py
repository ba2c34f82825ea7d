"""The space on the disk that one kind of file of all visitors may take together."""

import threading

from model.checkpoints.checkpoint import CheckpointError

__all__ = ["DiskSpace"]


class DiskSpace:
    """A number of bytes that visitors reserve and release."""

    def __init__(self, size: int) -> None:
        self._left, self._lock = size, threading.Lock()

    def has(self, size: int) -> bool:
        """Whether so many bytes are free."""
        return size <= self._left

    def reserve(self, size: int) -> None:
        """Reserve bytes.

        Raises:
            CheckpointError: other visitors use too much.
        """
        with self._lock:
            if size <= self._left:
                self._left -= size
                return
        raise CheckpointError("Other visitors are using all the disk space. Try again when they have left.")

    def release(self, size: int) -> None:
        with self._lock:
            self._left += size
