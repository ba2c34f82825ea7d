"""An encoder-decoder of Hugging Face's `transformers` behind the calls of our own: `encode`, `decode`, `project`."""

from collections.abc import Mapping
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
    layers: Mapping[str, int]  # kind → how many layers have it
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
    """A model of the library that reads a source and writes a target; never changed once it stands.

    Of the settings for generation it follows where a text begins and ends, what comes first, and which single tokens
    are never written. Others, such as `no_repeat_ngram_size`, are of the library's own `generate`.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        """Place the hook points and find out the sizes.

        Raises:
            ConfigError: the model is no encoder-decoder of token ids, does not say how a text begins and ends, or has
                an attention that the library does not let us see.
        """
        super().__init__()
        config, generation = model.config, getattr(model, "generation_config", None)
        if not config.is_encoder_decoder or generation is None:
            raise ConfigError(f"{config.model_type} has no encoder and decoder, so it cannot translate.")
        model.set_attn_implementation(NAME)
        self.model = model.eval()
        self.specials = specials_of(generation)
        self.max_length = int(getattr(config, "max_position_embeddings", UNLIMITED))
        pads = (generation.pad_token_id, getattr(config, "pad_token_id", None), self.specials.bos)
        self.pad_id = int(next(pad for pad in pads if pad is not None))
        try:
            layers = place_hooks(model, self.run_once)
        except Exception as error:  # as many kinds of errors as there are models that take something else than ids
            raise ConfigError(f"{config.model_type} cannot be run on token ids alone: {error}") from error
        self.config = sizes_of(model, layers, max_length=self.max_length)

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
        if source.size(1) > self.max_length:  # the library makes some models longer, and fails in others
            raise ValueError(f"The source has {source.size(1)} tokens; this model reads {self.max_length}.")
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


def sizes_of(model: PreTrainedModel, layers: Mapping[str, int], *, max_length: int) -> ForeignSizes:
    """Raises ConfigError where a kind of attention is not seen, or its stacks have different numbers of heads."""
    config = model.config
    if missing := set(KINDS) - set(layers):
        raise ConfigError(f"{config.model_type} hides its attention ({', '.join(sorted(missing))}) from its library.")
    heads = {getattr(config, f"{side}_attention_heads", config.num_attention_heads) for side in ("encoder", "decoder")}
    if len(heads) > 1:
        raise ConfigError(
            f"Encoder and decoder have {' and '.join(map(str, sorted(heads)))} heads; we show one number."
        )
    source, target = model.get_input_embeddings(), model.get_output_embeddings()
    assert isinstance(source, nn.Embedding)
    assert isinstance(target, nn.Linear)
    return ForeignSizes(
        d_model=int(config.hidden_size),
        num_heads=int(heads.pop()),
        layers=layers,
        max_length=max_length,
        source_vocab_size=source.num_embeddings,
        target_vocab_size=target.out_features,
    )


def specials_of(generation: GenerationConfig) -> Specials:
    """Where generation begins, where it ends, and what it never writes.

    Raises:
        ConfigError: the configuration does not say, or names several.
    """
    begin, end = generation.decoder_start_token_id, generation.eos_token_id
    if begin is None:
        begin = generation.bos_token_id
    end = end[0] if isinstance(end, list) and len(end) == 1 else end
    if not isinstance(begin, int) or not isinstance(end, int):
        raise ConfigError(f"decoder_start_token_id is {begin} and eos_token_id is {end}; one of each is needed.")
    # The library lets the end be written even where it is among the bad words.
    banned = [words[0] for words in generation.bad_words_ids or () if len(words) == 1 and words[0] != end]
    first = generation.forced_bos_token_id
    return Specials(bos=begin, eos=end, banned=tuple(banned), first=None if first is None else int(first))
