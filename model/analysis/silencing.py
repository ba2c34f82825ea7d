"""Silence each head in turn: how the outcome of a text changes, and which word or class changes first.

The outcome is the model's own: its translation, read token by token (teacher forcing), its guesses for masked tokens,
or its class. One pass measures many heads: each row of a batch runs without another head. A model of ours computes one
row up to the layer of these heads, because nothing differs before it. Up to the first position where another token
becomes the most probable, greedy search without the head writes the same tokens. So the same pass also shows where the
text would change.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.analysis.availability import nothing_predicted
from model.analysis.followed import Followed
from model.analysis.importance import Report, all_heads, gradient_importance
from model.decoding.search import length_limit
from model.inference.classify import log_odds_of
from model.inference.passes import padded_for, pass_over
from model.inference.run import FloatArray, Outcome, Result, Run
from model.inference.translate import compute
from model.interventions import Head, Intervention
from model.network.own_model import OwnModel
from model.network.protocols import Reads, ReadsBatches, Writes, classifies
from model.text.pair import texts_of
from model.text.vocab import Specials, TextRules
from model.trace import Edit, hook_name, tracing

__all__ = [
    "Measured",
    "SilencingEffects",
    "decisive_heads",
    "measured_outcomes",
    "rules_for",
    "silence_each_head",
    "silence_rows",
]

MAX_TOKENS = 2_048  # in one batch; larger ones are no faster and take more memory
MAX_ALONE = 24  # heads tried one by one; less important ones hardly ever change a word
MAX_LOG_PROBS = 1 << 24  # in one batch, 64 MB: some vocabularies have 250,000 tokens


@dataclass(frozen=True, kw_only=True)
class SilencingEffects:
    """The effect of silencing one head at a time.

    The change is that of the log-probability of what the model writes or guesses, or of the log-odds of its class.
    """

    changes: Mapping[str, FloatArray]  # kind → (L, H), in nats; below 0, the outcome is less likely
    positions: Mapping[str, NDArray[np.int64]]  # kind → (L, H), position of the first token that changes; -1: none


class Measured:
    """The outcomes of a run in a batch of equal rows: all tokens after a prompt, all guesses, or the label."""

    def __init__(self, text: Followed) -> None:
        """Prepare the batches.

        Args:
            text: By greedy search with the unchanged model, or read.

        Raises:
            ConfigError: the model predicts nothing in this text.
        """
        self.model, specials, first = text.model, text.checkpoint.tokenizers.specials, first_position(text.result)
        outcomes = measured_outcomes(text)
        source, read, device = text.ids("encoder"), text.ids("decoder"), self.model.device
        self.run, self.first = pass_over(self.model, source, read, first=first), first
        self.read = padded_for(self.model, [read])
        self.places = torch.tensor([one.position or 0 for one in outcomes], device=device)  # (N,)
        self.ids = torch.tensor([one.id for one in outcomes], device=device)  # (N,)
        self.banned, self.rules = torch.empty(0, dtype=torch.long, device=device), None
        if isinstance(self.model, Writes):
            self.banned = torch.tensor(specials.banned, dtype=torch.long, device=device)
            self.rules = rules_for(self.model, specials, source or read[: text.result.prompt_length + 1])
        self.length = len(source or read[:1]) + len(read)  # tokens of one row
        vocabulary = 1 if classifies(self.model) else self.model.config.target_vocab_size  # type: ignore[attr-defined]
        self.numbers = len(read or source) * int(vocabulary)  # log-probabilities of one row

    @torch.inference_mode()
    def measure(self, rows: int, *, encode: bool) -> tuple[Tensor, Tensor]:
        """Run a batch of equal rows, with the edits of the active trace.

        Args:
            rows: B, before the edits; see `split_rows`.
            encode: The edits change the encoder of a model that writes; without them, it need not run again.

        Returns:
            How likely the outcomes are in each row, (B,), in nats; and the first position where another one begins,
            (B,), or -1.
        """
        found = self.run(rows, encode=encode)
        assert found is not None, "there are outcomes"
        every = len(self.places) == found.size(1)  # the usual case, in which nothing is copied
        logits = (found if every else found[:, self.places - self.first]).float()  # (B, N, V)
        scores = log_odds_of(self.model, logits) if classifies(self.model) else logits.log_softmax(dim=-1)
        totals = scores.gather(-1, self.ids.expand(len(scores), -1)[..., None]).sum(dim=(1, 2))
        differs = self.choices(scores if classifies(self.model) else logits) != self.ids  # (B, N)
        return totals, torch.where(differs.any(dim=1), self.places[differs.int().argmax(dim=1)], -1)

    def choices(self, logits: Tensor) -> Tensor:
        """The outcomes after the same earlier tokens: (B, N, V) → (B, N)."""
        if self.rules:
            read = self.read.expand(len(logits), -1)
            places = enumerate(logits.unbind(dim=1), start=self.first + 1)
            logits = torch.stack([self.rules(read[:, :end], scores) for end, scores in places], dim=1)
        best = logits.argmax(dim=-1)
        if torch.isin(best, self.banned).any():  # rare, and it copies all logits
            best = logits.index_fill(-1, self.banned, float("-inf")).argmax(dim=-1)
        return best


def first_position(result: Result) -> int:
    """The position of the first token that the model chose."""
    return result.prompt_length or int(result.first_token_fixed)


def measured_outcomes(text: Followed) -> list[Outcome]:
    """The outcomes that `Measured` measures, at least one.

    Raises:
        ConfigError: the model predicts nothing in this text.
    """
    found = [one for one in text.result.outcomes if (one.position or 0) >= first_position(text.result)]
    if not found:
        raise nothing_predicted(text.checkpoint.config)
    return found


def rules_for(model: Reads, specials: Specials, source: Sequence[int]) -> TextRules | None:
    """The rules that a search over the ids of a source or a prompt obeys; None if the model has none."""
    if not specials.rules:
        return None
    prompt, most = 0, model.config.max_length
    limit = length_limit(len(source), most, fewest=specials.fewest)
    if isinstance(model, ReadsBatches):
        prompt = len(source) - 1
        limit = prompt + min(specials.new_tokens, most // 2)
    return specials.rules.for_text(source, given=prompt + 1, limit=limit, device=model.device)


@torch.inference_mode()
def silence_each_head(text: Followed, *, report: Report = lambda done, heads: None) -> SilencingEffects:
    """Silence one head of a model at a time.

    Args:
        text: See `Measured`.
        report: Called before each batch with the number of heads done and of all heads. An exception ends the work.

    Raises:
        ConfigError: the model predicts nothing in this text.
    """
    measured, config = Measured(text), text.model.config
    before = measured.measure(1, encode=False)[0]
    changes = {kind: np.zeros((config.num_layers(kind), config.num_heads), np.float32) for kind in config.kinds}
    positions = {kind: np.zeros(grid.shape, np.int64) for kind, grid in changes.items()}
    heads, done, splits = all_heads(text.model), 0, isinstance(text.model, OwnModel)
    for batch in batches(heads, rows_per_batch(measured.length, measured.numbers), by_layer=splits):
        report(done, len(heads))
        done += len(batch)
        edits = split_rows(batch) if splits else silence_rows([(head,) for head in batch])
        with tracing(record=(), edits=edits):
            totals, places = measured.measure(1 if splits else len(batch), encode=batch[0].kind == "encoder")
        for head, change, place in zip(batch, (totals - before).tolist(), places.tolist(), strict=True):
            changes[head.kind][head.layer, head.head] = change
            positions[head.kind][head.layer, head.head] = place
    return SilencingEffects(changes=changes, positions=positions)


def rows_per_batch(length: int, numbers: int) -> int:
    """How many rows with so many tokens and log-probabilities fit into one batch, at least one."""
    return max(1, min(MAX_TOKENS // length, MAX_LOG_PROBS // numbers))


def batches(heads: Sequence[Head], size: int, *, by_layer: bool) -> list[list[Head]]:
    """Batches of at most `size` heads: of one attention layer, or at least of the encoder or of others alone."""
    parts: dict[object, list[Head]] = {}
    for head in heads:
        parts.setdefault((head.kind, head.layer) if by_layer else head.kind == "encoder", []).append(head)
    return [part[start : start + size] for part in parts.values() for start in range(0, len(part), size)]


def split_rows(heads: Sequence[Head]) -> dict[str, Edit]:
    """Edits that make one row per head of a single row, each without the outputs of its head.

    Before the attention layer of these heads, all rows are equal, so a model of ours computes them once.
    """
    rows, silent = list(range(len(heads))), [head.head for head in heads]

    def edit(outputs: Tensor) -> Tensor:  # (1, H, T, K) → (B, H, T, K)
        silenced = outputs.repeat(len(rows), 1, 1, 1)
        silenced[rows, silent] = 0.0
        return silenced

    return {hook_name(heads[0].kind, heads[0].layer, "head_outputs"): edit}


def silence_rows(groups: Sequence[Sequence[Head]]) -> dict[str, Edit]:
    """Edits for a batch with one row per group: row i runs without the heads of group i."""
    cells: dict[str, list[tuple[int, int]]] = {}
    for row, heads in enumerate(groups):
        for head in heads:
            for stage in ("weights", "head_outputs"):  # 0 times a value that is not a number is not 0
                cells.setdefault(hook_name(head.kind, head.layer, stage), []).append((row, head.head))
    return {name: silence_cells(pairs) for name, pairs in cells.items()}


def silence_cells(cells: Sequence[tuple[int, int]]) -> Edit:
    """An edit for `*.weights` that silences one head in some rows, given as (row, head) pairs."""
    rows, heads = (list(index) for index in zip(*cells, strict=True))

    def edit(weights: Tensor) -> Tensor:  # (B, H, T, S)
        silenced = weights.clone()
        silenced[rows, heads] = 0.0
        return silenced

    return edit


def decisive_heads(text: Followed, *, report: Report = lambda done, runs: None) -> frozenset[Head]:
    """Find one head, or a group without a superfluous head, whose removal changes the text of the result.

    Heads are tried one by one, then 2, 4, 8 … together, in the order of their importance by gradients. The group is
    empty where the text stays the same without any head.

    Args:
        text: A run of the unchanged model.
        report: Called before each run with the number of runs done and an estimate of all. An exception ends the work.

    Raises:
        ConfigError: the model only reads.
    """
    importance = gradient_importance(text.checkpoint, (texts_of(text.run.text),))
    heads = sorted(all_heads(text.model), key=lambda head: -importance[head.kind][0, head.layer, head.head])
    alone = [frozenset({head}) for head in heads[:MAX_ALONE]]
    together = [frozenset(heads[: 2**power]) for power in range(1, (len(heads) - 1).bit_length() + 1)]
    done, runs = 0, len(alone) + len(together) + len(heads)

    def changes(silenced: frozenset[Head]) -> bool:
        nonlocal done
        report(done, runs)
        done += 1
        run = Run(text=text.run.text, changes=Intervention(ablated=silenced))
        return compute(text.checkpoint, run).text != text.result.text

    silenced = next(filter(changes, (*alone, *together)), frozenset())
    before = len(silenced) + 1
    while 1 < len(silenced) < before:  # without one head, another one may be superfluous too
        before = len(silenced)
        for head in [head for head in reversed(heads) if head in silenced]:
            if len(silenced) > 1 and changes(silenced - {head}):
                silenced -= {head}
    return silenced
