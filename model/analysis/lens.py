"""What a model would write or decide if it stopped early, after fewer layers of the decoder or of the encoder."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.analysis.availability import NO_OUTPUT, require_translation
from model.analysis.streams import Recorded
from model.checkpoints.checkpoint import Checkpoint
from model.config.section import ConfigError
from model.inference.classify import Classification
from model.inference.translate import record_translation, translate
from model.inference.translation import Translation
from model.network.protocols import Reads
from model.network.residual_stream import Matrix, Stack, read_out
from model.text.encoding import Tokenizer

__all__ = ["ClassLens", "EarlyReading", "Lens", "class_lens", "decoder_lens", "logit_lens", "predicted_positions"]

FloatArray = NDArray[np.float32]
MAX_LOGITS = 1 << 22  # numbers that are computed at once, 16 MB


@dataclass(frozen=True, kw_only=True)
class Lens:
    """The most probable token after each layer. Row 0 is the embedding before the first layer."""

    tokens: tuple[tuple[str, ...], ...]  # (L + 1, N)
    probabilities: FloatArray  # (L + 1, N), of these tokens
    written: FloatArray  # (L + 1, N), of the token that the whole model predicted
    positions: tuple[int, ...]  # N, of the written tokens, or of the masked tokens of the source
    difference: float  # the largest difference of the last row of `written` from the model's own probabilities


@dataclass(frozen=True, kw_only=True)
class ClassLens:
    """The probabilities of the labels after each layer. Row 0 is the embedding before the first layer."""

    probabilities: FloatArray  # (L + 1, C)
    difference: float  # the largest difference of the last row from the model's own probabilities


@dataclass(frozen=True, kw_only=True)
class EarlyReading:
    """The translation of a decoder that reads the encoder's states after its first layers."""

    layers: int  # how many layers of the encoder ran
    text: str
    finished: bool  # it ended by itself, not at the length limit


def predicted_positions(translation: Translation) -> tuple[int, ...]:
    """The positions where the model predicted a token: of all written tokens, or of the masked tokens of a source."""
    tokens = translation.written or translation.source
    return tuple(position for position, token in enumerate(tokens) if token.candidates)


@torch.inference_mode()
def logit_lens(
    model: Reads,
    tokenizer: Tokenizer,
    translation: Translation,
    recording: Recorded,
    *,
    positions: Sequence[int] | None = None,
) -> Lens:
    """Read the state after each layer as if it were the last one, through the last norm (nostalgebraist 2020).

    Each position has read the tokens that the whole model wrote before it.

    Args:
        model: A model that describes its blocks; it does not run.
        tokenizer: Of the tokens that it predicts.
        translation: Of a model that writes, or of one that predicts masked tokens.
        recording: Of the streams of the stack that predicts.
        positions: Some of `predicted_positions`; by default all. Each costs a product with the output matrix per layer.

    Raises:
        ConfigError: the model's blocks are not known, or it predicts nothing in this text.
    """
    stack = model.stack("decoder" if translation.written else "encoder")
    positions = predicted_positions(translation) if positions is None else tuple(positions)
    if not stack.readout:
        raise ConfigError(NO_OUTPUT)
    if not positions:
        raise ConfigError("The model predicts nothing in this text. Type a mask token in place of a word.")
    tokens = [(translation.written or translation.source)[position] for position in positions]
    ids = torch.tensor([token.id if translation.written else token.candidates[0].id for token in tokens])
    best, highest, own = [], [], []
    for name in stack.streams:
        states = torch.tensor(recording.array(name)[list(positions)])  # (N, D)
        found = predictions(stack, states, ids)
        best.append(tokenizer.tokens(found[0].tolist()))
        highest.append(found[1].numpy())
        own.append(found[2].numpy())
    models = np.array([token.probability for token in tokens])
    # The model did not choose a fixed first token, so it has no probability of its own.
    fixed = bool(translation.written) and translation.first_token_fixed and positions[0] == 0
    chosen = slice(int(fixed), None)
    return Lens(
        tokens=tuple(best),
        probabilities=np.stack(highest),
        written=np.stack(own),
        positions=positions,
        difference=float(np.abs(own[-1] - models)[chosen].max(initial=0.0)),
    )


def predictions(stack: Stack, states: Tensor, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """What the readout predicts from states (N, D), a few rows at a time.

    Returns:
        The most probable ids (N,), their probabilities (N,), and the probabilities of `ids` (N,).
    """
    matrix = next(step for step in reversed(stack.readout) if isinstance(step, Matrix))
    rows = max(1, MAX_LOGITS // len(matrix.weight))
    found = []
    for start in range(0, len(states), rows):
        logits = stack.logits(states[start : start + rows].to(matrix.weight.device))
        probabilities = logits.float().softmax(dim=-1).cpu()
        best = probabilities.max(dim=-1)
        found.append((best.indices, best.values, probabilities.gather(1, ids[start : start + rows, None])[:, 0]))
    indices, values, own = (torch.cat(parts) for parts in zip(*found, strict=True))
    return indices, values, own


@torch.inference_mode()
def class_lens(model: Reads, classification: Classification, recording: Recorded) -> ClassLens:
    """Pool and read the states after each layer as if they were the last ones.

    Args:
        model: A classifier that describes its blocks; it does not run.
        classification: Of one text.
        recording: Of the streams of its encoder.

    Raises:
        ConfigError: the model's blocks are not known.
    """
    stack = model.stack("encoder")
    logits = torch.stack([class_logits(stack, torch.tensor(recording.array(name))) for name in stack.streams])
    found = (logits.sigmoid() if classification.several_labels else logits.softmax(dim=-1)).numpy()
    models = np.array([*classification.probabilities.values()])
    return ClassLens(probabilities=found, difference=float(np.abs(found[-1] - models).max()))


def class_logits(stack: Stack, states: Tensor) -> Tensor:
    """The logits of a classifier (C,) for the states of one text (S, D), of the last layer or of an earlier one."""
    matrix = next(step for step in stack.readout if isinstance(step, Matrix))
    states = states.to(matrix.weight.device)
    normed = states if stack.final_norm is None else stack.final_norm(states)
    if stack.pooling == "late":
        return read_out(stack.readout, normed).mean(dim=0).float().cpu()
    if stack.pooling == "attention":
        assert stack.attention_pooling is not None
        pooled = stack.attention_pooling.pool(normed[None])[0]
    else:
        pooled = normed.mean(dim=0) if stack.pooling == "mean" else normed[0]
    return read_out(stack.readout, pooled).float().cpu()


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
