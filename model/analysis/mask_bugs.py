"""Mistakes with masks that real programs contained, and what each does to a padded batch.

They are edits at the hook points around the softmax, so the model never changes. Each works for all kinds of attention
that a model has. A search with a key/value cache needs no causal mask and would not show half of the mistakes. So here
every step reads its whole prefix again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.analysis.availability import require_masks
from model.analysis.padded_batch import PaddedBatch, ids_of, layer_stages, padded_batch
from model.analysis.silencing import rules_for
from model.checkpoints.checkpoint import Loaded
from model.decoding.search import SearchInput, finish, greedy, without_padding
from model.inference.classify import probabilities_of
from model.inference.passes import PaddedIds, Side, batch_logits, pad_ids
from model.network.protocols import Reads, ReadsBatches, Writes, classifies
from model.text.vocab import Specials
from model.trace import Edit, IfPresent, Trace, hook_name, tracing

__all__ = ["BUGS", "BugReport", "bug_weights", "bugs_of", "mask_bug"]

FloatArray = NDArray[np.float32]
Edits = dict[str, Edit]
LARGE_NEGATIVE = -1e9  # many programs use it instead of minus infinity, to avoid NaN
CONTINUED = 10  # tokens that a language model writes after each text; fewer if the model is large
MOST_WORK = 1e12  # parameters × tokens of the passes for a continuation: about ten seconds on two cores


def replace_mask(attention: str, change: Callable[[Tensor, Tensor], Tensor]) -> Edits:
    """Edits that mask the scores in another way.

    Args:
        attention: A pattern for the names of attention modules, such as `decoder.*.cross_attention`.
        change: From the scores and the correct mask, both (B, H, T, S), to the masked scores. The mask is True where a
            query may not attend.
    """
    latest: list[Tensor] = []

    def keep(scores: Tensor) -> Tensor:
        latest[:] = [scores]
        return scores

    def mask(masked_scores: Tensor) -> Tensor:
        # The mask of an attention module comes right after its scores, so the latest scores belong to it.
        return change(latest[0], masked_scores == float("-inf"))

    return {IfPresent(f"{attention}.scores"): keep, IfPresent(f"{attention}.masked_scores"): mask}


def structure(masked: Tensor) -> Tensor:
    """The part of a mask that comes from positions, (1, H, T, S): a causal mask, or a window.

    The longest sentence of a batch has no padding. So a cell that is masked in all sentences is not masked for padding.
    """
    return masked.all(dim=0, keepdim=True)


def padded_keys(masked: Tensor) -> Tensor:
    """True where the key is padding, (B, H, 1, S): no query may attend to it."""
    return masked.all(dim=-2, keepdim=True)


def tiny_fill() -> Edits:
    """Masked scores become 1e-12 instead of minus infinity."""
    return replace_mask("*", lambda scores, masked: scores.masked_fill(masked, 1e-12))


def inverted_causal() -> Edits:
    """The decoder attends to later tokens instead of earlier ones."""

    def change(scores: Tensor, masked: Tensor) -> Tensor:
        past = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril(-1)
        return scores.masked_fill(past | padded_keys(masked), LARGE_NEGATIVE)

    return replace_mask("decoder.*.self_attention", change)


def after_softmax() -> Edits:
    """The mask is applied to the weights, after the softmax."""
    latest: list[Tensor] = []

    def change(scores: Tensor, masked: Tensor) -> Tensor:
        latest[:] = [masked]
        return scores

    return replace_mask("*", change) | {"*.weights": lambda weights: weights.masked_fill(latest[0], 0.0)}


def no_padding() -> Edits:
    """Only the causal mask or the window is applied; padding is not masked."""
    return replace_mask("*", lambda scores, masked: scores.masked_fill(structure(masked), float("-inf")))


def on_queries() -> Edits:
    """The padding mask covers rows instead of columns."""
    padded_queries: list[Tensor] = []  # of the target, (B, H, T, 1); the mask of cross-attention does not contain them

    def own(scores: Tensor, masked: Tensor) -> Tensor:
        padded_queries[:] = [padded_keys(masked).transpose(-2, -1)]
        return scores.masked_fill(padded_queries[0] | structure(masked), LARGE_NEGATIVE)

    def cross(scores: Tensor, masked: Tensor) -> Tensor:
        return scores.masked_fill(padded_queries[0], LARGE_NEGATIVE)

    return (
        replace_mask("*.self_attention", own)
        | replace_mask("decoder.*.cross_attention", cross)
        | replace_mask("pooling.attention", lambda scores, masked: scores)  # its one query is no padding
    )


# Name → a function that makes the edits for one run.
BUGS: Mapping[str, Callable[[], Edits]] = {
    "fill": tiny_fill,
    "inverted": inverted_causal,
    "after": after_softmax,
    "padding": no_padding,
    "queries": on_queries,
}


def bugs_of(checkpoint: Loaded, side: Side | None = None) -> tuple[str, ...]:
    """The mistakes of `BUGS` that a program with this model can contain and that change something.

    Without a decoder there is no causal mask. Where a language model has its padding on the right, the causal mask
    excludes it already.

    Args:
        checkpoint: Its model has masks.
        side: Where a language model gets its padding; by default where its tokenizer pads.
    """
    model = checkpoint.model
    without = set() if "decoder" in model.config.kinds else {"inverted"}
    if isinstance(model, ReadsBatches) and (side or model.padding.side) == "right":
        without |= {"padding", "queries"}
    return tuple(name for name in BUGS if name not in without)


@dataclass(frozen=True, kw_only=True)
class BugReport:
    """What a mistake does to a padded batch, measured while a translator reads the correct translations.

    The effects are measured on log-probabilities, in nats; in a model that predicts nothing, on the head outputs of the
    last layer.
    """

    texts: tuple[str, ...]  # what the model writes, fills in or decides with the mistake; empty if it only reads
    leaked: Mapping[str, FloatArray]  # kind → (B,): mean share of a real query's weight on masked keys
    row_sums: Mapping[str, FloatArray]  # kind → (B, 2): smallest and largest sum of a real query's weights
    effect_of_batch: FloatArray  # (B,): largest change of a log-probability if the sentence is alone
    # (B,): largest change of an earlier log-probability if the last token is another; None without a causal mask
    effect_of_future: FloatArray | None


@torch.inference_mode()
def mask_bug(
    checkpoint: Loaded,
    texts: tuple[str, ...],
    name: str = "",
    side: Side | None = None,
    batch: PaddedBatch | None = None,
) -> BugReport:
    """Run texts as one padded batch with one of the `BUGS`.

    Args:
        checkpoint: A loaded checkpoint of any task; never changed.
        texts: At least one.
        name: Of the mistake; "" for correct masks.
        side: Where a language model gets its padding, see `pad_ids`.
        batch: The `padded_batch` of these texts, where it is known.

    Raises:
        ConfigError: the model has no padding mask.
    """
    model = require_masks(checkpoint)
    make_edits: Callable[[], Edits] = BUGS[name] if name else dict
    batch = batch or padded_batch(checkpoint, texts, side=side)
    ids = ids_of(model, batch)
    with tracing(record=("*.weights", "*.head_outputs"), edits=make_edits()) as trace:
        outputs = outputs_of(model, batch_logits(model, ids), trace)  # (B, T, X)
    with tracing(record=(), edits=make_edits()):
        results = results_of(checkpoint, ids, side)
    real = {"encoder": ids.source_real.cpu(), "decoder": ids.read_real.cpu(), "cross": ids.read_real.cpu()}
    weights = {kind: weights_of(trace, kind, len(batch.allowed[kind])) for kind in model.config.kinds}
    return BugReport(
        texts=results,
        leaked={kind: leak(weights[kind], batch.allowed[kind], real[kind]) for kind in weights},
        row_sums={kind: row_sums(weights[kind], real[kind]) for kind in weights},
        effect_of_batch=effect_of_batch(model, ids, outputs, make_edits),
        effect_of_future=effect_of_future(checkpoint, ids, outputs, make_edits)
        if "decoder" in model.config.kinds
        else None,
    )


def weights_of(trace: Trace, kind: str, layers: int) -> Tensor:
    """(L, B, H, T, S)"""
    return torch.stack([trace.passes(hook_name(kind, layer, "weights"))[0] for layer in range(layers)])


def outputs_of(model: Reads, logits: Tensor | None, trace: Trace) -> Tensor:
    """What the effects are measured on, (B, T, X): log-probabilities, or the head outputs of the last layer."""
    if logits is None:
        last = hook_name("encoder", model.config.num_layers("encoder") - 1, "head_outputs")
        return trace.passes(last)[0].transpose(1, 2).flatten(2)
    if classifies(model):
        return probabilities_of(model, logits.float()).log().cpu()
    return logits.float().log_softmax(dim=-1).cpu()


def effect_of_batch(model: Reads, ids: PaddedIds, outputs: Tensor, make_edits: Callable[[], Edits]) -> FloatArray:
    """How far the outputs of each sentence change if the model reads it alone, (B,)."""
    found = []
    for row, (source_real, read_real) in enumerate(zip(ids.source_real, ids.read_real, strict=True)):
        source, read = ids.source[row, source_real].tolist(), ids.read[row, read_real].tolist()
        with tracing(record=("*.head_outputs",), edits=make_edits()) as trace:
            alone = outputs_of(model, batch_logits(model, pad_ids(model, [source], [read])), trace)[0]  # (T, X)
        real = (read_real if read else source_real).cpu()
        in_batch = outputs[row] if len(alone) == 1 else outputs[row, real]
        found.append(float((alone - in_batch).abs().max()))
    return np.array(found, dtype=np.float32)


def effect_of_future(
    checkpoint: Loaded, ids: PaddedIds, outputs: Tensor, make_edits: Callable[[], Edits]
) -> FloatArray:
    """How far the outputs at earlier positions change if the last token of each sentence is another, (B,)."""
    model = checkpoint.model
    changed = replace(ids, read=with_other_ends(ids.read, ids.read_real, checkpoint.tokenizers.specials))
    with tracing(record=(), edits=make_edits()) as trace:
        difference = (outputs_of(model, batch_logits(model, changed), trace) - outputs).abs()
    earlier = [row[real][:-1] for row, real in zip(difference, ids.read_real.cpu(), strict=True)]
    return np.array([float(one.max()) if len(one) else 0.0 for one in earlier], dtype=np.float32)


def bug_weights(
    checkpoint: Loaded, batch: PaddedBatch, name: str, kind: str, layer: int, row: int | None = None
) -> FloatArray:
    """The weights of one attention layer with a mistake, (B, H, T, S), or (H, T, S) of one text.

    Args:
        checkpoint: A loaded checkpoint; never changed.
        batch: From `padded_batch` with the same checkpoint.
        name: Of the mistake; "" for correct masks.
        kind: One of the model's kinds.
        layer: Counted from 0.
        row: Of one text; all by default.
    """
    return layer_stages(checkpoint, batch, kind, layer, row, edits=BUGS[name]() if name else None)["weights"]


def with_other_ends(read: Tensor, real: Tensor, specials: Specials) -> Tensor:
    """Replace the last token of each sentence.

    Args:
        read: Ids (B, T), padded.
        real: False at padding, (B, T). The ids do not show it: Marian models begin with the padding token.
        specials: Of the model.
    """
    other, rows = read.clone(), torch.arange(len(read), device=read.device)
    last = (real.cumsum(dim=1) * real).argmax(dim=1)
    other[rows, last] = torch.where(read[rows, last] == specials.eos, specials.bos, specials.eos)
    return other


def leak(weights: Tensor, allowed: NDArray[np.bool_], real: Tensor) -> FloatArray:
    """The weight on masked keys, as a mean over layers, heads and real queries: (L, B, H, T, S) → (B,).

    Args:
        weights: (L, B, H, T, S).
        allowed: The correct masks, (L, B, T, S).
        real: False at padding, (B, T).
    """
    outside = (
        weights.masked_fill(torch.tensor(allowed, device=weights.device)[:, :, None], 0.0).sum(dim=-1).mean(dim=(0, 2))
    )  # (B, T)
    return np.asarray(((outside * real).sum(dim=1) / real.sum(dim=1)).numpy(), dtype=np.float32)


def row_sums(weights: Tensor, real: Tensor) -> FloatArray:
    """The smallest and the largest row sum of real queries: (L, B, H, T, S) → (B, 2)."""
    rows = weights.sum(dim=-1).movedim(1, 0)  # (B, L, H, T)
    by_sentence = [sums[..., is_real] for sums, is_real in zip(rows, real, strict=True)]
    return np.array([[float(sums.min()), float(sums.max())] for sums in by_sentence], dtype=np.float32)


def results_of(checkpoint: Loaded, ids: PaddedIds, side: Side | None) -> tuple[str, ...]:
    """What the model writes, fills in or decides for each text of a batch, with the edits of the active trace."""
    model, tokenizers = checkpoint.model, checkpoint.tokenizers
    if isinstance(model, ReadsBatches):
        return tuple(tokenizers.target.decode(row) for row in continue_batch(model, ids, tokenizers.specials, side))
    if isinstance(model, Writes):
        return tuple(tokenizers.target.decode(row) for row in rerun_greedy(model, ids.source, tokenizers.specials))
    logits = batch_logits(model, ids)
    if classifies(model):
        assert logits is not None
        shares = probabilities_of(model, logits[:, 0].float())  # (B, C)
        return tuple(f"{model.config.labels[int(row.argmax())]}: {float(row.max()):.3f}" for row in shares)
    if logits is None or tokenizers.specials.mask is None:
        return ()
    masked = ids.source == torch.full_like(ids.source, tokenizers.specials.mask)
    filled = torch.where(masked, logits.argmax(dim=-1), ids.source)
    pairs = zip(filled, ids.source_real, strict=True)
    return tuple(tokenizers.source.decode(row[real].tolist()) for row, real in pairs)


def continue_batch(model: ReadsBatches, ids: PaddedIds, specials: Specials, side: Side | None) -> list[list[int]]:
    """The tokens that a language model writes after each text of a padded batch, by greedy search without a cache."""
    read = [row[real].tolist() for row, real in zip(ids.read, ids.read_real, strict=True)]
    written: list[list[int]] = [[] for _ in read]
    work = sum(parameter.numel() for parameter in model.parameters()) * ids.read.numel()
    most = min(CONTINUED, model.config.max_length - ids.read.size(1), max(int(MOST_WORK / work), 1))
    ends = {specials.eos, *specials.more_ends}
    rules = [rules_for(model, specials, prompt) for prompt in read]
    for _ in range(most):
        padded = pad_ids(model, [()] * len(read), [[*a, *b] for a, b in zip(read, written, strict=True)], side=side)
        last = (padded.read_real.cumsum(dim=1) * padded.read_real).argmax(dim=1)  # (B,)
        logits = model.batch_logits(padded.read, padded.read_real)[torch.arange(len(read)), last]
        for at, (rule, prompt) in enumerate(zip(rules, read, strict=True)):
            if rule:
                so_far = torch.tensor([[*prompt, *written[at]]], device=logits.device)
                logits[at] = rule(so_far, logits[at : at + 1].clone())[0]
        logits[:, list(specials.banned)] = float("-inf")
        for row, token in zip(written, logits.argmax(dim=-1).tolist(), strict=True):
            if not row or row[-1] not in ends:
                row.append(token)
    return written


class WithoutCache:
    """A translator that reads its whole prefix again in each step of a search, with the methods of the translator."""

    reads_ahead = False

    def __init__(self, model: Writes) -> None:
        self.model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def start_cache(self) -> "Prefix":
        return Prefix()

    def decode(
        self, target: Tensor, memory: Tensor, cross_mask: Tensor | None, *, cache: "Prefix", first: int = 0
    ) -> Tensor:
        cache.ids = torch.cat([*([] if cache.ids is None else [cache.ids]), target], dim=1)
        return self.model.decode(cache.ids, memory, cross_mask, first=-1)


class Prefix:
    """What a search without a cache keeps: the tokens that were read."""

    ids: Tensor | None = None  # (B, T)


def rerun_greedy(model: Writes, source: Tensor, specials: Specials) -> list[list[int]]:
    """Greedy search over a padded batch without a cache.

    Args:
        model: In evaluation mode.
        source: Ids (B, S), padded.
        specials: Of the model.

    Returns:
        The ids of each translation, without `</s>`.
    """
    again = cast(Writes, WithoutCache(model))
    start = SearchInput(sources=without_padding(source, model.pad_id), specials=specials)
    _, hypotheses = finish(greedy(again, start), keep_steps=False)
    return [list(hypothesis.written) for hypothesis in hypotheses]
