"""A text that is only read: every map of the encoder, and where a token is masked what may stand there."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from model.checkpoints.checkpoint import Checkpoint
from model.checkpoints.languages import tag
from model.decoding.search import Step
from model.inference.padding import padded_for
from model.inference.searching import source_ids
from model.inference.tokens import Token, source_tokens, with_candidates
from model.inference.translation import Recording, Translation, attention_maps, attention_masks
from model.trace import Edit, tracing

__all__ = ["record_reading"]


@torch.inference_mode()
def record_reading(
    checkpoint: Checkpoint, text: str, *, record: Sequence[str] = (), edits: Mapping[str, Edit] | None = None
) -> tuple[Translation, Recording]:
    """Read one text, and keep every attention map of the pass that did it.

    Args:
        checkpoint: Of an encoder that stands alone; never changed.
        text: Anything, even nothing.
        record: Patterns of the names of hook points, beside those of the weights.
        edits: See `tracing`.

    Returns:
        A "translation" that has a source alone. Each masked token of it has candidates, and the text has the best of
        them in its place.
    """
    reader: Any = checkpoint.model
    tokenizers = checkpoint.tokenizers
    ids, dropped = source_ids(tokenizers, text, reader.config.max_length)
    with tracing(record=("*.weights", "*.mask", *record), edits=edits) as trace:
        logits = reader.read(padded_for(reader, [ids]))  # (1, S, V)
    tokens = list(source_tokens(tokenizers, tokenizers.source.encode(text), ids))
    filled = list(ids)
    for place in [i for i, token in enumerate(ids) if logits is not None and token == tokenizers.specials.mask]:
        step = Step(distribution=logits[0, place : place + 1].float().log_softmax(dim=-1))
        tokens[place] = likeliest(with_candidates(tokens[place], tokenizers.source, step, 0))
        filled[place] = tokens[place].candidates[0].id
    translation = Translation(
        text=tokenizers.source.decode(filled) if filled != ids else "",
        source=tuple(tokens),
        read=(),
        written=(),
        maps=attention_maps(trace, reader, ()),
        masks=attention_masks(trace, reader, ()),
        finished=True,
        dropped=dropped,
        languages=(tag(checkpoint.config.tokenizer.source_language),) * 2,
    )
    return translation, Recording(trace=trace, rows=(0,))


def likeliest(token: Token) -> Token:
    """A masked token is shaded by how sure the model is of its best candidate."""
    return replace(token, probability=token.candidates[0].probability)
