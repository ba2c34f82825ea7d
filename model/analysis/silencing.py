"""Silence each head in turn: how the outcome of a text changes, and which word or class changes first.

The outcome is the model's own: its translation, read token by token (teacher forcing), its guesses for masked tokens,
or its class. One pass measures many heads: each row of a batch runs without another head. Up to the first position
where another token becomes the most probable, greedy search without the head writes the same tokens. So the same pass
also shows where the text would change.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.analysis.availability import nothing_predicted
from model.analysis.importance import all_heads
from model.checkpoints.checkpoint import Loaded
from model.decoding.decoder_state import length_limit
from model.inference.classify import log_odds_of
from model.inference.one_pass import pass_over
from model.inference.padding import padded_for
from model.inference.translation import Translation
from model.interventions import Head
from model.network.protocols import Reads, Writes, classifies
from model.text.vocab import Specials, TextRules
from model.trace import Edit, hook_name, tracing

__all__ = ["SilencingEffects", "require_outcome", "silence_each_head"]

FloatArray = NDArray[np.float32]
MAX_TOKENS = 2_048  # in one batch; larger ones are no faster and take more memory
MAX_LOG_PROBS = 1 << 24  # in one batch, 64 MB: some vocabularies have 250,000 tokens


@dataclass(frozen=True, kw_only=True)
class SilencingEffects:
    """The effect of silencing one head at a time.

    The change is that of the log-probability of what the model writes or guesses, or of the log-odds of its class.
    """

    changes: Mapping[str, FloatArray]  # kind → (L, H), in nats; below 0, the outcome is less likely
    positions: Mapping[str, NDArray[np.int64]]  # kind → (L, H), position of the first token that changes; -1: none


class MeasuredText:
    """What a model makes of one text, measured in a batch of equal rows."""

    length: int  # tokens of one row
    numbers: int  # log-probabilities of one row

    def measure(self, rows: int, kind: str) -> tuple[Tensor, Tensor]:
        """Run a batch of equal rows, with the edits of the active trace.

        Args:
            rows: B.
            kind: The kind of the heads that are edited.

        Returns:
            How likely the outcome is in each row, (B,), in nats; and the first position where another one begins, (B,),
            or -1.
        """
        raise NotImplementedError


class WrittenText(MeasuredText):
    """A translation or a continuation."""

    def __init__(self, model: Writes, specials: Specials, translation: Translation) -> None:
        self.model, self.first = model, translation.prompt_length or int(translation.first_token_fixed)
        self.source = padded_for(model, [[token.id for token in translation.source or translation.read[:1]]])
        self.read = padded_for(model, [[token.id for token in translation.read]])
        self.written = torch.tensor([token.id for token in translation.written[self.first :]], device=model.device)
        self.banned = torch.tensor(specials.banned, dtype=torch.long, device=model.device)
        self.rules = rules_of_text(model, specials, translation)
        self.length = self.source.size(1) + self.read.size(1)
        self.numbers = self.read.size(1) * model.config.target_vocab_size
        self.memory = model.encode(self.source)

    def measure(self, rows: int, kind: str) -> tuple[Tensor, Tensor]:
        # Heads of the decoder do not change the memory, so it is computed once.
        memory = self.model.encode(self.source.expand(rows, -1)) if kind == "encoder" else self.memory
        vectors, mask = (part.expand(rows, *part.shape[1:]) for part in memory)
        logits = self.model.decode(self.read.expand(rows, -1), vectors, mask, first=self.first).float()
        log_probs = logits.log_softmax(dim=-1)  # (B, T, V)
        totals = log_probs.gather(-1, self.written.expand(rows, -1)[..., None]).sum(dim=(1, 2))
        differs = self.choices(logits) != self.written  # (B, T)
        return totals, torch.where(differs.any(dim=1), differs.int().argmax(dim=1) + self.first, -1)

    def choices(self, logits: Tensor) -> Tensor:
        """The tokens that greedy search chooses after the same earlier tokens: (B, T, V) → (B, T)."""
        if self.rules:
            read = self.read.expand(len(logits), -1)
            places = enumerate(logits.unbind(dim=1), start=self.first + 1)
            logits = torch.stack([self.rules(read[:, :end], scores) for end, scores in places], dim=1)
        return logits.index_fill(-1, self.banned, float("-inf")).argmax(dim=-1)


def rules_of_text(model: Writes, specials: Specials, translation: Translation) -> TextRules | None:
    """The rules that the search of this text obeyed; None if the model has none."""
    if not specials.rules:
        return None
    prompt, most = translation.prompt_length, model.config.max_length
    source = [token.id for token in translation.source or translation.read[: prompt + 1]]
    limit = length_limit(len(source), most, fewest=specials.fewest)
    if model.task == "continuation":
        limit = prompt + min(specials.new_tokens, most // 2)
    return specials.rules.for_text(source, given=prompt + 1, limit=limit, device=model.device)


class ReadText(MeasuredText):
    """The best guess for each masked token, or the class in log-odds."""

    def __init__(self, model: Reads, translation: Translation) -> None:
        source = [token.id for token in translation.source]
        self.model, self.run = model, pass_over(model, source, ())
        outcomes = [(one.position or 0, one.id) for one in translation.outcomes]
        self.places, self.ids = (torch.tensor(part, device=model.device) for part in zip(*outcomes, strict=True))
        self.length = len(source)
        self.numbers = self.length  # a classifier has few labels
        if not classifies(model):
            self.numbers *= int(model.config.target_vocab_size)  # type: ignore[attr-defined]

    def measure(self, rows: int, kind: str) -> tuple[Tensor, Tensor]:
        logits = self.run(rows)
        assert isinstance(logits, Tensor), "there are outcomes"
        if classifies(self.model):
            scores = log_odds_of(self.model, logits.float())[:, None]  # (B, 1, C)
        else:
            scores = logits[:, self.places].float().log_softmax(dim=-1)  # (B, M, V)
        totals = scores.gather(-1, self.ids.expand(rows, -1)[..., None]).sum(dim=(1, 2))
        differs = scores.argmax(dim=-1) != self.ids  # (B, M)
        return totals, torch.where(differs.any(dim=1), self.places[differs.int().argmax(dim=1)], -1)


def require_outcome(checkpoint: Loaded, translation: Translation) -> MeasuredText:
    """What can be measured in a text.

    Args:
        checkpoint: Of the model; never changed.
        translation: By greedy search with the unchanged model, a reading, or a classification as a reading. The tokens
            of a prompt do not count.

    Raises:
        ConfigError: the model predicts nothing in this text.
    """
    model = checkpoint.model
    if isinstance(model, Writes):
        return WrittenText(model, checkpoint.tokenizers.specials, translation)
    if translation.outcomes:
        return ReadText(model, translation)
    raise nothing_predicted(checkpoint.config)


@torch.inference_mode()
def silence_each_head(
    checkpoint: Loaded,
    translation: Translation,
    *,
    report: Callable[[int, int], object] = lambda done, heads: None,
) -> SilencingEffects:
    """Silence one head of a model at a time.

    Args:
        checkpoint: The checkpoint of the translation; never changed.
        translation: See `require_outcome`.
        report: Called before each batch with the number of heads done and of all heads. An exception ends the work.

    Raises:
        ConfigError: the model predicts nothing in this text.
    """
    model, outcome = checkpoint.model, require_outcome(checkpoint, translation)
    heads = all_heads(model)
    before = outcome.measure(1, "decoder")[0]
    effects: dict[Head, tuple[float, int]] = {}
    for batch in batches(heads, rows_per_batch(outcome.length, outcome.numbers)):
        report(len(effects), len(heads))
        with tracing(record=(), edits=silence_one_per_row(batch)):
            totals, positions = outcome.measure(len(batch), batch[0].kind)
        pairs = zip((totals - before).tolist(), positions.tolist(), strict=True)
        effects |= dict(zip(batch, pairs, strict=True))
    size = (-1, model.config.num_heads)
    by_kind = {kind: [effects[head] for head in heads if head.kind == kind] for kind in model.config.kinds}
    return SilencingEffects(
        changes={
            kind: np.array([change for change, _ in pairs], dtype=np.float32).reshape(size)
            for kind, pairs in by_kind.items()
        },
        positions={
            kind: np.array([position for _, position in pairs], dtype=np.int64).reshape(size)
            for kind, pairs in by_kind.items()
        },
    )


def rows_per_batch(length: int, numbers: int) -> int:
    """How many rows with so many tokens and log-probabilities fit into one batch, at least one."""
    return max(1, min(MAX_TOKENS // length, MAX_LOG_PROBS // numbers))


def batches(heads: Sequence[Head], size: int) -> list[list[Head]]:
    """Batches of at most `size` heads. Heads of the encoder never share a batch with others."""
    encoder = [head for head in heads if head.kind == "encoder"]
    decoder = [head for head in heads if head.kind != "encoder"]
    return [part[start : start + size] for part in (encoder, decoder) for start in range(0, len(part), size)]


def silence_one_per_row(heads: Sequence[Head]) -> dict[str, Edit]:
    """Edits for a batch with one row per head: row i runs without head i."""
    cells: dict[str, list[tuple[int, int]]] = {}
    for row, head in enumerate(heads):
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
