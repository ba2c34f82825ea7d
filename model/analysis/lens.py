"""What a model would write if it stopped early, after fewer layers of the decoder or of the encoder."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.analysis.streams import require_transformer
from model.checkpoints.checkpoint import Checkpoint
from model.decoding.decoder_state import NOTHING_FORCED
from model.inference.translate import record_translation, translate
from model.inference.translation import Translation

__all__ = ["EarlyReading", "Lens", "decoder_lens", "logit_lens"]

FloatArray = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Lens:
    """The most probable token after each layer of the decoder. Row 0 is the embedding before the first layer."""

    tokens: tuple[tuple[str, ...], ...]  # (L + 1, T)
    probabilities: FloatArray  # (L + 1, T), of these tokens
    written: FloatArray  # (L + 1, T), of the token that the whole model wrote


@dataclass(frozen=True, kw_only=True)
class EarlyReading:
    """The translation of a decoder that reads the encoder's states after its first layers."""

    layers: int  # how many layers of the encoder ran
    text: str
    finished: bool  # it ended by itself, not at the length limit


def replace_states(states: Tensor, last: Tensor) -> Tensor:
    """The edit of a hook point: earlier states in place of the last ones."""
    return states.to(last)


@torch.inference_mode()
def logit_lens(
    checkpoint: Checkpoint, text: str, *, forced: Mapping[int, int] = NOTHING_FORCED
) -> tuple[Translation, Lens]:
    """Project the decoder's state after each layer to the vocabulary, through the last norm (nostalgebraist 2020).

    Each position has read the tokens that the whole model wrote before it.

    Args:
        checkpoint: A loaded checkpoint; never changed.
        text: Any text.
        forced: Position → target id that is written there, whatever its probability.

    Raises:
        ConfigError: the model is not one of our Transformers.
    """
    model = require_transformer(checkpoint)
    layers = range(model.config.num_decoder_layers)
    names = ("decoder.embedding.sum", *(f"decoder.layers.{i}.feed_forward_residual.stream" for i in layers))
    translation, recording = record_translation(checkpoint, text, record=names, forced=forced)
    states = torch.stack([recording.trace.joined(name, recording.rows) for name in names])  # (L + 1, T, D)
    probabilities = model.project(model.decoder.norm(states.to(model.device))).softmax(dim=-1).cpu()  # (L + 1, T, V)
    best = probabilities.max(dim=-1)
    ids = torch.tensor([token.id for token in translation.written])
    return translation, Lens(
        tokens=tuple(checkpoint.tokenizers.target.tokens(row) for row in best.indices.tolist()),
        probabilities=best.values.numpy(),
        written=probabilities[:, torch.arange(len(ids)), ids].numpy(),
    )


def decoder_lens(checkpoint: Checkpoint, text: str) -> list[EarlyReading]:
    """Translate with fewer layers of the encoder, from none to all (Langedijk et al. 2024, "DecoderLens").

    Args:
        checkpoint: A loaded checkpoint; never changed.
        text: Any text.

    Raises:
        ConfigError: the model is not one of our Transformers.
    """
    model = require_transformer(checkpoint)
    names = [f"encoder.layers.{i}.feed_forward_residual.stream" for i in range(model.config.num_encoder_layers)]
    states = ("encoder.embedding.sum", *names)
    whole, recording = record_translation(checkpoint, text, record=states)
    early = []
    for layers, name in enumerate(states[:-1]):
        (state,) = recording.trace.passes(name)  # (1, S, D)
        translation = translate(checkpoint, text, edits={names[-1]: partial(replace_states, state)})
        early.append(EarlyReading(layers=layers, text=translation.text, finished=translation.finished))
    return [*early, EarlyReading(layers=len(names), text=whole.text, finished=whole.finished)]
