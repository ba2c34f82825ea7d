"""A language model of Hugging Face's `transformers`: a decoder without an encoder, which continues a text."""

import inspect
from contextlib import nullcontext
from typing import Literal, cast

import torch
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel

from model.config.section import ConfigError
from model.foreign.base import ForeignModel
from model.foreign.sizes import few_tokens
from model.network.protocols import Cache, Padding
from model.trace import active_trace

__all__ = ["ForeignLanguageModel", "LanguageModelCache"]


class LanguageModelCache:
    """The library's keys and values, and the logits of the prompt that the search has not read yet."""

    def __init__(self) -> None:
        self.steps = DynamicCache()
        self.ahead: Tensor | None = None  # logits (B, N, V) for the tokens of the prompt that the search reads later
        self.length = 0  # tokens that the search has read
        self.read: Tensor | None = None  # the ids (B, T) that a model without keys and values of its own has read

    def select(self, rows: Tensor, *, same_source: bool = False) -> None:
        """Keep and reorder hypotheses of a beam search, see `Cache.select`."""
        self.steps.reorder_cache(cast(torch.LongTensor, rows))
        self.ahead = None if self.ahead is None else self.ahead[rows]
        self.read = None if self.read is None else self.read[rows]


class ForeignLanguageModel(ForeignModel):
    """A model of the library that continues a text. It never changes after it is built.

    Our searches treat the prompt as forced tokens at the start of the text. With a cache, the whole prompt is read in
    one pass, at the first step of the search.
    """

    task: Literal["continuation"] = "continuation"
    reads_ahead = False  # `decode` reads the whole prompt at the first step

    def __init__(self, model: PreTrainedModel, *, padding: Padding | None = None) -> None:
        """Place the hook points and find the sizes.

        Args:
            model: A model of the library.
            padding: As the tokenizer pads; by default on the right.

        Raises:
            ConfigError: the model needs more than token ids, or its attention cannot be recorded.
        """
        if model.config.is_encoder_decoder or model.get_output_embeddings() is None:
            raise ConfigError(
                "{model_type} is not a decoder that writes, so it cannot continue a text.",
                model_type=model.config.model_type,
            )
        super().__init__(model, run_once, ("decoder",))
        self.keeps_steps = "past_key_values" in inspect.signature(model.forward).parameters  # not in OpenAI GPT
        self.uncached = {"use_cache": False} if self.keeps_steps else {}
        self.pad_id = -1  # searches read one prompt at a time, so there is no padding
        self.padding = padding or Padding(id=0, side="right")
        self.takes_positions = "position_ids" in inspect.signature(model.forward).parameters

    def start_cache(self) -> LanguageModelCache:
        return LanguageModelCache()

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        # There is no encoder: `decode` needs only the prompt itself.
        return source, torch.ones_like(source, dtype=torch.bool)[:, None, None]

    def decode(
        self,
        target: Tensor,
        memory: Tensor,
        cross_mask: Tensor | None,
        *,
        cache: Cache | None = None,
        first: int = 0,
    ) -> Tensor:
        assert cache is None or isinstance(cache, LanguageModelCache)
        if cache is None:
            return self.logits(target, None)[:, first:]
        if cache.length == 0:
            logits = self.logits(memory, cache)
        else:
            logits = self.logits(target, cache) if cache.ahead is None else cache.ahead
        cache.ahead = logits[:, 1:] if logits.size(1) > 1 else None
        cache.length += 1
        return logits[:, :1]

    def logits(self, ids: Tensor, cache: LanguageModelCache | None) -> Tensor:
        """Logits (B, T, V) for the token after each of the token ids (B, T)."""
        if cache is not None and not self.keeps_steps:
            return self.read_again(ids, cache)
        found: Tensor = self.model(
            input_ids=ids, **({"past_key_values": cache.steps, "use_cache": True} if cache else self.uncached)
        ).logits
        return found.float()

    def batch_logits(self, ids: Tensor, real: Tensor) -> Tensor:
        """See `ReadsBatches`. Positions are counted as in the library's `generate`."""
        positions = {"position_ids": (real.cumsum(dim=-1) - 1).clamp(min=0)} if self.takes_positions else {}
        found: Tensor = self.model(input_ids=ids, attention_mask=real.long(), **self.uncached, **positions).logits
        return found.float()

    def read_again(self, ids: Tensor, cache: LanguageModelCache) -> Tensor:
        """As `logits`, for a model that must read all earlier tokens again. A trace records only the new positions."""
        cache.read = ids if cache.read is None else torch.cat([cache.read, ids], dim=1)
        new, trace = ids.size(1), active_trace()
        with trace.newest_rows(new) if trace else nullcontext():
            found: Tensor = self.model(input_ids=cache.read).logits
        return found[:, -new:].float()

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        return self.logits(target, None)  # the source is the prompt, with which the target begins


def run_once(model: PreTrainedModel) -> None:
    model(input_ids=few_tokens(model))
