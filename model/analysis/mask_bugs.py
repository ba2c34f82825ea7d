"""Mistakes with masks that real programs contained, made on purpose, and what each of them does.

Each mistake is a set of edits at the hook points around the softmax, so the model itself never changes. A search with a
key/value cache needs no causal mask and would not show half of them. So here every step reads its whole prefix again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.analysis.availability import require_masks
from model.checkpoints.checkpoint import Checkpoint
from model.decoding.decoder_state import length_limit
from model.inference.padding import padded_for
from model.inference.searching import greedy_ids, source_ids
from model.network.masks import decoder_mask, padding_mask
from model.network.protocols import Writes
from model.text.vocab import Specials
from model.trace import Edit, hook_name, tracing

__all__ = ["BUGS", "BugReport", "bug_weights", "mask_bug"]

FloatArray = NDArray[np.float32]
LARGE_NEGATIVE = -1e9  # many programs use it instead of minus infinity, to avoid NaN


Edits = dict[str, Edit]


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

    return {f"{attention}.scores": keep, f"{attention}.masked_scores": mask}


def unmasked(scores: Tensor, masked: Tensor) -> Tensor:
    """No mask at all."""
    return scores


def future(scores: Tensor) -> Tensor:
    """True where the key comes after the query, (T, S)."""
    return torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)


def padded_keys(masked: Tensor) -> Tensor:
    """True where the key is padding, (B, H, 1, S): only these are masked for the last query of the decoder."""
    return masked[..., -1:, :]


def tiny_fill() -> Edits:
    """Masked scores become 1e-12 instead of minus infinity."""
    return replace_mask("*", lambda scores, masked: scores.masked_fill(masked, 1e-12))


def inverted_causal() -> Edits:
    """The decoder attends to later tokens instead of earlier ones."""

    def change(scores: Tensor, masked: Tensor) -> Tensor:
        past = future(scores).transpose(-2, -1)
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
    """Only the causal mask is applied; padding is not masked."""

    def causal_only(scores: Tensor, masked: Tensor) -> Tensor:
        return scores.masked_fill(future(scores), float("-inf"))

    return (
        replace_mask("encoder.*.self_attention", unmasked)
        | replace_mask("decoder.*.self_attention", causal_only)
        | replace_mask("decoder.*.cross_attention", unmasked)
    )


def on_queries() -> Edits:
    """The padding mask covers rows instead of columns."""
    padded_queries: list[Tensor] = []  # of the target, (B, H, T, 1); the mask of cross-attention does not contain them

    def encoder(scores: Tensor, masked: Tensor) -> Tensor:
        return scores.masked_fill(masked.transpose(-2, -1), LARGE_NEGATIVE)

    def decoder(scores: Tensor, masked: Tensor) -> Tensor:
        padded_queries[:] = [padded_keys(masked).transpose(-2, -1)]
        return scores.masked_fill(padded_queries[0] | future(scores), LARGE_NEGATIVE)

    def cross(scores: Tensor, masked: Tensor) -> Tensor:
        return scores.masked_fill(padded_queries[0], LARGE_NEGATIVE)

    return (
        replace_mask("encoder.*.self_attention", encoder)
        | replace_mask("decoder.*.self_attention", decoder)
        | replace_mask("decoder.*.cross_attention", cross)
    )


# Name → a function that makes the edits for one run.
BUGS: Mapping[str, Callable[[], Edits]] = {
    "fill": tiny_fill,
    "inverted": inverted_causal,
    "after": after_softmax,
    "padding": no_padding,
    "queries": on_queries,
}


@dataclass(frozen=True, kw_only=True)
class BugReport:
    """What a mistake does to a padded batch, measured while the model reads the correct translations."""

    texts: tuple[str, ...]  # the translations that the model writes with the mistake
    leaked: Mapping[str, FloatArray]  # kind → (B,): mean share of a real query's weight on masked keys
    row_sums: Mapping[str, FloatArray]  # kind → (B, 2): smallest and largest sum of a real query's weights
    effect_of_future: FloatArray  # (B,): largest change of an earlier log-probability if the last token is another
    effect_of_batch: FloatArray  # (B,): largest change of a log-probability if the sentence is alone


@torch.inference_mode()
def mask_bug(checkpoint: Checkpoint, texts: tuple[str, ...], name: str = "") -> BugReport:
    """Run texts as one padded batch with one of the `BUGS`.

    Args:
        checkpoint: A loaded checkpoint; never changed.
        texts: At least one.
        name: Of the mistake; "" for correct masks.

    Raises:
        ConfigError: the model has no padding mask or no causal mask.
    """
    model, tokenizers = require_masks(checkpoint), checkpoint.tokenizers
    pad_id, specials = model.pad_id, tokenizers.specials
    make_edits = BUGS[name] if name else dict
    ids, read = encode_pairs(checkpoint, texts)
    source, target = padded_for(model, ids), padded_for(model, read)
    with tracing(record=("*.weights",), edits=make_edits()) as trace:
        log_probs = model(source, target).log_softmax(dim=-1)  # (B, T, V)
        weights = {
            kind: torch.stack(
                [trace.passes(hook_name(kind, layer, "weights"))[0] for layer in range(model.config.num_layers(kind))]
            )
            for kind in model.config.kinds
        }
    with tracing(record=(), edits=make_edits()):
        written = rerun_greedy(model, source, specials)
    with tracing(record=(), edits=make_edits()):
        other = with_other_ends(target, [len(prefix) for prefix in read], specials)
        changed = model(source, other).log_softmax(dim=-1)  # (B, T, V)
    of_future, of_batch = [], []
    difference = (changed - log_probs).abs()
    for row, (one, prefix) in enumerate(zip(ids, read, strict=True)):
        earlier, in_batch = difference[row, : len(prefix) - 1], log_probs[row, : len(prefix)]
        with tracing(record=(), edits=make_edits()):
            alone = model(padded_for(model, [one]), padded_for(model, [prefix])).log_softmax(dim=-1)[0]
        of_future.append(float(earlier.max()) if len(earlier) else 0.0)
        of_batch.append(float((alone - in_batch).abs().max()))
    allowed, real = correct_masks(source.cpu(), target.cpu(), pad_id)
    return BugReport(
        texts=tuple(tokenizers.target.decode(row) for row in written),
        leaked={kind: leak(weights[kind], allowed[kind], real[kind]) for kind in model.config.kinds},
        row_sums={kind: row_sums(weights[kind], real[kind]) for kind in model.config.kinds},
        effect_of_future=np.array(of_future, dtype=np.float32),
        effect_of_batch=np.array(of_batch, dtype=np.float32),
    )


def correct_masks(source: Tensor, target: Tensor, pad_id: int) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The correct masks of a padded batch.

    Args:
        source: Ids (B, S).
        target: Ids that the decoder reads (B, T).
        pad_id: The id of padding.

    Returns:
        Kind → (B, 1, queries, keys), True where a query may attend; and kind → (B, queries), True for real queries.
    """
    allowed = {
        "encoder": padding_mask(source, pad_id).expand(-1, -1, source.size(1), -1),
        "decoder": decoder_mask(target, pad_id),
        "cross": padding_mask(source, pad_id).expand(-1, -1, target.size(1), -1),
    }
    is_read = allowed["decoder"][:, 0].diagonal(dim1=1, dim2=2)  # (B, T): a real query may attend to itself
    return allowed, {"encoder": source != pad_id, "decoder": is_read, "cross": is_read}


@torch.inference_mode()
def bug_weights(checkpoint: Checkpoint, texts: tuple[str, ...], name: str, kind: str, layer: int) -> FloatArray:
    """The weights of one attention layer with a mistake, (B, H, T, S).

    Args:
        checkpoint: A loaded checkpoint; never changed.
        texts: At least one.
        name: Of the mistake; "" for correct masks.
        kind: One of `KINDS`.
        layer: Counted from 0.

    Raises:
        ConfigError: the model has no padding mask or no causal mask.
    """
    model = require_masks(checkpoint)
    ids, read = encode_pairs(checkpoint, texts)
    point = hook_name(kind, layer, "weights")
    with tracing(record=(point,), edits=BUGS[name]() if name else {}) as trace:
        model(padded_for(model, ids), padded_for(model, read))
    return np.asarray(trace.passes(point)[0].numpy(), dtype=np.float32)


def encode_pairs(checkpoint: Checkpoint, texts: tuple[str, ...]) -> tuple[list[list[int]], list[list[int]]]:
    """For each text, the ids that the encoder reads, and the ids of its correct translation that the decoder reads."""
    model, tokenizers = require_masks(checkpoint), checkpoint.tokenizers
    ids = [source_ids(tokenizers, text, model.config.max_length)[0] for text in texts]
    written = greedy_ids(model, ids, specials=tokenizers.specials)
    return ids, [[tokenizers.specials.bos, *one[:-1]] for one in written]


def with_other_ends(target: Tensor, lengths: Sequence[int], specials: Specials) -> Tensor:
    """Replace the last token of each sentence.

    Args:
        target: Ids (B, T), padded.
        lengths: Of the sentences. The ids do not show them: Marian models begin with the padding token.
        specials: Of the model.
    """
    other, rows = target.clone(), torch.arange(len(target), device=target.device)
    last = torch.tensor(lengths, device=target.device) - 1
    other[rows, last] = torch.where(target[rows, last] == specials.eos, specials.bos, specials.eos)
    return other


def leak(weights: Tensor, allowed: Tensor, real: Tensor) -> FloatArray:
    """The weight on masked keys, as a mean over layers, heads and real queries: (L, B, H, T, S) → (B,)."""
    outside = weights.masked_fill(allowed, 0.0).sum(dim=-1).mean(dim=(0, 2))  # (B, T)
    return np.asarray(((outside * real).sum(dim=1) / real.sum(dim=1)).numpy(), dtype=np.float32)


def row_sums(weights: Tensor, real: Tensor) -> FloatArray:
    """The smallest and the largest row sum of real queries: (L, B, H, T, S) → (B, 2)."""
    rows = weights.sum(dim=-1).movedim(1, 0)  # (B, L, H, T)
    by_sentence = [sums[..., is_real] for sums, is_real in zip(rows, real, strict=True)]
    return np.array([[float(sums.min()), float(sums.max())] for sums in by_sentence], dtype=np.float32)


def rerun_greedy(model: Writes, source: Tensor, specials: Specials) -> list[list[int]]:
    """Greedy search over a padded batch without a cache: it reads the whole prefix again for each token.

    Args:
        model: In evaluation mode.
        source: Ids (B, S), padded.
        specials: Of the model.

    Returns:
        The ids of each translation, without `</s>`.
    """
    memory, cross_mask = model.encode(source)
    lengths = (source != model.pad_id).sum(dim=1).tolist()
    limits = torch.tensor([length_limit(n, model.config.max_length) for n in lengths], device=source.device)
    banned = torch.tensor(specials.banned, dtype=torch.long, device=source.device)
    read = torch.full_like(source[:, :1], specials.bos)
    ended = torch.zeros_like(limits, dtype=torch.bool)
    for length in range(1, int(limits.max()) + 1):
        logits = model.decode(read, memory, cross_mask, first=-1)[:, 0]  # (B, V)
        token = logits.index_fill(1, banned, float("-inf")).argmax(dim=-1)
        ended |= (token == specials.eos) | (limits < length)
        if ended.all():
            break
        read = torch.cat([read, token.masked_fill(ended, model.pad_id)[:, None]], dim=1)
    return [[int(i) for i in row if i != model.pad_id] for row in read[:, 1:]]
