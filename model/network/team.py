"""The processes that `torchrun` or `accelerate launch` started, and what they share."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

import torch
import torch.distributed as dist

__all__ = ["ALONE", "PATIENCE", "Team", "launched_team", "present_team"]

T = TypeVar("T")
R = TypeVar("R")
PATIENCE = timedelta(days=7)  # until a process that waits for another one gives up; a launcher ends them all before


@dataclass(frozen=True, kw_only=True)
class Team:
    """The processes of a run. This is one of them."""

    rank: int = 0
    size: int = 1

    def gathered(self, value: T) -> list[T]:
        """The values of all processes, in the order of their ranks."""
        found: list[T] = [value] * self.size
        if self.size > 1:
            dist.all_gather_object(found, value)
        return found

    def shared(self, compute: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """What `compute` makes of each item, in their order. Each process computes its share, and all get the whole."""
        parts = self.gathered([compute(item) for item in items[self.rank :: self.size]])
        return [parts[i % self.size][i // self.size] for i in range(len(items))]

    def wait(self) -> None:
        """Until all processes are here."""
        if self.size > 1:
            dist.barrier()


ALONE = Team()


def present_team() -> Team:
    """The processes that communicate already, or this one alone."""
    return Team(rank=dist.get_rank(), size=dist.get_world_size()) if dist.is_initialized() else ALONE


@contextmanager
def launched_team() -> Iterator[Team]:
    """The processes that a launcher started, or this one alone. On a machine with GPUs, each takes one."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield ALONE
        return
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
    dist.init_process_group("gloo", timeout=PATIENCE)
    try:
        yield present_team()
    finally:
        dist.destroy_process_group()
