"""An encoder-decoder of Hugging Face's `transformers` behind the calls of our own: `encode`, `decode`, `project`."""

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from transformers import Cache, DynamicCache, EncoderDecoderCache, GenerationConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from model.config import ConfigError
from model.decoding.decode import Specials
from model.foreign.attention import NAME, place_hooks
from model.kinds import KINDS

__all__ = ["ForeignCache", "ForeignSizes", "ForeignTranslator"]

UNLIMITED = 512  # tokens, of a model whose positions never end


@dataclass(frozen=True, kw_only=True)
class ForeignSizes:
    """What the rest of the program asks of a model's sizes."""

    d_model: int
    num_heads: int
    layers: dict[str, int]  # kind → how many layers have it
    max_length: int
    source_vocab_size: int
    target_vocab_size: int
    positional = "its own"

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of attention that the model has."""
        return tuple(kind for kind in KINDS if kind in self.layers)

    def layers_of(self, kind: str) -> int:
        """How many layers have a kind of attention, one of `KINDS`."""
        return self.layers.get(kind, 0)


class ForeignCache:
    """The library's keys and values of earlier steps, moved as our searches ask."""

    def __init__(self) -> None:
        self.steps = EncoderDecoderCache(DynamicCache(), DynamicCache())

    @property
    def length(self) -> int:
        """How many target positions have been decoded."""
        return int(self.steps.get_seq_length())

    def select(self, rows: Tensor, *, same_source: bool = False) -> None:
        """Follow a beam search that moved its hypotheses, see `DecoderCache.select`."""
        moved: Cache = self.steps.self_attention_cache if same_source else self.steps
        moved.reorder_cache(cast(torch.LongTensor, rows))


class ForeignTranslator(nn.Module):
    """A model of the library that reads a source and writes a target; never changed once it stands."""

    def __init__(self, model: PreTrainedModel) -> None:
        """Place the hook points and find out the sizes.

        Raises:
            ConfigError: the model is no encoder-decoder, or does not say how a text begins and ends.
        """
        super().__init__()
        config, generation = model.config, getattr(model, "generation_config", None)
        if not config.is_encoder_decoder or generation is None:
            raise ConfigError(f"{config.model_type} has no encoder and decoder, so it cannot translate.")
        model.set_attn_implementation(NAME)
        self.model = model.eval()
        self.specials = specials_of(generation)
        self.pad_id = int(self.specials.bos if generation.pad_token_id is None else generation.pad_token_id)
        vocab_size = int(config.vocab_size)
        self.config = ForeignSizes(
            d_model=int(config.hidden_size),
            num_heads=int(config.num_attention_heads),
            layers=place_hooks(model, self.run_once),
            max_length=int(getattr(config, "max_position_embeddings", UNLIMITED)),
            source_vocab_size=vocab_size,
            target_vocab_size=vocab_size,
        )

    @torch.inference_mode()
    def run_once(self) -> None:
        end = torch.tensor([[self.specials.eos]], device=self.model.device)
        self.decode(torch.full_like(end, self.specials.bos), *self.encode(end))

    def start_cache(self) -> ForeignCache:
        """What `decode` needs to go on from where it stopped."""
        return ForeignCache()

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """Read the source.

        Args:
            source: Token ids (B, S), short sentences filled with `pad_id`.

        Returns:
            The memory (B, S, D) and the cross-attention mask (B, 1, 1, S).
        """
        mask = source != self.pad_id  # (B, S)
        memory = self.model.get_encoder()(input_ids=source, attention_mask=mask.long()).last_hidden_state
        return memory, mask[:, None, None]

    def decode(
        self, target: Tensor, memory: Tensor, cross_mask: Tensor | None, *, cache: ForeignCache | None = None
    ) -> Tensor:
        """Compute the logits of the token after each.

        Args:
            target: Token ids (B, T); with a cache only the newest token of each row, (B, 1).
            memory: From `encode`, (B, S, D).
            cross_mask: From `encode`, (B, 1, 1, S); None where no source is padded.
            cache: Keys and values of the earlier steps.

        Returns:
            (B, T, V): the library's models project by themselves, each in its own way.
        """
        logits: Tensor = self.model(
            encoder_outputs=BaseModelOutput(last_hidden_state=memory),
            attention_mask=None if cross_mask is None else cross_mask[:, 0, 0].long(),
            decoder_input_ids=target,
            past_key_values=cache.steps if cache else None,
            use_cache=cache is not None,
        ).logits
        return logits

    def project(self, logits: Tensor) -> Tensor:
        """Nothing is left to do after `decode`."""
        return logits


def specials_of(generation: GenerationConfig) -> Specials:
    """Where generation begins, where it ends, and what it never writes.

    Raises:
        ConfigError: the configuration does not say.
    """
    begin, end = generation.decoder_start_token_id, generation.eos_token_id
    if begin is None:
        begin = generation.bos_token_id
    end = end[0] if isinstance(end, list) else end
    if begin is None or end is None:
        raise ConfigError(f"decoder_start_token_id is {begin} and eos_token_id is {end}; generation needs both.")
    banned = [words[0] for words in generation.bad_words_ids or () if len(words) == 1]
    first = generation.forced_bos_token_id
    return Specials(bos=int(begin), eos=int(end), banned=tuple(banned), first=None if first is None else int(first))
