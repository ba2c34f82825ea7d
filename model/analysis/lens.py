"""What a model would write or decide if it stopped early, after fewer layers of the decoder or of the encoder."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from model.analysis.availability import nothing_predicted, require_translation
from model.analysis.followed import Followed
from model.checkpoints.checkpoint import Checkpoint
from model.inference.run import Candidate, FloatArray, Outcome
from model.inference.translate import record_translation, translate
from model.network.residual_stream import Matrix, Stack, read_out

__all__ = ["EarlyReading", "Lens", "decoder_lens", "logit_lens", "logits_of"]

MAX_LOGITS = 1 << 22  # numbers that are computed at once, 16 MB


@dataclass(frozen=True, kw_only=True)
class Lens:
    """The most probable token or label after each layer. Row 0 is the embedding before the first layer.

    The N columns are positions; of a classifier, they are its labels, and the most probable one is the same in each.
    """

    tokens: tuple[tuple[str, ...], ...]  # (L + 1, N)
    probabilities: FloatArray  # (L + 1, N), of these tokens or labels
    own: FloatArray  # (L + 1, N), of the token that the whole model predicted, or of the label of the column
    positions: tuple[int, ...]  # N, of the written tokens, or of the masked tokens of the source; none of a classifier
    difference: float  # the largest difference of the last row of `own` from the model's own probabilities


@dataclass(frozen=True, kw_only=True)
class EarlyReading:
    """The translation of a decoder that reads the encoder's states after its first layers."""

    layers: int  # how many layers of the encoder ran
    text: str
    finished: bool  # it ended by itself, not at the length limit


@torch.inference_mode()
def logit_lens(text: Followed, positions: Sequence[int] | None = None) -> Lens:
    """Read the state after each layer as if it were the last one, through the last norm (nostalgebraist 2020).

    Each position has read the tokens that the whole model wrote before it. The states of a classifier are pooled.

    Args:
        text: A run.
        positions: The positions that are read; all by default. Each costs a product with the output matrix per layer.

    Raises:
        ConfigError: the model's blocks are not known, or it predicts nothing in this text.
    """
    outcomes = [one for one in text.result.outcomes if positions is None or one.position in positions]
    if not text.result.outcomes:
        raise nothing_predicted(text.checkpoint.config)
    stack = text.model.stack(outcomes[0].stack)
    layers = [predictions(stack, torch.tensor(text.recording.array(name)), outcomes) for name in stack.streams]
    # The model did not choose a fixed token, so it has no probability of its own.
    chosen = slice(int(outcomes[0].fixed), None)
    models = np.array([one.probability for one in columns_of(outcomes)])
    return Lens(
        tokens=tuple(outcomes[0].names(text.checkpoint.tokenizers.target, ids.tolist()) for ids, *_ in layers),
        probabilities=np.stack([highest.numpy() for _, highest, _ in layers]),
        own=np.stack([own.numpy() for *_, own in layers]),
        positions=tuple(one.position for one in outcomes if one.position is not None),
        difference=float(np.abs(layers[-1][-1].numpy() - models)[chosen].max(initial=0.0)),
    )


def columns_of(outcomes: Sequence[Outcome]) -> Sequence[Outcome | Candidate]:
    """What each column of a lens follows: a predicted token, or a label."""
    return outcomes if outcomes[0].position is not None else outcomes[0].candidates


def predictions(stack: Stack, states: Tensor, outcomes: Sequence[Outcome]) -> tuple[Tensor, Tensor, Tensor]:
    """What the readout predicts from the states of a text (S, D), a few rows at a time.

    Returns:
        The most probable ids (N,), their probabilities (N,), and the probabilities of what the columns follow (N,).
    """
    ids = torch.tensor([one.id for one in columns_of(outcomes)])
    matrix = next(step for step in reversed(stack.readout) if isinstance(step, Matrix))
    rows = max(1, MAX_LOGITS // len(matrix.weight))
    found = []
    for start in range(0, len(ids), rows):
        logits, wanted = logits_of(stack, states, outcomes[start : start + rows]), ids[start : start + rows, None]
        shares = (logits.sigmoid() if outcomes[0].several else logits.softmax(dim=-1)).cpu().expand(len(wanted), -1)
        best = shares.max(dim=-1)
        found.append((best.indices, best.values, shares.gather(1, wanted)[:, 0]))
    indices, values, own = (torch.cat(parts) for parts in zip(*found, strict=True))
    return indices, values, own


def logits_of(stack: Stack, states: Tensor, outcomes: Sequence[Outcome]) -> Tensor:
    """The logits at some outcomes, (N, V) or of a classifier (1, C), for the states of a text after a layer, (S, D)."""
    matrix = next(step for step in stack.readout if isinstance(step, Matrix))
    positions = [one.position for one in outcomes if one.position is not None]
    if positions:
        return stack.logits(states[positions].to(matrix.weight.device)).float()
    states = states.to(matrix.weight.device)
    normed = states if stack.final_norm is None else stack.final_norm(states)
    if stack.pooling == "late":
        return read_out(stack.readout, normed).mean(dim=0)[None].float()
    if stack.pooling == "attention":
        assert stack.attention_pooling is not None
        pooled = stack.attention_pooling.pool(normed[None])[0]
    else:
        pooled = normed.mean(dim=0) if stack.pooling == "mean" else normed[0]
    return read_out(stack.readout, pooled)[None].float()


def decoder_lens(checkpoint: Checkpoint, text: str) -> list[EarlyReading]:
    """Translate with fewer layers of the encoder, from none to all (Langedijk et al. 2024, "DecoderLens").

    Args:
        checkpoint: An encoder-decoder; never changed.
        text: Any text.

    Raises:
        ConfigError: the blocks of the encoder are not known, or the model does not translate.
    """
    require_translation(checkpoint)
    names = checkpoint.model.stack("encoder").streams
    whole, recording = record_translation(checkpoint, text, record=names)
    early = []
    for layers, name in enumerate(names[:-1]):
        states = torch.tensor(recording.array(name))  # (S, D)
        translation = translate(checkpoint, text, edits={names[-1]: partial(replace_states, states)})
        early.append(EarlyReading(layers=layers, text=translation.text, finished=translation.finished))
    return [*early, EarlyReading(layers=len(names) - 1, text=whole.text, finished=whole.finished)]


def replace_states(states: Tensor, last: Tensor) -> Tensor:
    """The edit of a hook point: earlier states (S, D) in place of the last ones (1, S, D)."""
    return states[None].to(last)
