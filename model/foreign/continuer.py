"""A decoder of Hugging Face's `transformers` that stands alone: it goes on with a text."""

from typing import cast

import torch
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel

from model.config.section import ConfigError
from model.foreign.base import ForeignModel
from model.foreign.sizes import few_tokens

__all__ = ["ContinuerCache", "ForeignContinuer"]


class ContinuerCache:
    """The library's keys and values, and what was computed of the prompt ahead of the search."""

    def __init__(self) -> None:
        self.steps = DynamicCache()
        self.ahead: Tensor | None = None  # logits (B, N, V) of tokens of the prompt that the search is still to read
        self.length = 0  # how many tokens the search has read

    def select(self, rows: Tensor, *, same_source: bool = False) -> None:
        """Follow a beam search that moved its hypotheses, see `DecoderCache.select`."""
        self.steps.reorder_cache(cast(torch.LongTensor, rows))
        self.ahead = None if self.ahead is None else self.ahead[rows]


class ForeignContinuer(ForeignModel):
    """A model of the library that continues a text; never changed once it stands.

    For our searches the text is what is written from its second token on: a prompt is a beginning that is forced. With
    a cache it is read in one pass, when the search takes its first step.
    """

    task = "continuation"

    def __init__(self, model: PreTrainedModel) -> None:
        """Place the hook points and find out the sizes.

        Raises:
            ConfigError: the model needs more than token ids, or its attention cannot be seen.
        """
        if model.config.is_encoder_decoder or model.get_output_embeddings() is None:
            raise ConfigError(f"{model.config.model_type} is no decoder that writes, so it cannot go on with a text.")
        super().__init__(model, run_once, ("decoder",))
        self.pad_id = -1  # a prompt is read alone, so nothing is filled up

    def start_cache(self) -> ContinuerCache:
        return ContinuerCache()

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        # The prompt itself is what `decode` needs to know: nothing stands beside a decoder.
        return source, torch.ones_like(source, dtype=torch.bool)[:, None, None]

    def decode(
        self, target: Tensor, memory: Tensor, cross_mask: Tensor | None, *, cache: ContinuerCache | None = None
    ) -> Tensor:
        if cache is None:
            return self.logits(target, None)
        if cache.length == 0:
            logits = self.logits(memory, cache)
        else:
            logits = self.logits(target, cache) if cache.ahead is None else cache.ahead
        cache.ahead = logits[:, 1:] if logits.size(1) > 1 else None
        cache.length += 1
        return logits[:, :1]

    def logits(self, ids: Tensor, cache: ContinuerCache | None) -> Tensor:
        """(B, T, V) of the token after each of (B, T)."""
        found: Tensor = self.model(
            input_ids=ids, past_key_values=cache.steps if cache else None, use_cache=cache is not None
        ).logits
        return found.float()

    def project(self, states: Tensor) -> Tensor:
        return states  # the library's models project by themselves


def run_once(model: PreTrainedModel) -> None:
    model(input_ids=few_tokens(model))
