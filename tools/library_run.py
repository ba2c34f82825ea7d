"""A model as Headlight opens it, the library's own model with the same weights, and what both do with one text."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.checkpoints.checkpoint import Checkpoint, ClassifierCheckpoint
from model.config.section import ConfigError
from model.foreign.architecture import architecture, read_library_config
from model.foreign.open import choose_language
from model.foreign.returned_attention import require_full_attention, weights_returned_by
from model.inference.opening import AnyCheckpoint, open_checkpoint
from model.inference.run import Forced, RecordedArrays, Result
from model.inference.run import Run as ModelRun
from model.inference.translate import record_run, search_input
from model.network.protocols import Writes

__all__ = ["TEXT", "LibraryRun", "Pair", "Run", "end_at_once", "open_pair", "run", "run_library"]

TEXT = "The cat sat on the <mask>."
EVERYTHING = ("*",)

FloatArray = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two models with the same weights."""

    checkpoint: AnyCheckpoint
    library: Any  # the library's class, with its own `eager` attention

    @property
    def task(self) -> str:
        return str(self.checkpoint.config.task)


@dataclass(frozen=True, kw_only=True)
class LibraryRun:
    """What the library's own model computes for a batch of texts."""

    batch_maps: Mapping[str, FloatArray]  # kind → (L, B, H, T, S)
    batch_streams: Mapping[str, FloatArray]  # stack → (L, B, T, D): the stream before each layer
    batch_logits: FloatArray | None  # (B, T, V), or (B, C) of a classifier; None of a model that only reads

    @property
    def maps(self) -> Mapping[str, FloatArray]:
        """Of the first text: kind → (L, H, T, S)."""
        return {kind: maps[:, 0] for kind, maps in self.batch_maps.items()}

    @property
    def streams(self) -> Mapping[str, FloatArray]:
        """Of the first text: stack → (L, T, D)."""
        return {name: streams[:, 0] for name, streams in self.batch_streams.items()}

    @property
    def logits(self) -> FloatArray:
        """Of the first text: (T, V) or (C,)."""
        if self.batch_logits is None:
            raise ConfigError("The model has no logits: it only reads.")
        return self.batch_logits[0]


@dataclass(frozen=True, kw_only=True)
class Run:
    """What both models compute for one text."""

    pair: Pair
    text: str
    asked: ModelRun
    found: Result  # of a classifier a `Classification`
    recording: RecordedArrays  # of all hook points
    library: LibraryRun


def open_pair(folder: Path) -> Pair:
    """Open a folder of the library twice.

    Raises:
        CheckpointError: Headlight does not open it.
    """
    checkpoint = open_checkpoint(folder)
    assert isinstance(checkpoint, Checkpoint | ClassifierCheckpoint)
    kind: Any = architecture(read_library_config(folder), folder)[1]
    library = kind.from_pretrained(folder, attn_implementation="eager").eval()
    require_full_attention(library)
    choose_language(library)
    return Pair(checkpoint=checkpoint, library=library)


@torch.inference_mode()
def run(pair: Pair, text: str = TEXT, *, short: bool = False) -> Run:
    """Run both models over a text and over what Headlight's model writes.

    Args:
        pair: The two models.
        text: The source, or the prompt of a language model.
        short: Write only one token.
    """
    checkpoint = pair.checkpoint
    asked = ModelRun(text=text, forced=end_at_once(checkpoint, text) if short else ())
    found, recording = record_run(checkpoint, asked, record=EVERYTHING)
    source, read = (torch.tensor([[token.id for token in tokens]]) for tokens in (found.source, found.read))
    library = run_library(pair, read if pair.task == "continuation" else source, read)
    return Run(pair=pair, text=text, asked=asked, found=found, recording=recording.arrays(), library=library)


def end_at_once(checkpoint: AnyCheckpoint, text: str) -> Forced:
    """The tokens to force, so that the text ends with the second token that the model writes."""
    if not isinstance(checkpoint.model, Writes):
        return ()
    start = search_input(checkpoint.model, checkpoint.tokenizers, text)
    return ((start.prompt_length + 1, start.specials.eos),)


@torch.inference_mode()
def run_library(
    pair: Pair, ids: Tensor, read: Tensor | None = None, *, mask: Tensor | None = None, read_mask: Tensor | None = None
) -> LibraryRun:
    """Run the library's model over token ids, with its own attention.

    Args:
        pair: The two models.
        ids: Of the texts, (B, S).
        read: What the decoder of an encoder-decoder reads, (B, T).
        mask: 0 at the padding of the texts, (B, S).
        read_mask: 0 at the padding of what the decoder reads, (B, T).
    """
    settings: dict[str, Any] = {"input_ids": ids, "output_attentions": True, "output_hidden_states": True}
    settings |= {} if mask is None else {"attention_mask": mask}
    if pair.task == "translation":
        settings |= {} if read_mask is None else {"decoder_attention_mask": read_mask}
        out = pair.library(**settings, decoder_input_ids=read, use_cache=False)
        maps = weights_of(pair, out, {"decoder": "decoder_attentions", "cross": "cross_attentions"})
        maps |= weights_of(pair, SimpleNamespace(attentions=out.encoder_attentions), {"encoder": "attentions"})
        streams = {"encoder": out.encoder_hidden_states, "decoder": out.decoder_hidden_states}
    else:
        settings |= {"use_cache": False} if pair.task == "continuation" else {}
        if mask is not None and "position_ids" in inspect.signature(pair.library.forward).parameters:
            # As `generate` counts positions, so that padding on the left does not move a text.
            settings |= {"position_ids": mask.cumsum(dim=-1).sub(1).clamp(min=0)} if pair.task == "continuation" else {}
        out = pair.library(**settings)
        name = "decoder" if pair.task == "continuation" else "encoder"
        maps, streams = weights_of(pair, out, {name: "attentions"}), {name: out.hidden_states}
    return LibraryRun(
        batch_maps={kind: torch.stack(tuple(layers)).float().numpy() for kind, layers in maps.items()},
        batch_streams={name: torch.stack(tuple(states[:-1])).float().numpy() for name, states in streams.items()},
        batch_logits=out.logits.float().numpy() if "logits" in out else None,
    )


def weights_of(pair: Pair, output: Any, places: Mapping[str, str]) -> dict[str, list[Tensor]]:
    """The weights that the library returned, kind → (B, H, T, S) of each layer."""
    family = str(pair.library.config.model_type)
    return {kind: weights_returned_by(family, kind, place, output) for kind, place in places.items()}
