"""An encoder-decoder of Hugging Face's `transformers` that reads a source and writes a target."""

from dataclasses import dataclass, replace
from typing import Literal, cast

import torch
from torch import Tensor
from transformers import Cache, DynamicCache, EncoderDecoderCache, GenerationConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from model.config.kinds import KINDS
from model.config.section import ConfigError, require
from model.foreign.base import ForeignModel
from model.foreign.generation import rules_of
from model.foreign.sizes import few_tokens
from model.network.protocols import Cache as ModelCache
from model.text.vocab import Specials

__all__ = ["ForeignCache", "ForeignTranslator", "continuing"]


class ForeignCache:
    """The library's keys and values of earlier steps, with the methods of our own cache."""

    def __init__(self) -> None:
        self.steps = EncoderDecoderCache(DynamicCache(), DynamicCache())

    @property
    def length(self) -> int:
        """Target positions that have been decoded."""
        return int(self.steps.get_seq_length())

    def select(self, rows: Tensor, *, same_source: bool = False) -> None:
        """Keep and reorder hypotheses of a beam search, see `Cache.select`."""
        cache: Cache = self.steps.self_attention_cache if same_source else self.steps
        cache.reorder_cache(cast(torch.LongTensor, rows))


@dataclass
class Memory(BaseModelOutput):
    """The output of an encoder. Some decoders also need its choice of experts (Switch Transformers)."""

    router_logits: Tensor | None = None


class ForeignTranslator(ForeignModel):
    """A model of the library that reads a source and writes a target. It never changes after it is built.

    `model/foreign/generation.py` has the settings of `generation_config` that it follows.
    """

    task: Literal["translation"] = "translation"
    reads_ahead = False

    def __init__(self, model: PreTrainedModel) -> None:
        """Place the hook points and find the sizes.

        Raises:
            ConfigError: the model is not an encoder-decoder of token ids, has no start or end token, or its attention
                cannot be recorded.
        """
        config, generation = model.config, getattr(model, "generation_config", None)
        if not config.is_encoder_decoder or generation is None:
            raise ConfigError(
                "{model_type} has no encoder and decoder, so it cannot translate.", model_type=config.model_type
            )
        specials = specials_of(generation)
        super().__init__(model, run_once, tuple(KINDS))
        self.specials = replace(specials, rules=rules_of(generation, (specials.eos,), self.config.max_length))
        pads = (generation.pad_token_id, getattr(config, "pad_token_id", None), specials.bos)
        self.pad_id = int(next(pad for pad in pads if pad is not None))

    def start_cache(self) -> ForeignCache:
        return ForeignCache()

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        # The library extends some models and fails in others.
        require(
            source.size(1) <= self.config.max_length,
            "The source has {n} tokens. This model can read {limit}. Shorten it.",
            n=source.size(1),
            limit=self.config.max_length,
        )
        # A single source has no padding, whatever its ids.
        mask = (source != self.pad_id) | (len(source) == 1)  # (B, S)
        memory = self.model.get_encoder()(input_ids=source, attention_mask=mask.long()).last_hidden_state
        return memory, mask[:, None, None]

    def decode(
        self,
        target: Tensor,
        memory: Tensor,
        cross_mask: Tensor | None,
        *,
        cache: ModelCache | None = None,
        first: int = 0,
    ) -> Tensor:
        assert cache is None or isinstance(cache, ForeignCache)
        logits: Tensor = self.model(
            encoder_outputs=Memory(last_hidden_state=cast(torch.FloatTensor, memory)),
            attention_mask=None if cross_mask is None else cross_mask[:, 0, 0].long(),
            decoder_input_ids=target,
            decoder_attention_mask=self.is_read(target) if cache is None and len(target) > 1 else None,
            past_key_values=cache.steps if cache else None,
            use_cache=cache is not None,
        ).logits
        return logits[:, first:].float()  # in single precision, as a search needs them

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        return self.decode(target, *self.encode(source))

    def is_read(self, target: Tensor) -> Tensor:
        """(B, T), 1 where there is a token. The first one is always a token, although Marian's is the padding id."""
        mask = target != self.pad_id
        mask[:, 0] = True
        return mask.long()


def run_once(model: PreTrainedModel) -> None:
    tokens = few_tokens(model)
    model(input_ids=tokens, decoder_input_ids=tokens)


def specials_of(generation: GenerationConfig) -> Specials:
    """The start token, the end token, and the tokens that are never written.

    Raises:
        ConfigError: the configuration names no start or end token, or several.
    """
    begin, end = generation.decoder_start_token_id, generation.eos_token_id
    if begin is None:
        begin = generation.bos_token_id
    end = end[0] if isinstance(end, list) and len(end) == 1 else end
    if not isinstance(begin, int) or not isinstance(end, int):
        raise ConfigError(
            "decoder_start_token_id is {begin} and eos_token_id is {end}. The model needs one of each.",
            begin=begin,
            end=end,
        )
    first = generation.forced_bos_token_id
    if not isinstance(first, int | None):
        raise ConfigError("forced_bos_token_id is {first}. It must be a single token.", first=first)
    return Specials(bos=begin, eos=end, banned=banned_by(generation, {end}), first=first)


def continuing(generation: GenerationConfig | None) -> Specials:
    """The tokens that end a continuation (one, several or none), and the tokens that are never written."""
    generation = generation or GenerationConfig()
    setting = generation.eos_token_id
    ends = [int(end) for end in (setting if isinstance(setting, list) else [setting]) if end is not None]
    eos, *more = ends or [-1]  # −1 is never written
    return Specials(bos=0, eos=eos, more_ends=tuple(more), banned=banned_by(generation, set(ends)))


def banned_by(generation: GenerationConfig, ends: set[int]) -> tuple[int, ...]:
    # The library allows the end token even if it is one of the bad words.
    words = [word for word in generation.bad_words_ids or () if len(word) == 1]
    return tuple(int(word[0]) for word in words if word[0] not in ends)
