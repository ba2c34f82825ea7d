"""Read a text with an encoder-only model: its attention maps, and candidates for each masked token."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch

from model.checkpoints.checkpoint import Checkpoint
from model.checkpoints.languages import tag
from model.config.section import ConfigError
from model.decoding.search import Step
from model.inference.passes import padded_for
from model.inference.run import (
    Recording,
    Result,
    Token,
    attention_maps,
    attention_masks,
    source_tokens,
    with_candidates,
)
from model.network.protocols import PredictsMasked
from model.text.pair import Text
from model.trace import ATTENTION, Edit, tracing

__all__ = ["record_reading"]


@torch.inference_mode()
def record_reading(
    checkpoint: Checkpoint, text: Text, *, record: Sequence[str] = (), edits: Mapping[str, Edit] | None = None
) -> tuple[Result, Recording]:
    """As `record_translation`, for an encoder-only model.

    Returns:
        A result that has only a source. Each masked token has candidates, and `text` has the best one in its place; and
        what passed the other hook points.
    """
    reader, tokenizers = checkpoint.model, checkpoint.tokenizers
    if not isinstance(reader, PredictsMasked):
        raise ConfigError(
            "{checkpoint} is not an encoder that only reads. Translate with it.", checkpoint=checkpoint.name
        )
    ids, dropped = tokenizers.source_ids(text, reader.config.max_length)
    with tracing(record=(*ATTENTION, *record), edits=edits) as trace:
        logits = reader.read(padded_for(reader, [ids]))  # (1, S, V)
    encoding = tokenizers.encode(text, reader.config.max_length)
    tokens = list(source_tokens(tokenizers, encoding, ids))
    filled = list(ids)
    for position, token in enumerate(ids):
        if logits is None or token != tokenizers.specials.mask:
            continue
        step = Step(distribution=logits[0, position : position + 1].float().log_softmax(dim=-1))
        tokens[position] = with_best_probability(with_candidates(tokens[position], tokenizers.source, step, 0))
        filled[position] = tokens[position].candidates[0].id
    second = len(tokenizers.specials.before) + encoding.second_start if encoding.second_start else 0
    texts = filter(None, (filled[:second], filled[second:]))
    translation = Result(
        text=" / ".join(map(tokenizers.source.decode, texts)) if filled != ids else "",
        source=tuple(tokens),
        read=(),
        written=(),
        maps=attention_maps(trace, reader, ()),
        masks=attention_masks(trace, reader, ()),
        finished=True,
        dropped=dropped,
        languages=(tag(checkpoint.config.tokenizer.source_language),) * 2,
    )
    return translation, Recording(trace=trace)


def with_best_probability(token: Token) -> Token:
    """The token with the probability of its best candidate, which decides how strongly the page shades it."""
    return replace(token, probability=token.candidates[0].probability)
