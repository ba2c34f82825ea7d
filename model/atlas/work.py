"""Make an atlas: in one run or in several, by one process or many, and always with the same bytes.

Each process keeps its tally in a file `part-N.npz`. A run that continues adds the parts that it finds, and measures
what is missing. A share of an atlas is a folder with such parts; `merge` adds shares. The processes that `torchrun` or
`accelerate launch` starts divide the blocks among themselves, and the first one collects the tallies at the end.
"""

import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch.distributed as dist

from model.atlas.corpus import Corpus
from model.atlas.measuring import measured_blocks
from model.atlas.settings import Settings, settings_of
from model.atlas.store import require_free, write_atlas
from model.atlas.syntax import NO_SYNTAX, Syntax
from model.atlas.tally import Tally, add
from model.checkpoints.checkpoint import Loaded
from model.config.section import ConfigError
from model.files import replace_file
from model.messages import first_line
from model.network.team import Team, launched_team

__all__ = ["PART", "Report", "make_atlas", "merge", "unfinished_folder"]

Report = Callable[[int, int], object]  # (lines done, all lines of this process)
SAVE_SECONDS = 20.0  # between two saves; a process that is killed loses no more than this
PART = re.compile(r"part-(\d+)\.npz")


def collected(team: Team, tally: Tally) -> Sequence[Tally]:
    """The tallies of all processes at the first one; none at the others."""
    found: list[Tally] | None = [tally] * team.size if team.rank == 0 else None
    if team.size > 1:
        dist.gather_object(tally, found)
    return found or ()


def unfinished_folder(out: Path) -> Path:
    """Where the parts of an atlas are before it is complete."""
    return out.with_name(f"{out.name}.unfinished")


def make_atlas(
    checkpoint: Loaded,
    corpus: Corpus,
    out: Path,
    *,
    share: tuple[int, int] = (1, 1),
    report: Report = lambda done, lines: None,
    seed: int = 0,
    syntax: Syntax = NO_SYNTAX,
) -> None:
    """Measure a corpus and write the folder of its atlas, or one share of it. What is there already is not measured.

    Args:
        checkpoint: Of any task; never changed.
        corpus: The texts.
        out: The folder; for a share, where its parts are. Each of several processes may have a disk of its own.
        share: (k, n): measure the kth of n shares.
        report: Called before and after each block. An exception, also of a signal, ends the work; the same call
            continues later.
        seed: Of the random numbers.
        syntax: Pipelines of spaCy for the numbers of syntax.

    Raises:
        ConfigError: the model has no attention, or the folder has something else.
        CorpusError: the corpus cannot be read any more.
        CheckpointError: a file cannot be written.
    """
    settings = settings_of(checkpoint, corpus, seed=seed, syntax=syntax.names)
    whole = share == (1, 1)
    work = unfinished_folder(out) if whole else out
    with launched_team() as team:
        if whole and team.rank == 0:
            require_free(out)
        tally, absorbed = parts_in(work, settings, team)
        done = np.logical_or.reduce(team.gathered(tally.done))  # by any process before
        own = [block for block in range(share[0] - 1, corpus.blocks, share[1]) if not done[block]]
        work.mkdir(parents=True, exist_ok=True)
        part = Part(path=work / f"part-{team.rank}.npz", settings=settings, absorbed=absorbed)
        tally = measure(checkpoint, corpus, own[team.rank :: team.size], tally, part, syntax=syntax, report=report)
        if whole:
            if tallies := collected(team, tally):
                write_atlas(add(tallies, corpus.blocks), settings, out)
            team.wait()  # the parts of all stay until the atlas is written
            remove_parts(work)


@dataclass(frozen=True, kw_only=True)
class Part:
    """The file of the tally of one process."""

    path: Path
    settings: Settings
    absorbed: Sequence[Path]  # parts of an earlier run whose tallies are in it

    def save(self, tally: Tally) -> None:
        replace_file(self.path, tally.to_bytes(self.settings.to_dict()))
        for path in self.absorbed:
            if path != self.path:
                path.unlink(missing_ok=True)


def measure(
    checkpoint: Loaded,
    corpus: Corpus,
    blocks: Sequence[int],
    tally: Tally,
    part: Part,
    *,
    syntax: Syntax,
    report: Report,
) -> Tally:
    """Add blocks to a tally, and save it now and then and at the end."""
    settings, saved = part.settings, time.monotonic()
    lines = [min(settings.block, corpus.lines - block * settings.block) for block in blocks]
    measured = measured_blocks(checkpoint, corpus, blocks, settings, syntax)
    try:
        report(0, sum(lines))
        for number, block in enumerate(measured, start=1):
            tally = tally + block
            report(sum(lines[:number]), sum(lines))
            if time.monotonic() - saved >= SAVE_SECONDS:
                part.save(tally)
                saved = time.monotonic()
    finally:
        measured.close()
        part.save(tally)
    return tally


def parts_in(work: Path, settings: Settings, team: Team) -> tuple[Tally, list[Path]]:
    """What this process takes from earlier runs, and the files with it.

    Raises:
        ConfigError: a part is damaged, or belongs to another atlas.
    """
    numbered = {int(match[1]): path for path in work.glob("*") if (match := PART.fullmatch(path.name))}
    paths = [path for number, path in sorted(numbered.items()) if number % team.size == team.rank]
    if work.exists() and not numbered and any(work.iterdir()):
        raise ConfigError("{folder} has other files. Choose another folder for the atlas.", folder=work)
    found = [(path, *read_part(path)) for path in paths]
    for path, _, others in found:
        settings.require_same(others, f"{path.parent.name}/{path.name}")
    return add((one for _, one, _ in found), -(-settings.lines // settings.block)), paths


def remove_parts(work: Path) -> None:
    """Remove the parts of an atlas, and their folder if it has nothing else. Another process may do the same."""
    for path in work.glob("*"):
        if PART.fullmatch(path.name):
            path.unlink(missing_ok=True)
    with suppress(OSError):
        work.rmdir()


def read_part(path: Path) -> tuple[Tally, Settings]:
    """Raises ConfigError if the file is damaged."""
    try:
        tally, settings = Tally.from_bytes(path.read_bytes())
        return tally, Settings.from_dict(settings)
    except Exception as error:  # damaged archives raise many kinds of errors
        raise ConfigError(
            "{file} is damaged, or it is no part of an atlas ({problem}). Delete it.",
            file=path,
            problem=first_line(error),
        ) from error


def merge(folders: Sequence[Path], out: Path) -> None:
    """Write the atlas of several shares.

    Args:
        folders: Of the shares, in any order.
        out: A new folder.

    Raises:
        ConfigError: the shares do not fit each other, one is missing, or `out` exists.
        CheckpointError: a file cannot be written.
    """
    require_free(out)
    found = []
    for folder in folders:
        paths = sorted(path for path in folder.glob("*") if PART.fullmatch(path.name))
        if not paths:
            raise ConfigError("{folder} has no part of an atlas. Name the folders of all shares.", folder=folder)
        found += [(path, *read_part(path)) for path in paths]
    settings = found[0][2]
    for path, _, others in found:
        settings.require_same(others, f"{path.parent.name}/{path.name}")
    tally = add((one for _, one, _ in found), len(found[0][1].done))
    if not tally.done.all():
        raise ConfigError(
            "{missing} of {all} blocks of lines are missing. Name the folders of all shares, and finish each.",
            missing=int((~tally.done).sum()),
            all=len(tally.done),
        )
    write_atlas(tally, settings, out)
