"""The settings in a folder that `generate` of Hugging Face's `transformers` obeys: which ones our searches obey too.

The rules are the library's own logits processors, in the order of its `generate`.
"""

import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import GenerationConfig
from transformers.generation import logits_process as library

from model.config.search import GenerationSettings
from model.config.section import ConfigError, require
from model.messages import first_line
from model.text.vocab import TextRules

__all__ = ["rules_of", "settings_of"]

MAX_PHRASES, MAX_PHRASE_TOKENS = 1_000, 10_000  # of bad_words_ids and sequence_bias; each is compared at each step
MAX_TOKENS = 1_000_000  # of suppress_tokens
# What a setting is if it does nothing. The other settings do nothing if they are None, 0 or False.
NEUTRAL = {
    **dict.fromkeys(("repetition_penalty", "encoder_repetition_penalty", "guidance_scale", "typical_p", "top_p"), 1),
    **{"temperature": 1, "length_penalty": 1, "num_beams": 1, "num_return_sequences": 1, "num_beam_groups": 1},
}
# The visitor chooses these; beam search takes `length_penalty` and `early_stopping` from the files.
CHOSEN = ("num_beams", "length_penalty", "early_stopping", "do_sample", "temperature", "top_k", "top_p")
LENGTHS = ("max_length", "max_new_tokens")
FORCED = ("forced_bos_token_id", "forced_eos_token_id")  # 0 is a token like others (BART, Marian)
IGNORED = (
    *("guidance_scale", "min_p", "top_h", "typical_p", "epsilon_cutoff", "eta_cutoff", "watermarking_config"),
    *("penalty_alpha", "dola_layers", "diversity_penalty", "num_beam_groups", "constraints", "force_words_ids"),
    *("stop_strings", "max_time", "token_healing", "renormalize_logits"),
)


@dataclass(frozen=True, kw_only=True)
class Place:
    """What a rule needs beside its setting."""

    source: Any  # (1, S), what the encoder reads, or the prompt: the library wants a LongTensor
    given: int  # tokens that the decoder reads before it chooses one
    limit: int  # of all that it reads and writes
    ends: Tensor  # ids
    begins_with: object  # forced_bos_token_id
    device: Any  # a torch.device: the library's types say that it is a text


Maker = Callable[[Any, Place], library.LogitsProcessor]


def at_begin(ids: Any, place: Place) -> library.LogitsProcessor:
    first = place.given + (place.given == 1 and place.begins_with is not None)
    return library.SuppressTokensAtBeginLogitsProcessor(ids, first, device=place.device)


# The order is that of `GenerationMixin._get_logits_processor`.
FOLLOWED: Mapping[str, Maker] = {
    "sequence_bias": lambda value, at: library.SequenceBiasLogitsProcessor(value),
    "encoder_repetition_penalty": lambda value, at: library.EncoderRepetitionPenaltyLogitsProcessor(
        float(value), at.source
    ),
    "repetition_penalty": lambda value, at: library.RepetitionPenaltyLogitsProcessor(float(value)),
    "no_repeat_ngram_size": lambda value, at: library.NoRepeatNGramLogitsProcessor(value),
    "encoder_no_repeat_ngram_size": lambda value, at: library.EncoderNoRepeatNGramLogitsProcessor(value, at.source),
    "bad_words_ids": lambda value, at: library.NoBadWordsLogitsProcessor(value, at.ends),
    "min_length": lambda value, at: library.MinLengthLogitsProcessor(value, at.ends, device=at.device),
    "min_new_tokens": lambda value, at: library.MinNewTokensLengthLogitsProcessor(
        at.given, value, at.ends, device=at.device
    ),
    "forced_eos_token_id": lambda value, at: library.ForcedEOSTokenLogitsProcessor(at.limit, value, device=at.device),
    "remove_invalid_values": lambda value, at: library.InfNanRemoveLogitsProcessor(),
    "exponential_decay_length_penalty": lambda value, at: library.ExponentialDecayLengthPenalty(
        value, at.ends, at.given
    ),
    "suppress_tokens": lambda value, at: library.SuppressTokensLogitsProcessor(value, device=at.device),
    "begin_suppress_tokens": at_begin,
}
NEED_ENDS = ("min_length", "min_new_tokens", "exponential_decay_length_penalty")


@dataclass(frozen=True, kw_only=True)
class GenerationRules:
    """The rules of one model, see `WritingRules`."""

    values: Mapping[str, Any]  # name of a setting in `FOLLOWED` → value
    ends: Sequence[int]  # tokens that end a text
    begins_with: object = None  # forced_bos_token_id

    @property
    def fewest(self) -> int:
        """Tokens that each text has at least."""
        return max(int(self.values.get("min_length", 0)), int(self.values.get("min_new_tokens", 0)))

    def for_text(self, source: Sequence[int], *, given: int, limit: int, device: torch.device) -> TextRules:
        """See `WritingRules`."""
        place = Place(
            source=torch.tensor([source], device=device),
            given=given,
            limit=limit + 1,  # the library also counts the token that the decoder reads first
            ends=torch.tensor(self.ends, device=device),
            begins_with=self.begins_with,
            device=device,
        )
        rules = [make(self.values[name], place) for name, make in FOLLOWED.items() if name in self.values]

        def apply(ids: Any, scores: Any) -> Tensor:
            for rule in rules:
                scores = rule(ids, scores)
            return scores

        return apply


def chosen_settings(generation: GenerationConfig | None) -> dict[str, Any]:
    """The settings that do something."""
    if generation is None:
        return {}
    names = (*FOLLOWED, "forced_bos_token_id", *CHOSEN, *LENGTHS, *IGNORED)
    values = {name: getattr(generation, name, None) for name in names}
    forced = {name for name in FORCED if values[name] is not None}
    return {name: value for name, value in values.items() if name in forced or (value and value != NEUTRAL.get(name))}


def rules_of(generation: GenerationConfig | None, ends: Sequence[int], max_length: int) -> GenerationRules | None:
    """The rules that a model obeys; None if it has none.

    Args:
        generation: Of the model.
        ends: The tokens that end a text.
        max_length: The positions of the model.

    Raises:
        ConfigError: a setting is too large or cannot be used.
    """
    chosen = chosen_settings(generation)
    values: dict[str, Any] = {}
    for name in (name for name in FOLLOWED if name in chosen):
        try:
            values |= usable(name, chosen[name], ends, max_length)
        except ConfigError:
            raise
        except Exception as error:  # the file may contain anything
            raise ConfigError(
                "{name} in its generation settings is {value}, which cannot be used: {problem}. Correct it in "
                "generation_config.json.",
                name=name,
                value=reprlib.repr(chosen[name]),
                problem=first_line(error),
            ) from error
    begins_with = generation.forced_bos_token_id if generation else None
    return GenerationRules(values=values, ends=ends, begins_with=begins_with) if values else None


def usable(name: str, value: Any, ends: Sequence[int], max_length: int) -> Mapping[str, Any]:
    """The setting as a rule follows it; {} if there is nothing to follow. Any error if the value cannot be used."""
    if name == "bad_words_ids":  # single tokens are `Specials.banned`, which is faster
        value = [phrase for phrase in value if len(phrase) > 1]
        if not value:
            return {}
    require_modest(name, value)
    if name in NEED_ENDS and not ends:
        return {}
    if name in ("no_repeat_ngram_size", "encoder_no_repeat_ngram_size") and value > max_length:
        return {}  # such a phrase fits into no text
    rules = GenerationRules(values={name: value}, ends=ends)
    rules.for_text([0], given=1, limit=1, device=torch.device("cpu"))
    return {name: value}


def require_modest(name: str, value: Any) -> None:
    """Raises ConfigError if a rule would take too long at each step."""
    if name in ("bad_words_ids", "sequence_bias"):
        phrases = [pair[0] if isinstance(value, list) and name == "sequence_bias" else pair for pair in value]
        tokens = sum(len(phrase) for phrase in phrases)
        require(
            len(phrases) <= MAX_PHRASES and tokens <= MAX_PHRASE_TOKENS,
            "{name} in its generation settings has {phrases} phrases with {tokens} tokens. The limits are "
            "{max_phrases} phrases and {max_phrase_tokens} tokens. Shorten the list in "
            "generation_config.json.",
            name=name,
            phrases=f"{len(phrases):,}",
            tokens=f"{tokens:,}",
            max_phrases=f"{MAX_PHRASES:,}",
            max_phrase_tokens=f"{MAX_PHRASE_TOKENS:,}",
        )
    if name in ("suppress_tokens", "begin_suppress_tokens"):
        require(
            len(value) <= MAX_TOKENS,
            "{name} in its generation settings has {n} tokens. The limit is {max_tokens}. Shorten the list "
            "in generation_config.json.",
            name=name,
            n=f"{len(value):,}",
            max_tokens=f"{MAX_TOKENS:,}",
        )


def settings_of(generation: GenerationConfig | None) -> GenerationSettings:
    """The settings as a page shows them.

    Raises:
        ConfigError: a setting of the search cannot be used.
    """
    chosen = chosen_settings(generation)
    early = chosen.get("early_stopping", False)
    require(
        early in (True, False, "never"),
        'early_stopping is {early}. It must be true, false or "never".',
        early=repr(early),
    )
    penalty, beams = chosen.get("length_penalty", 1.0), chosen.get("num_beams", 1)
    if not isinstance(penalty, int | float) or not isinstance(beams, int):
        raise ConfigError(
            "length_penalty is {penalty} and num_beams is {beams}. Both must be numbers.",
            penalty=repr(penalty),
            beams=repr(beams),
        )
    return GenerationSettings(
        followed={name: chosen[name] for name in (*FOLLOWED, "forced_bos_token_id") if name in chosen},
        suggested={name: chosen[name] for name in CHOSEN if name in chosen},
        ignored={name: chosen[name] for name in (*LENGTHS, *IGNORED) if name in chosen},
        num_beams=beams,
        length_penalty=float(penalty),
        early_stopping="never" if early == "never" else "always" if early else "unlikely",
    )
