"""How a model came to be: the same text at each snapshot of its training.

What the trained model writes is forced upon all of them. So their maps have the same rows and columns, and the loss
says how unlikely that translation still was.
"""

import re
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from model.checkpoints.checkpoint import Checkpoint, at_snapshot, find_snapshots
from model.inference.opening import open_translator
from model.inference.tokens import Token
from model.inference.translate import greedy_text, translate
from model.inference.translation import AttentionMaps, Translation

__all__ = ["EXTRA_TOKENS", "SnapshotResult", "list_snapshots", "open_snapshot", "run_snapshot", "trained_result"]

# Tokens that a snapshot may write beyond the trained model's number. An untrained one would repeat a word far longer.
EXTRA_TOKENS = 2


@dataclass(frozen=True, kw_only=True)
class SnapshotResult:
    """A model at one time of its training, before one text."""

    text: str  # what it writes by itself
    finished: bool  # or it was stopped after as many tokens as the trained model wrote, and `EXTRA_TOKENS`
    maps: AttentionMaps  # while the trained model's translation is forced upon it
    loss: float  # of that translation, nats a token


def list_snapshots(folder: Path) -> dict[int, Path]:
    """Step → what is left of it, in the order of the steps: weights that a training of ours kept, or whole checkpoints.

    Others write `checkpoint-500`, `checkpoint-1000` and so on beside each other, as the Trainer of `transformers` does.
    """
    if kept := find_snapshots(folder):
        return kept
    named = [(re.fullmatch(r"checkpoint-(\d+)", path.name), path) for path in folder.parent.glob("checkpoint-*")]
    found = {int(match[1]): path for match, path in named if match and (path / "config.json").is_file()}
    return dict(sorted(found.items())) if folder in found.values() else {}


def open_snapshot(checkpoint: Checkpoint, weights: Path) -> Checkpoint:
    """The model as it was at one time of its training.

    Args:
        checkpoint: The trained model.
        weights: Of the snapshot, or its folder.

    Raises:
        CheckpointError: the weights cannot be loaded, or do not fit.
    """
    return open_translator(weights) if weights.is_dir() else at_snapshot(checkpoint, weights)


def run_snapshot(snapshot: Checkpoint, text: str, trained: Translation) -> SnapshotResult:
    """Let a snapshot translate by itself, and read what the trained model wrote.

    Args:
        snapshot: From `open_snapshot`; never changed.
        text: Anything.
        trained: The trained model's own translation of it.
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


def trained_result(trained: Translation) -> SnapshotResult:
    """The end: the trained model itself, which is no snapshot where its weights are the mean of several epochs."""
    return SnapshotResult(text=trained.text, finished=trained.finished, maps=trained.maps, loss=loss_of(trained))


def loss_of(translation: Translation) -> float:
    return -translation.log_prob / len(translation.written)
