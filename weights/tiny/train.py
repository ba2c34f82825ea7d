"""Trains a tiny model on new stories. A run that was stopped continues after its last round."""

import json
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import AutoTokenizer, PreTrainedModel, PreTrainedTokenizerFast

from weights.tiny.batches import IGNORED, Batch, story_batches
from weights.tiny.models import POSITIONS, TINY, TinyModel, make_model

__all__ = ["loss_of", "train_tiny"]

STORIES = 2_000  # per round; each round draws new ones
TOKENS = 1_024  # per batch; small batches learn more from the same stories
WARMUP, COOLDOWN = 1.0, 0.3  # rounds in which the learning rate rises; share of the run in which it falls
CLIP = 1.0
STATE = "training/state.pt"


def loss_of(model: PreTrainedModel, batch: Batch) -> Tensor:
    """Nats per predicted token. Logits are computed only where there is one."""
    places = batch.wanted != IGNORED
    states: Tensor = model.base_model(input_ids=batch.ids, attention_mask=batch.real).last_hidden_state  # (B, T, D)
    head: Any = model.cls if hasattr(model, "cls") else model.lm_head
    return F.cross_entropy(head(states[places]).float(), batch.wanted[places])


def rate(rounds_done: float, rounds: int, highest: float) -> float:
    """The learning rate: it rises, stays, and falls to 0 (Hägele et al. 2024, arXiv 2405.18392).

    A run can be made longer until its rate begins to fall.
    """
    return highest * min(1.0, rounds_done / WARMUP, (rounds - rounds_done) / (COOLDOWN * rounds))


def optimizer_of(model: nn.Module, learning_rate: float) -> torch.optim.Optimizer:
    """AdamW. Only matrices decay."""
    parameters = list(model.parameters())
    groups: list[dict[str, Any]] = [
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": 0.05},
        {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=learning_rate, betas=(0.9, 0.98))


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
    optimizer = optimizer_of(model, tiny.learning_rate)
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
            group["lr"] = rate(number + (i + 0.5) / len(batches), rounds, tiny.learning_rate)
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
