"""How a model learned: the same text at each snapshot of a training run.

Every snapshot is forced to write the translation of the trained model. So all maps have the same rows and columns, and
the loss shows how improbable that translation was at the time.
"""

import re
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from model.checkpoints.checkpoint import Checkpoint, at_snapshot, find_snapshots
from model.inference.opening import open_translator
from model.inference.result import AttentionMaps, Result
from model.inference.tokens import Token
from model.inference.translate import greedy_text, translate

__all__ = [
    "EXTRA_TOKENS",
    "SnapshotResult",
    "UnreadableSnapshot",
    "list_snapshots",
    "open_snapshot",
    "run_snapshot",
    "trained_result",
]

# Tokens that a snapshot may write beyond the trained model's number. An untrained one would repeat a word far longer.
EXTRA_TOKENS = 2


@dataclass(frozen=True, kw_only=True)
class SnapshotResult:
    """What a snapshot does with one text."""

    text: str  # its own translation
    finished: bool  # its translation ended by itself; False: it was cut, see `EXTRA_TOKENS`
    maps: AttentionMaps  # while it is forced to write the trained model's translation
    loss: float  # of the trained model's translation, in nats per token


@dataclass(frozen=True, kw_only=True)
class UnreadableSnapshot:
    """A snapshot whose weights cannot be loaded."""

    message: str  # the reason


def list_snapshots(folder: Path) -> dict[int, Path]:
    """Find the snapshots of a training run: files of weights from our own training, or whole checkpoints.

    Other tools, such as the Trainer of `transformers`, write the folders `checkpoint-500`, `checkpoint-1000` and so on.

    Args:
        folder: Of the trained checkpoint.

    Returns:
        Step → path, in the order of the steps; empty where the run kept no snapshots.
    """
    if kept := find_snapshots(folder):
        return kept
    named = [(re.fullmatch(r"checkpoint-(\d+)", path.name), path) for path in folder.parent.glob("checkpoint-*")]
    checkpoints = {int(match[1]): path for match, path in named if match and (path / "config.json").is_file()}
    return dict(sorted(checkpoints.items())) if folder in checkpoints.values() else {}


def open_snapshot(checkpoint: Checkpoint, weights: Path) -> Checkpoint:
    """Load a snapshot.

    Args:
        checkpoint: The trained model.
        weights: The snapshot's file of weights, or its folder.

    Raises:
        CheckpointError: the weights cannot be loaded, or they do not fit the model.
    """
    return open_translator(weights) if weights.is_dir() else at_snapshot(checkpoint, weights)


def run_snapshot(snapshot: Checkpoint, text: str, trained: Result) -> SnapshotResult:
    """Let a snapshot write its own translation, and force it to write the one of the trained model.

    Args:
        snapshot: From `open_snapshot`; never changed.
        text: Any text.
        trained: The translation by the trained model.
    """
    forced = translate(snapshot, text, forced=trained.as_forced)
    banned = snapshot.tokenizers.specials.banned

    def chosen(token: Token) -> bool:
        """Whether greedy search writes this forced token too."""
        return next((candidate.id for candidate in token.candidates if candidate.id not in banned), None) == token.id

    same = [token.id for token in takewhile(chosen, forced.written)]
    if len(same) == len(forced.written):
        own, finished = trained.text, trained.finished
    else:
        limit = len(trained.written) - trained.prompt_length + EXTRA_TOKENS
        own, finished = greedy_text(snapshot, text, forced=dict(enumerate(same)), limit=limit)
    return SnapshotResult(text=own, finished=finished, maps=forced.maps, loss=loss_of(forced))


def trained_result(trained: Result) -> SnapshotResult:
    """The result of the trained model itself. It may be a mean of several epochs, so it is not a snapshot."""
    return SnapshotResult(text=trained.text, finished=trained.finished, maps=trained.maps, loss=loss_of(trained))


def loss_of(translation: Result) -> float:
    """The negative log-probability, in nats per token."""
    return -translation.log_prob / len(translation.written)
