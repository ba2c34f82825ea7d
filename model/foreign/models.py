"""Models of Hugging Face's `transformers` with the methods of our own models.

There are translators, language models, readers and classifiers. All share their hook points and sizes.
"""

import inspect
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, cast

import torch
from torch import Tensor, nn
from transformers import Cache as LibraryCache
from transformers import DynamicCache, EncoderDecoderCache, GenerationConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from model.config.foreign import ForeignSizes
from model.config.kinds import KINDS
from model.config.section import ConfigError, require
from model.foreign.architecture import fills_gaps
from model.foreign.attention import AttentionHooks, OwnAttentionError, find_direct, place_hooks
from model.foreign.generation import rules_of
from model.foreign.positions import find_rotations
from model.foreign.projections import Found, find_projections
from model.foreign.readout import describe_matrix
from model.foreign.returned_attention import place_returned_weights
from model.foreign.sizes import few_tokens, learned_positions, run_on, sizes_of
from model.foreign.stacks import ForeignStacks
from model.foreign.tokenizer import Segments
from model.messages import N_, Message
from model.network.protocols import Cache, HeadMixing, Padding, Stage
from model.network.residual_stream import Matrix, Stack, StackName
from model.network.rotation import Rotation
from model.network.scores import Scoring
from model.text.vocab import Specials
from model.trace import active_trace

__all__ = [
    "ForeignClassifier",
    "ForeignLanguageModel",
    "ForeignModel",
    "ForeignReader",
    "ForeignTranslator",
    "continuing",
]

READ_ONLY = N_("Nothing can be changed in this model, and only its attention weights are known: {error}.")

STAGE_NAMES: Mapping[Stage, str] = {"queries": N_("queries"), "keys": N_("keys"), "values": N_("values")}


class ForeignModel(nn.Module):
    """A model of the library that `Reads`, as our own do. It never changes after it is built."""

    config: ForeignSizes
    pad_id: int
    read_only_reason: str

    def __init__(self, model: PreTrainedModel, needed: Sequence[str]) -> None:
        """Place the hook points and find the sizes.

        Args:
            model: A model of the library.
            needed: The kinds of attention that it must have.

        Raises:
            ConfigError: the model needs more than token ids, or its attention cannot be recorded.
        """
        super().__init__()
        model.config.return_dict = True
        self.model = model.eval()
        self.hooks: dict[tuple[str, int], AttentionHooks] = {}
        self.read_only_reason = ""
        sizes = self.place_attention(needed)
        self.stacks = ForeignStacks(model, {KINDS[kind].stack for kind in needed})
        self.found_rotations: dict[str, Sequence[Rotation]] = {}
        self.projections: Found | None = None
        self.config = sizes

    @property
    def target_pad_id(self) -> int:
        return self.pad_id

    @torch.inference_mode()
    def place_attention(self, needed: Sequence[str]) -> ForeignSizes:
        """Place the hook points of the attention, and count its layers."""
        run = partial(run_on, self.model, few_tokens(self.model))
        try:
            hooks = place_hooks(self.model, run, needed)
        except OwnAttentionError as error:
            self.read_only_reason = Message(READ_ONLY, error=error)
            return place_returned_weights(self.model, needed, self.read_only_reason)
        find_direct(hooks, run)
        self.hooks = {(one.kind, one.layer): one for one in hooks}
        return sizes_of(self.model, Counter(one.kind for one in hooks))

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def position_table(self) -> Tensor | None:
        table = learned_positions(self.model)
        return None if table is None else table.float()

    def rotations(self, name: StackName) -> Sequence[Rotation]:
        """See `Reads.rotations`. The first call runs the model on a few tokens."""
        if name not in self.found_rotations:
            self.found_rotations[name] = find_rotations(self.model, name, self.config.num_layers(name))
        return self.found_rotations[name]

    def scoring(self, kind: str, layer: int) -> Scoring:
        return self.hooks_of(kind, layer).scoring

    def hooks_of(self, kind: str, layer: int) -> AttentionHooks:
        """Raises ConfigError if only the weights of the attention are known."""
        if self.read_only_reason:
            raise ConfigError(self.read_only_reason)
        return self.hooks[kind, layer]

    def stack(self, name: str) -> Stack:
        return self.stacks.stack(name)

    def mixing(self, kind: str, layer: int) -> HeadMixing:
        hooks = self.hooks_of(kind, layer)
        if not hooks.direct:
            raise ConfigError(
                "Models of the family {model_type} have a norm, a gate or several matrices after the head "
                "outputs. So the contribution of a single head cannot be computed.",
                model_type=self.model.config.model_type,
            )
        matrix = describe_matrix(hooks.projection[0])
        bias = torch.zeros(len(matrix.weight)) if matrix.bias is None else matrix.bias
        return HeadMixing(matrix=matrix.weight.T.float(), bias=bias.float())

    def projection(self, kind: str, layer: int, stage: Stage) -> Matrix:
        """See `Reads.projection`. The first call runs the model on a few tokens."""
        self.hooks_of(kind, layer)
        if self.projections is None:
            names = dict.fromkeys(KINDS[kind].stack for kind in self.config.kinds)
            by_hooks = {module.hooks: module for module in self.model.modules() if hasattr(module, "hooks")}
            attention = {place: by_hooks[hooks] for place, hooks in self.hooks.items()}
            with torch.inference_mode(False):
                self.projections = find_projections(self.model, [self.stack(name) for name in names], attention)
        found = self.projections.get((kind, layer, stage))
        if found is None:
            raise ConfigError(
                "Models of the family {family} compute their {stage} with more than one matrix, for example with a "
                "norm after it. So a head has no fixed matrix for them.",
                family=self.model.config.model_type,
                stage=Message(STAGE_NAMES[stage]),
            )
        return found.matrix


class ForeignCache:
    """The library's keys and values of earlier steps, with the methods of our own cache."""

    shares_memory = False

    def __init__(self, steps: LibraryCache) -> None:
        self.steps = steps
        self.length = 0  # target positions that have been decoded
        self.read: Tensor | None = None  # the ids (B, T) that a model without keys and values of its own has read

    def select(self, rows: Tensor, *, sources: Tensor | None = None) -> None:
        """Keep and reorder hypotheses of a beam search, see `Cache.select`."""
        steps = self.steps
        if isinstance(steps, EncoderDecoderCache) and sources is None:
            steps = steps.self_attention_cache
        steps.reorder_cache(cast(torch.LongTensor, rows))
        self.read = None if self.read is None else self.read[rows]


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
        super().__init__(model, tuple(KINDS))
        self.specials = replace(specials, rules=rules_of(generation, (specials.eos,), self.config.max_length))
        pads = (generation.pad_token_id, getattr(config, "pad_token_id", None), specials.bos)
        self.pad_id = int(next(pad for pad in pads if pad is not None))

    def start_cache(self) -> ForeignCache:
        return ForeignCache(EncoderDecoderCache(DynamicCache(), DynamicCache()))

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
        cache: Cache | None = None,
        first: int = 0,
    ) -> Tensor:
        assert cache is None or isinstance(cache, ForeignCache)
        if cache is not None:
            cache.length += target.size(1)
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


class ForeignLanguageModel(ForeignModel):
    """A model of the library that continues a text. It never changes after it is built.

    Our searches treat the prompt as forced tokens at the start of the text.
    """

    task: Literal["continuation"] = "continuation"
    reads_ahead = True

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
        super().__init__(model, ("decoder",))
        self.keeps_steps = "past_key_values" in inspect.signature(model.forward).parameters  # not in OpenAI GPT
        self.uncached = {"use_cache": False} if self.keeps_steps else {}
        self.pad_id = -1  # searches read one prompt at a time, so there is no padding
        self.padding = padding or Padding(id=0, side="right")
        self.takes_positions = "position_ids" in inspect.signature(model.forward).parameters

    def start_cache(self) -> ForeignCache:
        return ForeignCache(DynamicCache())

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        # There is no encoder: `decode` needs only the tokens that it reads.
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
        assert cache is None or isinstance(cache, ForeignCache)
        if cache is not None:
            cache.length += target.size(1)
        return self.logits(target, cache)[:, first:]

    def logits(self, ids: Tensor, cache: ForeignCache | None) -> Tensor:
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

    def read_again(self, ids: Tensor, cache: ForeignCache) -> Tensor:
        """As `logits`, for a model that must read all earlier tokens again. A trace records only the new positions."""
        cache.read = ids if cache.read is None else torch.cat([cache.read, ids], dim=1)
        new, trace = ids.size(1), active_trace()
        with trace.newest_rows(new) if trace else nullcontext():
            found: Tensor = self.model(input_ids=cache.read).logits
        return found[:, -new:].float()

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        return self.logits(target, None)  # the source is the prompt, with which the target begins


class ForeignReader(ForeignModel):
    """A model of the library that reads a text. It never changes after it is built."""

    def __init__(self, model: PreTrainedModel, *, pad_id: int = 0, segments: Segments | None = None) -> None:
        """Place the hook points and find the sizes.

        Raises:
            ConfigError: the model needs more than token ids, or its attention cannot be recorded.
        """
        super().__init__(model, ("encoder",))
        self.pad_id, self.segments = pad_id, segments

    @property
    def fills(self) -> bool:
        """Whether the model predicts masked tokens."""
        return fills_gaps(type(self.model))

    def read(self, source: Tensor) -> Tensor | None:
        """Read token ids (B, S). A model that predicts masked tokens returns logits (B, S, V), another one None."""
        found = self.model(**self.inputs(source))
        return found.logits.float() if self.fills else None

    def inputs(self, ids: Tensor) -> dict[str, Tensor]:
        """The arguments of the library's model for token ids (B, S), with segments where the model has them."""
        mask = self.mask(ids)
        if self.segments is None:
            return {"input_ids": ids, "attention_mask": mask}
        segments = torch.zeros_like(ids)
        for row, length in enumerate(lengths_of(mask)):
            segments[row, :length] = torch.tensor(self.segments.of(ids[row, :length].tolist()))
        return {"input_ids": ids, "attention_mask": mask, "token_type_ids": segments}

    def mask(self, ids: Tensor) -> Tensor:
        """(B, S), 1 where there is a token and 0 at padding. A single text has no padding, whatever its ids."""
        return ((ids != self.pad_id) | (len(ids) == 1)).long()


class ForeignClassifier(ForeignReader):
    """A reader that assigns a class to a text."""

    task: Literal["classification"] = "classification"

    def forward(self, ids: Tensor) -> Tensor:
        """Logits (B, C) for token ids (B, S); short texts are padded with `pad_id`."""
        logits: Tensor = self.model(**self.inputs(ids)).logits
        return logits.float()


def lengths_of(mask: Tensor) -> list[int]:
    """The tokens of each text up to its last one, from a mask (B, S) with padding on the right."""
    places = torch.arange(1, mask.size(1) + 1, device=mask.device)
    lengths: list[int] = (mask * places).amax(dim=1).tolist()
    return lengths
