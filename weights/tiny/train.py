"""Trains the tiny models on new stories: tokenizers, models, batches and a run that continues after its last round.

`tiny-gpt-en` reads from left to right as GPT-2 does, and `tiny-bert-en` fills gaps as BERT does. Both tokenizers are
learned from our stories, so each of their words is one token. Invented names have several tokens.
"""

import json
import random
import string
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import (
    AutoTokenizer,
    BertConfig,
    BertForMaskedLM,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)

from model.corpora.batch import pad
from model.foreign.sizes import learned_positions
from model.network.positional import sinusoidal_table
from model.text.cleaning import as_normalizer
from weights.stories.draw import draw_stories

__all__ = ["IGNORED", "TINY", "Batch", "loss_of", "rate", "story_batches", "train_tiny"]

STORIES = 2_000  # per round; each round draws new ones
TOKENS = 1_024  # per batch; small batches learn more from the same stories
WARMUP, COOLDOWN = 1.0, 0.3  # rounds in which the learning rate rises; share of the run in which it falls
HIGHEST, CLIP = 2e-3, 1.0  # learning rate; norm of a gradient
STATE = "training/state.pt"

READ, INVENTED = 20_000, 0.1  # stories for a tokenizer; few invented names, so that the merges serve the words
END = "<|endoftext|>"
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")

POSITIONS, WIDTH, LAYERS, HEADS = 128, 128, 4, 4
WAVE_BASE = 500.0  # the longest waves are about as long as a text
CORPUS = "stories"  # the app offers sentences that this model knows

IGNORED = -100  # a position without a prediction, as in `torch.nn.functional.cross_entropy`
PARTS = 0.3  # share of the texts that are parts of a story, as a visitor types a few sentences
LINES = 0.6  # share of the texts of a masked model that are single lines; it learns first from close neighbours
FEWEST_HIDDEN, MOST_HIDDEN = 0.1, 0.5  # share of the tokens of a text (Wettig et al. 2023: more than 15 % helps)
REPLACED, KEPT = 0.1, 0.1  # of the hidden tokens: another token in their place, or the token itself


def texts() -> Iterator[str]:
    return (" ".join(lines) for lines in draw_stories(READ, seed=0, invented=INVENTED))


def byte_pairs(size: int) -> PreTrainedTokenizerFast:
    """As in GPT-2 (Radford et al. 2019, section 2.2), with the end token before each text.

    A first word gets a space, so a name at the start of a text has the same token as later in the text.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = as_normalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=[END], initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(texts(), trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{END} $A", special_tokens=[(END, tokenizer.token_to_id(END))]
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=END, eos_token=END, pad_token=END)


def word_pieces(size: int) -> PreTrainedTokenizerFast:
    """As in BERT (Devlin et al. 2019, section 3), with capitals."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = as_normalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    letters = string.ascii_letters + string.digits
    trainer = trainers.WordPieceTrainer(vocab_size=size, special_tokens=list(SPECIAL), show_progress=False)
    # Each letter can also continue a word, so every name can be written.
    tokenizer.train_from_iterator([*texts(), letters + letters[0], string.punctuation], trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[(mark, tokenizer.token_to_id(mark)) for mark in ("[CLS]", "[SEP]")]
    )
    names = {f"{mark.strip('[]').lower()}_token": mark for mark in SPECIAL}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)


@dataclass(frozen=True, kw_only=True)
class TinyModel:
    """How to make one of the models."""

    make_tokenizer: Callable[[], PreTrainedTokenizerFast]
    make_model: Callable[[PreTrainedTokenizerFast], PreTrainedModel]
    masked: bool  # it predicts hidden tokens from both sides
    rounds: int  # of the training of our checkpoint


def gpt(tokenizer: PreTrainedTokenizerFast) -> PreTrainedModel:
    """A GPT-2 (Radford et al. 2019)."""
    end = tokenizer.eos_token_id
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tokenizer), n_positions=POSITIONS, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS,
            activation_function="gelu_pytorch_tanh", embd_pdrop=0.0, attn_pdrop=0.0, resid_pdrop=0.0,
            bos_token_id=end, eos_token_id=end, pad_token_id=end,
        )
    )  # fmt: skip


def bert(tokenizer: PreTrainedTokenizerFast) -> PreTrainedModel:
    """A BERT (Devlin et al. 2019)."""
    return BertForMaskedLM(
        BertConfig(
            vocab_size=len(tokenizer), max_position_embeddings=POSITIONS, hidden_size=WIDTH, num_hidden_layers=LAYERS,
            num_attention_heads=HEADS, intermediate_size=4 * WIDTH, hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0, pad_token_id=tokenizer.pad_token_id,
        )
    )  # fmt: skip


def make_model(tiny: TinyModel, tokenizer: PreTrainedTokenizerFast) -> PreTrainedModel:
    """A model before its training.

    Its learned positions begin as waves as large as the vectors of the tokens, so that it soon finds close neighbours.
    Its `config.json` names the corpus.
    """
    torch.manual_seed(1)
    model = tiny.make_model(tokenizer)
    model.config.corpus = CORPUS
    table = learned_positions(model)
    assert table is not None
    table.copy_(2**0.5 * model.config.initializer_range * sinusoidal_table(*table.shape, base=WAVE_BASE))
    return model


TINY: Mapping[str, TinyModel] = {
    "tiny-gpt-en": TinyModel(make_tokenizer=lambda: byte_pairs(1800), make_model=gpt, masked=False, rounds=190),
    "tiny-bert-en": TinyModel(make_tokenizer=lambda: word_pieces(1500), make_model=bert, masked=True, rounds=520),
}


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
        ids, lengths = pad(batch, pad_id=tokenizer.pad_token_id), torch.tensor([len(row) for row in batch])
        real = (torch.arange(ids.size(1)) < lengths[:, None]).long()
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


def loss_of(model: PreTrainedModel, batch: Batch) -> Tensor:
    """Nats per predicted token. Logits are computed only where there is one."""
    places = batch.wanted != IGNORED
    states: Tensor = model.base_model(input_ids=batch.ids, attention_mask=batch.real).last_hidden_state  # (B, T, D)
    head: Any = model.cls if hasattr(model, "cls") else model.lm_head
    return F.cross_entropy(head(states[places]).float(), batch.wanted[places])


def rate(rounds_done: float, rounds: int) -> float:
    """The learning rate: it rises, stays, and falls to 0 (Hägele et al. 2024, arXiv 2405.18392).

    A run can be made longer until its rate begins to fall.
    """
    return HIGHEST * min(1.0, rounds_done / WARMUP, (rounds - rounds_done) / (COOLDOWN * rounds))


def optimizer_of(model: nn.Module) -> torch.optim.Optimizer:
    """AdamW. Only matrices decay."""
    parameters = list(model.parameters())
    groups: list[dict[str, Any]] = [
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": 0.05},
        {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=HIGHEST, betas=(0.9, 0.98))


def train_tiny(name: str, out: Path, *, rounds: int) -> None:
    """Train one of `TINY` and write it as a folder of the library, in half precision.

    Args:
        name: The name of the model.
        out: The folder to write. If it has the state of a stopped run, this run continues.
        rounds: How many rounds of `STORIES` new stories the whole run has.
    """
    tiny = TINY[name]
    (out / STATE).parent.mkdir(parents=True, exist_ok=True)
    tokenizer = tokenizer_of(tiny, out)
    model = make_model(tiny, tokenizer).train()
    model.set_attn_implementation("eager")  # on a CPU the backward pass of the fused kernel takes half of the time
    optimizer = optimizer_of(model)
    done = restore(out / STATE, model, optimizer)
    for number in range(done, rounds):
        start, loss = time.monotonic(), one_round(tiny, model, tokenizer, optimizer, number=number, rounds=rounds)
        keep(out / STATE, model, optimizer, done=number + 1)
        note = {"round": number + 1, "loss": round(loss, 4), "seconds": round(time.monotonic() - start, 1)}
        with (out / STATE).with_name("log.jsonl").open("a", encoding="utf-8") as log:
            log.write(json.dumps(note) + "\n")
    model.half().save_pretrained(out)


def tokenizer_of(tiny: TinyModel, out: Path) -> PreTrainedTokenizerFast:
    """The tokenizer of a run that was stopped, or a new one."""
    if not (out / "tokenizer.json").exists():
        tiny.make_tokenizer().save_pretrained(out)
    found = AutoTokenizer.from_pretrained(out, local_files_only=True)
    assert isinstance(found, PreTrainedTokenizerFast)
    return found


def one_round(
    tiny: TinyModel, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, optimizer: torch.optim.Optimizer,
    *, number: int, rounds: int,
) -> float:  # fmt: skip
    """Learn from the stories of one round. Returns the mean loss in nats per token."""
    batches = list(
        story_batches(tokenizer, count=STORIES, seed=number + 1, longest=POSITIONS, tokens=TOKENS, masked=tiny.masked)
    )
    total = 0.0
    for i, batch in enumerate(batches):
        for group in optimizer.param_groups:
            group["lr"] = rate(number + (i + 0.5) / len(batches), rounds)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = loss_of(model, batch)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        total += loss.item()
    return total / len(batches)


def keep(file: Path, model: nn.Module, optimizer: torch.optim.Optimizer, *, done: int) -> None:
    part = file.with_suffix(".part")
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "done": done}, part)
    part.replace(file)


def restore(file: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """Continue from a state. Returns the number of finished rounds."""
    if not file.exists():
        return 0
    state = torch.load(file, weights_only=True)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return int(state["done"])
