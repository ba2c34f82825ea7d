"""Mistakes with masks that real code has shipped, made on purpose, and what each of them does.

Each is a set of edits at the hook points around the softmax, so the model itself is as it always was. A decode with a
key/value cache needs no causal mask and would hide half of them: here every step reads its whole prefix again.
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
from model.network.translator import Translator
from model.text.vocab import Specials
from model.trace import Edit, hook_name, tracing

__all__ = ["BUGS", "BugReport", "bug_weights", "mask_bug"]

FloatArray = NDArray[np.float32]
FORBIDDEN = -1e9  # what code that fears NaN puts in the place of minus infinity


Edits = dict[str, Edit]


def masked_as(attention: str, change: Callable[[Tensor, Tensor], Tensor]) -> Edits:
    """Edits that mask the scores in another way.

    Args:
        attention: Pattern of the attention modules meant, such as `decoder.*.cross_attention`.
        change: From the scores and where the right mask forbids, (B, H, T, S) each, to the masked scores.
    """
    latest: list[Tensor] = []

    def keep(scores: Tensor) -> Tensor:
        latest[:] = [scores]
        return scores

    def mask(masked_scores: Tensor) -> Tensor:
        # The scores that passed last are those of this attention, for its mask comes right after them.
        return change(latest[0], masked_scores == float("-inf"))

    return {f"{attention}.scores": keep, f"{attention}.masked_scores": mask}


def unmasked(scores: Tensor, forbidden: Tensor) -> Tensor:
    return scores


def future(scores: Tensor) -> Tensor:
    """Where the key comes after the query, (T, S)."""
    return torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)


def padded_keys(forbidden: Tensor) -> Tensor:
    """Which keys are padding, (B, H, 1, S): of decoder self-attention the last query sees all but these."""
    return forbidden[..., -1:, :]


def tiny_fill() -> Edits:
    return masked_as("*", lambda scores, forbidden: scores.masked_fill(forbidden, 1e-12))


def inverted_causal() -> Edits:
    def change(scores: Tensor, forbidden: Tensor) -> Tensor:
        past = future(scores).transpose(-2, -1)
        return scores.masked_fill(past | padded_keys(forbidden), FORBIDDEN)

    return masked_as("decoder.*.self_attention", change)


def after_softmax() -> Edits:
    latest: list[Tensor] = []

    def change(scores: Tensor, forbidden: Tensor) -> Tensor:
        latest[:] = [forbidden]
        return scores

    return masked_as("*", change) | {"*.weights": lambda weights: weights.masked_fill(latest[0], 0.0)}


def no_padding() -> Edits:
    def causal_only(scores: Tensor, forbidden: Tensor) -> Tensor:
        return scores.masked_fill(future(scores), float("-inf"))

    return (
        masked_as("encoder.*.self_attention", unmasked)
        | masked_as("decoder.*.self_attention", causal_only)
        | masked_as("decoder.*.cross_attention", unmasked)
    )


def on_queries() -> Edits:
    padded_queries: list[Tensor] = []  # of the target, (B, H, T, 1): cross-attention cannot tell them by its own mask

    def encoder(scores: Tensor, forbidden: Tensor) -> Tensor:
        return scores.masked_fill(forbidden.transpose(-2, -1), FORBIDDEN)

    def own(scores: Tensor, forbidden: Tensor) -> Tensor:
        padded_queries[:] = [padded_keys(forbidden).transpose(-2, -1)]
        return scores.masked_fill(padded_queries[0] | future(scores), FORBIDDEN)

    def cross(scores: Tensor, forbidden: Tensor) -> Tensor:
        return scores.masked_fill(padded_queries[0], FORBIDDEN)

    return (
        masked_as("encoder.*.self_attention", encoder)
        | masked_as("decoder.*.self_attention", own)
        | masked_as("decoder.*.cross_attention", cross)
    )


# Name → makes the edits, for one run.
BUGS: Mapping[str, Callable[[], Edits]] = {
    "fill": tiny_fill,  # forbidden scores become 1e-12 instead of minus infinity
    "inverted": inverted_causal,  # the decoder sees what comes, not what was
    "after": after_softmax,  # the mask is applied to the weights
    "padding": no_padding,  # only the causal mask is applied
    "queries": on_queries,  # the padding mask hides rows instead of columns
}


@dataclass(frozen=True, kw_only=True)
class BugReport:
    """What a set of edits does to a padded batch, measured while the correct translations are read."""

    texts: tuple[str, ...]  # the translations, written under the edits
    leaked: Mapping[str, FloatArray]  # kind → (B,): mean share of a real query's weight on keys that are forbidden
    row_sums: Mapping[str, FloatArray]  # kind → (B, 2): smallest and largest sum of a real query's weights
    future: FloatArray  # (B,): largest change of an earlier log-probability when the last token is another
    company: FloatArray  # (B,): the same when the sentence stands alone instead of in the batch


@torch.inference_mode()
def mask_bug(checkpoint: Checkpoint, texts: tuple[str, ...], name: str = "") -> BugReport:
    """Run texts as one padded batch with one of the `BUGS`, or, without a name, as is right.

    Args:
        checkpoint: A loaded checkpoint; never changed.
        texts: At least one.
        name: Of the bug.

    Raises:
        ConfigError: the model has no such masks.
    """
    require_masks(checkpoint)
    model, tokenizers = checkpoint.model, checkpoint.tokenizers
    pad_id, specials = model.pad_id, tokenizers.specials
    make_edits = BUGS[name] if name else dict
    ids, read = read_by_both(checkpoint, texts)
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
    later, company = [], []
    difference = (changed - log_probs).abs()
    for row, (one, prefix) in enumerate(zip(ids, read, strict=True)):
        earlier, whole = difference[row, : len(prefix) - 1], log_probs[row, : len(prefix)]
        with tracing(record=(), edits=make_edits()):
            alone = model(padded_for(model, [one]), padded_for(model, [prefix])).log_softmax(dim=-1)[0]
        later.append(float(earlier.max()) if len(earlier) else 0.0)
        company.append(float((alone - whole).abs().max()))
    source, target = source.cpu(), target.cpu()  # as what was recorded is
    allowed = {
        "encoder": padding_mask(source, pad_id).expand(-1, -1, source.size(1), -1),
        "decoder": decoder_mask(target, pad_id),
        "cross": padding_mask(source, pad_id).expand(-1, -1, target.size(1), -1),
    }
    is_read = allowed["decoder"][:, 0].diagonal(dim1=1, dim2=2)  # (B, T): real queries see themselves
    real = {"encoder": source != pad_id, "decoder": is_read, "cross": is_read}
    return BugReport(
        texts=tuple(tokenizers.target.decode(row) for row in written),
        leaked={kind: leak(weights[kind], allowed[kind], real[kind]) for kind in model.config.kinds},
        row_sums={kind: row_sums(weights[kind], real[kind]) for kind in model.config.kinds},
        future=np.array(later, dtype=np.float32),
        company=np.array(company, dtype=np.float32),
    )


@torch.inference_mode()
def bug_weights(checkpoint: Checkpoint, texts: tuple[str, ...], name: str, kind: str, layer: int) -> FloatArray:
    """The weights of one attention layer under a bug, (B, H, T, S); arguments and errors as of `mask_bug`."""
    require_masks(checkpoint)
    ids, read = read_by_both(checkpoint, texts)
    point = hook_name(kind, layer, "weights")
    with tracing(record=(point,), edits=BUGS[name]() if name else {}) as trace:
        checkpoint.model(padded_for(checkpoint.model, ids), padded_for(checkpoint.model, read))
    return np.asarray(trace.passes(point)[0].numpy(), dtype=np.float32)


def read_by_both(checkpoint: Checkpoint, texts: tuple[str, ...]) -> tuple[list[list[int]], list[list[int]]]:
    """Ids that the encoder reads of each text, and those that the decoder reads of its correct translation."""
    model, tokenizers = checkpoint.model, checkpoint.tokenizers
    ids = [source_ids(tokenizers, text, model.config.max_length)[0] for text in texts]
    written = greedy_ids(model, ids, specials=tokenizers.specials)
    return ids, [[tokenizers.specials.bos, *one[:-1]] for one in written]


def with_other_ends(target: Tensor, lengths: Sequence[int], specials: Specials) -> Tensor:
    """Target ids (B, T) with another token instead of the last of each sentence.

    The ids alone do not say where a sentence ends: some models begin with the token that fills up (Marian).
    """
    other, rows = target.clone(), torch.arange(len(target), device=target.device)
    last = torch.tensor(lengths, device=target.device) - 1
    other[rows, last] = torch.where(target[rows, last] == specials.eos, specials.bos, specials.eos)
    return other


def leak(weights: Tensor, allowed: Tensor, real: Tensor) -> FloatArray:
    """Mean over layers, heads and real queries of the weight on forbidden keys: (L, B, H, T, S) → (B,)."""
    outside = weights.masked_fill(allowed, 0.0).sum(dim=-1).mean(dim=(0, 2))  # (B, T)
    return np.asarray(((outside * real).sum(dim=1) / real.sum(dim=1)).numpy(), dtype=np.float32)


def row_sums(weights: Tensor, real: Tensor) -> FloatArray:
    """Smallest and largest sum of a real query's row: (L, B, H, T, S) → (B, 2)."""
    rows = weights.sum(dim=-1).movedim(1, 0)  # (B, L, H, T)
    of_sentences = [sentence[..., kept] for sentence, kept in zip(rows, real, strict=True)]
    return np.array([[float(sums.min()), float(sums.max())] for sums in of_sentences], dtype=np.float32)


def rerun_greedy(model: Translator, source: Tensor, specials: Specials) -> list[list[int]]:
    """Greedy search over a padded batch that reads the whole prefix again for each token; ids without `</s>`."""
    memory, cross_mask = model.encode(source)
    lengths = (source != model.pad_id).sum(dim=1).tolist()
    limits = torch.tensor([length_limit(n, model.config.max_length) for n in lengths], device=source.device)
    banned = torch.tensor(specials.banned, dtype=torch.long, device=source.device)
    read = torch.full_like(source[:, :1], specials.bos)
    ended = torch.zeros_like(limits, dtype=torch.bool)
    for length in range(1, int(limits.max()) + 1):
        logits = model.project(model.decode(read, memory, cross_mask)[:, -1])  # (B, V)
        token = logits.index_fill(1, banned, float("-inf")).argmax(dim=-1)
        ended |= (token == specials.eos) | (limits < length)
        if ended.all():
            break
        read = torch.cat([read, token.masked_fill(ended, model.pad_id)[:, None]], dim=1)
    return [[int(i) for i in row if i != model.pad_id] for row in read[:, 1:]]
