"""Batches of stories: ids, and the ids that the model must predict."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from weights.stories.draw import draw_stories

__all__ = ["IGNORED", "Batch", "hide", "read_ahead", "story_batches"]

IGNORED = -100  # a position without a prediction, as in `torch.nn.functional.cross_entropy`
PARTS = 0.3  # share of the texts that are parts of a story, as a visitor types a few sentences
LINES = 0.6  # share of the texts of a masked model that are single lines; it learns first from close neighbours
FEWEST_HIDDEN, MOST_HIDDEN = 0.1, 0.5  # share of the tokens of a text (Wettig et al. 2023: more than 15 % helps)
REPLACED, KEPT = 0.1, 0.1  # of the hidden tokens: another token in their place, or the token itself


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Texts of about the same length."""

    ids: Tensor  # (B, T)
    real: Tensor  # (B, T), 1 where there is a token and 0 at padding
    wanted: Tensor  # (B, T), the ids to predict at each position, or `IGNORED`


def story_batches(
    tokenizer: PreTrainedTokenizerFast, *, count: int, seed: int, longest: int, tokens: int, masked: bool
) -> Iterator[Batch]:
    """New stories in batches, in random order.

    Args:
        tokenizer: Of the model.
        count: Number of stories.
        seed: The same seed gives the same batches.
        longest: Tokens of a text, with its special tokens.
        tokens: Tokens of a batch with padding.
        masked: Hide tokens (BERT), or predict each next token (GPT).
    """
    draw = random.Random(seed)
    texts = [
        " ".join(part_of(lines, draw, single=LINES if masked else 0.0)) for lines in draw_stories(count, seed=seed)
    ]
    rows = [row[:longest] for row in tokenizer(texts)["input_ids"]]
    if not masked:
        rows = [[*row, tokenizer.eos_token_id][:longest] for row in rows]
    rows.sort(key=len)
    batches = list(batched(rows, tokens))
    draw.shuffle(batches)
    generator = torch.Generator().manual_seed(seed)
    for batch in batches:
        ids, real = padded(batch, tokenizer.pad_token_id)
        yield hide(ids, real, tokenizer, generator) if masked else read_ahead(ids, real)


def part_of(lines: list[str], draw: random.Random, *, single: float) -> list[str]:
    """A whole story, a part of it, or, for the share `single`, one of its lines."""
    start = draw.randrange(len(lines))
    if draw.random() < single:
        return lines[start : start + 1]
    return lines[start : draw.randint(start + 1, len(lines))] if draw.random() < PARTS else lines


def batched(rows: Sequence[list[int]], tokens: int) -> Iterator[Sequence[list[int]]]:
    start = 0
    for end in range(1, len(rows) + 1):
        if end == len(rows) or (end - start + 1) * len(rows[end]) > tokens:
            yield rows[start:end]
            start = end


def padded(rows: Sequence[list[int]], pad: int) -> tuple[Tensor, Tensor]:
    longest = max(map(len, rows))
    ids = torch.tensor([row + [pad] * (longest - len(row)) for row in rows])
    lengths = torch.tensor([len(row) for row in rows])
    return ids, (torch.arange(longest) < lengths[:, None]).long()


def read_ahead(ids: Tensor, real: Tensor) -> Batch:
    """Each position predicts the next token (Radford et al. 2018, section 3.1)."""
    wanted = torch.full_like(ids, IGNORED)
    wanted[:, :-1] = ids[:, 1:].where(real[:, 1:] > 0, IGNORED)
    return Batch(ids=ids, real=real, wanted=wanted)


def hide(ids: Tensor, real: Tensor, tokenizer: PreTrainedTokenizerFast, generator: torch.Generator) -> Batch:
    """Hide some tokens of each text, as in BERT (Devlin et al. 2019, section 3.1)."""
    special = torch.isin(ids, torch.tensor(tokenizer.all_special_ids))
    places = (real > 0) & ~special
    share = torch.rand(len(ids), 1, generator=generator) * (MOST_HIDDEN - FEWEST_HIDDEN) + FEWEST_HIDDEN
    order = torch.rand(ids.shape, generator=generator).where(places, 2.0)
    hidden = places & ((order < share) | (order == order.amin(dim=1, keepdim=True)))  # at least one token
    how = torch.rand(ids.shape, generator=generator)
    others = torch.randint(len(tokenizer), ids.shape, generator=generator)
    read = ids.masked_fill(hidden & (how >= REPLACED + KEPT), tokenizer.mask_token_id)
    read = read.where(~(hidden & (how < REPLACED)), others)
    return Batch(ids=read, real=real, wanted=ids.where(hidden, IGNORED))
