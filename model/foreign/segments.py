"""How a tokenizer of `transformers` joins two texts, and the segment that it gives each token (`token_type_ids`)."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from model.foreign.tokenizer import frame
from model.text.pair import find_separator

__all__ = ["Segments", "segments_of", "separator_of"]

PROBE = "a"  # a text whose tokens show where a template puts texts


@dataclass(frozen=True, kw_only=True)
class Segments:
    """The segments of a template's parts: tuples for special tokens, and a number for all tokens of a text."""

    before: tuple[int, ...]
    first: int
    between: tuple[int, ...]
    second: int
    after: tuple[int, ...]  # of two texts
    after_one: tuple[int, ...]
    separator: tuple[int, ...]  # the token ids between two texts

    def of(self, ids: Sequence[int]) -> list[int]:
        """The segments of token ids without padding. What follows the first separator is the second text."""
        texts = ids[len(self.before) : len(ids) - len(self.after)]
        first = find_separator(texts, self.separator)
        if first < 0:
            return [*self.before, *[self.first] * len(texts), *self.after_one]
        second = len(texts) - first - len(self.separator)
        return [*self.before, *[self.first] * first, *self.between, *[self.second] * second, *self.after]


def separator_of(tokenizer: PreTrainedTokenizerBase) -> tuple[int, ...]:
    """The tokens between two texts; none where the tokenizer has no template that separates two."""
    (before, after), text = frame(tokenizer), tokenizer(PROBE, add_special_tokens=False)["input_ids"]
    ids = pair_of_probes(tokenizer).get("input_ids", [])
    between = ids[len(before) + len(text) : len(ids) - len(text) - len(after)]
    return tuple(between) if ids == [*before, *text, *between, *text, *after] else ()


def pair_of_probes(tokenizer: PreTrainedTokenizerBase) -> Mapping[str, list[int]]:
    """What the tokenizer makes of two texts; nothing where it refuses them."""
    try:
        return tokenizer(PROBE, PROBE)
    except Exception:  # the library's tokenizers raise many kinds
        return {}


def segments_of(tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel) -> Segments | None:
    """The segments that a model gets of its tokenizer; None where the tokenizer makes none or the model has none."""
    before, after = map(len, frame(tokenizer))
    one, two = (found.get("token_type_ids", []) for found in (tokenizer(PROBE), pair_of_probes(tokenizer)))
    text = len(one) - before - after  # tokens of a probe
    takes = "token_type_ids" in inspect.signature(model.forward).parameters
    if not takes or not two or text < 1:
        return None
    rows = getattr(model.config, "type_vocab_size", None)  # XLNet has no table: it compares segments
    if rows is not None and max(*one, *two) >= rows:
        return None
    return Segments(
        before=tuple(one[:before]),
        first=one[before],
        between=tuple(two[before + text : len(two) - after - text]),
        second=two[len(two) - after - text],
        after=tuple(two[len(two) - after :]),
        after_one=tuple(one[before + text :]),
        separator=separator_of(tokenizer),
    )
