"""How a model learned: the same text at each snapshot of a training run.

Every snapshot is forced to write the translation of the trained model. So all maps have the same rows and columns, and
the loss shows how improbable that translation was at the time.
"""

import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from pathlib import Path

import torch
from torch import Tensor

from model.checkpoints.checkpoint import Checkpoint, at_snapshot, find_snapshots
from model.inference.opening import open_translator
from model.inference.passes import padded_for
from model.inference.run import AttentionMaps, Result, attention_maps
from model.inference.translate import require_writing, search_text
from model.network.cache import DecoderCache
from model.text.vocab import Specials
from model.trace import IfPresent, tracing

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
WEIGHTS = (IfPresent("*.weights"),)
LOWEST = math.log(1e-30)  # a lower log-probability counts as this one, as in `Result.log_prob`


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


@torch.inference_mode()
def run_snapshot(snapshot: Checkpoint, text: str, trained: Result) -> SnapshotResult:
    """Let a snapshot write its own translation, and force it to write the one of the trained model.

    One pass over the trained model's tokens gives the maps, the loss, and where the snapshot would write another one.

    Args:
        snapshot: From `open_snapshot`; never changed.
        text: Any text.
        trained: The translation by the trained model.

    Raises:
        ConfigError: the snapshot writes nothing.
    """
    model, tokenizers = require_writing(snapshot), snapshot.tokenizers
    source, read, written = ([token.id for token in part] for part in (trained.source, trained.read, trained.written))
    with tracing(record=WEIGHTS) as trace:
        memory, real = model.encode(padded_for(model, [source or read]))
        cache = model.start_cache()
        mask = None if bool(real.all()) else real
        logits = model.decode(padded_for(model, [read]), memory, mask, cache=cache)[0]  # (T, V)
    given = max(trained.prompt_length, int(trained.first_token_fixed))  # tokens that no model chooses
    choices = [*written[:given], *best_ids(logits, tokenizers.specials)[given:]]
    limit = len(written) - trained.prompt_length + EXTRA_TOKENS
    if choices == written:
        own, finished = trained.text, trained.finished
    elif model.reads_ahead and not tokenizers.specials.rules:

        def choose(ids: Sequence[int], first: int) -> list[int]:
            if isinstance(cache, DecoderCache):  # it has what was read before the first choice
                cache.cut(first)
                found = model.decode(padded_for(model, [ids[first - 1 : -1]]), memory, mask, cache=cache)
            else:
                found = model.decode(padded_for(model, [[*read[:1], *ids[:-1]]]), memory, mask, first=first)
            return best_ids(found[0], tokenizers.specials)

        ends = {tokenizers.specials.eos, *tokenizers.specials.more_ends}
        ids = greedy_by_guessing(choose, written, choices, ends=ends, limit=min(limit, model.config.max_length))
        finished = ids[-1] in ends
        own = tokenizers.target.decode(ids[:-1] if finished else ids)
    else:
        own, finished = search_text(
            model, tokenizers, text, forced=dict(enumerate(agreed(choices, written))), limit=limit
        )
    log_probs = logits.float().log_softmax(dim=-1).cpu()[torch.arange(len(written)), written]  # (T,)
    loss = -float(log_probs.clamp(min=LOWEST)[trained.prompt_length :].sum()) / tokens_of_model(trained)
    return SnapshotResult(text=own, finished=finished, maps=attention_maps(trace, model, (0,)), loss=loss)


def best_ids(logits: Tensor, specials: Specials) -> list[int]:
    """What greedy search writes, from logits (T, V): the end of the text where they are not numbers."""
    scores = logits.index_fill(1, torch.tensor(specials.banned, dtype=torch.long, device=logits.device), -math.inf)
    return scores.argmax(dim=-1).masked_fill(scores.isnan().any(dim=-1), specials.eos).tolist()


def agreed(choices: Sequence[int], guess: Sequence[int]) -> list[int]:
    """The first tokens that are the same in both."""
    return [one for one, _ in takewhile(lambda pair: pair[0] == pair[1], zip(choices, guess, strict=True))]


def greedy_by_guessing(
    choose: Callable[[Sequence[int], int], list[int]],
    guess: Sequence[int],
    choices: Sequence[int],
    *,
    ends: Collection[int],
    limit: int,
) -> list[int]:
    """Write what greedy search writes, with few passes: each confirms the start of a guess and corrects one token.

    A guess continues a text with what the model chose after its last token before, in this text or in an earlier guess.
    This foresees repetitions, which fill the texts of an untrained model, and the return to the words of the first
    guess.

    Args:
        choose: From T ids and a position to what the model writes there and at each later one, after the ids before it.
        guess: The first guess.
        choices: What the model writes at each position of it.
        ends: The ids that end a text.
        limit: The most tokens.
    """
    followers: dict[int, int] = {}
    while True:
        followers.update(zip(guess, choices[1:], strict=False))
        own = list(choices[: len(agreed(choices, guess)) + 1])
        if own[-1] in ends or len(own) >= limit:
            return own[:limit]
        followers.update(pairwise(own))
        guess = list(own)
        while len(guess) < limit and guess[-1] not in ends:
            guess.append(followers.get(guess[-1], choices[min(len(guess), len(choices) - 1)]))
        choices = [*own, *choose(guess, len(own))]


def trained_result(trained: Result) -> SnapshotResult:
    """The result of the trained model itself. It may be a mean of several epochs, so it is not a snapshot."""
    loss = -trained.log_prob / tokens_of_model(trained)
    return SnapshotResult(text=trained.text, finished=trained.finished, maps=trained.maps, loss=loss)


def tokens_of_model(translation: Result) -> int:
    """How many tokens the model wrote itself, after the prompt."""
    return max(1, len(translation.written) - translation.prompt_length)
