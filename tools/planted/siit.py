"""Trains models to follow a plan: `python -m tools.planted.siit [NAME …]`.

Strict interchange intervention training (SIIT, Gupta et al. 2024, "InterpBench"; interchange interventions: Geiger et
al. 2022). The program is the compiled model of the same plan. Three losses share each batch:

- behaviour: the trained model predicts what the program predicts;
- interchange: parts of the plan get their activations from another text, in both models. The trained model predicts
  what the program predicts then;
- strict: other parts get their activations from another text, or 0. The prediction stays.

So the weights look like those of any trained model, and it is known what each head does.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import torch
import torch.nn.functional as F
from torch import Tensor

from model.config.kinds import KINDS
from model.files import load_weights, save_weights
from model.inference.passes import PaddedIds, batch_logits, pad_ids
from model.text.vocab import BOS_ID, EOS_ID, SPECIAL_TOKENS
from model.trace import Edit, hook_name, tracing
from tools.planted.classifiers import BOTH
from tools.planted.compiler import AnyModel, build, empty
from tools.planted.decoders import PREVIOUS
from tools.planted.parts import Plan, Words
from tools.planted.translators import REVERSE
from tools.planted.truth import all_places

__all__ = [
    "TRAINED",
    "Losses",
    "SwappedTexts",
    "interchange_accuracy",
    "losses_of",
    "program_of",
    "train",
    "trained_model",
]

FOLDER = Path(__file__).with_name("trained")
TEXTS, BATCH, RATE = 20_000, 32, 3e-3
WIDTH = 32
ALL_PLACES, SILENT = 0.5, 0.3  # how often a part is swapped at all positions, and how often others get 0
MARGIN = 2.0  # nats between the first and the second answer: below, the program has no answer


def trained(plan: Plan, **changes: int) -> Plan:
    """The plan of a model that is trained to follow another one."""
    sentence = f"{plan.sentence} Trained with interventions."
    return replace(plan, name=f"{plan.name}-trained", sentence=sentence, trained=True, width=WIDTH, **changes)  # type: ignore[arg-type]


# The decoder gets a layer that has nothing to do.
TRAINED: Mapping[str, tuple[Plan, int]] = {
    plan.name: (plan, steps)
    for plan, steps in (
        (trained(PREVIOUS, layers=2), 1000),
        (trained(REVERSE), 1800),
        (trained(BOTH), 800),
    )
}


def program_of(plan: Plan) -> AnyModel:
    """The compiled model of a plan, without anything random."""
    return build(replace(plan, trained=False, width=64, noise=0.0))


def trained_model(plan: Plan) -> AnyModel:
    """The model with its trained weights. Raises CheckpointError if they are missing or of another plan."""
    model = empty(plan)
    load_weights(FOLDER / f"{plan.name}.safetensors", model)
    return model.eval()


@dataclass(frozen=True, kw_only=True)
class Losses:
    """The three losses of a batch, each a scalar."""

    behaviour: Tensor
    interchange: Tensor
    strict: Tensor

    @property
    def total(self) -> Tensor:
        return self.behaviour + self.interchange + self.strict


Swaps = Mapping[str, Tensor]  # hook point → which activations of a row come from another one, (B, T) or (B, H, T)


@dataclass(frozen=True, kw_only=True)
class Parts:
    """The hook points of a model's heads and feed-forward networks, and which are in the plan."""

    heads: Mapping[str, Tensor]  # hook point → (H,)
    units: Mapping[str, bool]

    @classmethod
    def of(cls, plan: Plan) -> "Parts":
        planted, heads = {head.place for head in plan.heads}, dict[str, Tensor]()
        for place in all_places(plan):
            name = hook_name(place.kind, place.layer, "head_outputs")
            heads.setdefault(name, torch.zeros(plan.num_heads, dtype=torch.bool))[place.head] = place in planted
        made = {(unit.stack, unit.layer) for unit in plan.units}
        stacks = {KINDS[place.kind].stack for place in all_places(plan)}
        units = {
            f"{stack}.layers.{layer}.feed_forward.units": (stack, layer) in made
            for stack in sorted(stacks)
            for layer in range(plan.layers_of(stack))
        }
        return cls(heads=heads, units=units)

    def swaps(self, rows: int, real: Mapping[str, Tensor], draws: torch.Generator, *, planted: bool) -> Swaps:
        """Random activations of the parts of the plan, or of all others: mostly one part in each row.

        Args:
            rows: B.
            real: Stack → where a row and its donor have tokens, (B, T).
            draws: Of the random numbers.
            planted: Of the plan.
        """
        chosen = {name: own == planted for name, own in self.heads.items()}
        chosen |= {name: torch.tensor([own == planted]) for name, own in self.units.items()}
        count = sum(int(own.sum()) for own in chosen.values())
        picked = torch.rand(rows, count, generator=draws)
        many = torch.rand(rows, 1, generator=draws) < 0.5
        picked = torch.where(many, picked < 0.5, picked == picked.max(dim=1, keepdim=True).values)
        found, used = dict[str, Tensor](), 0
        for name, own in chosen.items():
            now = real[name.partition(".")[0]]
            places = torch.rand(now.shape, generator=draws) < torch.rand(rows, 1, generator=draws)
            places |= torch.rand(rows, 1, generator=draws) < ALL_PLACES
            swapped = torch.zeros(rows, len(own), dtype=torch.bool)
            swapped[:, own] = picked[:, used : used + int(own.sum())]
            used += int(own.sum())
            found[name] = swapped[:, :, None] & (places & now)[:, None]  # (B, H, T)
        return found


def edits_of(swaps: Swaps, donors: Tensor, kept: Tensor) -> dict[str, Edit]:
    """Edits that give rows the activations of other rows of the same pass.

    Args:
        swaps: Of the first B rows.
        donors: The row of the pass that each of them gets them from, (B,).
        kept: 1, or 0 where a row gets 0 instead, (B,).
    """

    def edit(mask: Tensor) -> Edit:
        def swap(now: Tensor) -> Tensor:  # (B + N, H, T, K), or (B + N, T, F)
            heads = now if now.dim() == 4 else now[:, None]
            others = heads[donors] * kept[:, None, None, None]
            changed = torch.where(mask[..., None], others, heads[: len(mask)])
            whole = torch.cat([changed, heads[len(mask) :]])
            return whole if now.dim() == 4 else whole[:, 0]

        return swap

    return {name: edit(mask) for name, mask in swaps.items()}


def encoded(plan: Plan, texts: Sequence[Words]) -> tuple[list[list[int]], list[list[int]]]:
    """What the encoder and the decoder read; nothing where a model has none."""
    source = {one: i for i, one in enumerate([*SPECIAL_TOKENS, *plan.words])}
    target = {one: i for i, one in enumerate([*SPECIAL_TOKENS, *(plan.writes or plan.words)])}
    read = [[source[one] for one in text] for text in texts]
    if plan.task == "continuation":
        return [[] for _ in texts], [[BOS_ID, *one] for one in read]
    right = [[target[one] for one in plan.answer(text)] if plan.task == "translation" else [] for text in texts]
    return [[*one, EOS_ID] for one in read], [[BOS_ID, *one] if plan.task == "translation" else [] for one in right]


class SwappedTexts:
    """A plan, its program, and random texts. A batch swaps parts of the plan, or other parts, between texts."""

    def __init__(self, plan: Plan, *, texts: int = TEXTS, seed: int = 0) -> None:
        draws = Random(seed)
        self.plan, self.program, self.parts = plan, program_of(plan), Parts.of(plan)
        self.ids = pad_ids(self.program, *encoded(plan, [plan.draw(draws) for _ in range(texts)]))
        self.draws = torch.Generator().manual_seed(seed)

    def rows(self, count: int) -> PaddedIds:
        chosen = torch.randint(len(self.ids.source), (count,), generator=self.draws)
        fields = ("source", "read", "source_real", "read_real")
        return PaddedIds(**{name: getattr(self.ids, name)[chosen] for name in fields})

    def run(self, model: AnyModel, ids: PaddedIds, edits: Mapping[str, Edit]) -> Tensor:
        with tracing(record=(), edits=edits):
            logits = batch_logits(model, ids)
        assert logits is not None
        return logits

    def answered(self, ids: PaddedIds) -> Tensor:
        """Where there is a question, (B, T): a decoder alone needs two tokens."""
        if self.plan.task == "classification":
            return torch.ones(len(ids.source), 1, dtype=torch.bool)
        real = ids.read_real.clone()
        if self.plan.task == "continuation":
            real[:, :2] = False
        return real

    def batch(self, count: int) -> tuple[PaddedIds, dict[str, Edit], Tensor, Tensor]:
        """3 · B rows: interchanged, strict and unchanged ones, with the answers of the program and where it has one."""
        ids = self.rows(3 * count)
        donors = torch.arange(2 * count, 3 * count).repeat(2)
        real = {"encoder": ids.source_real, "decoder": ids.read_real}
        both = {stack: one[: 2 * count] & one[donors] for stack, one in real.items()}
        own = self.parts.swaps(count, {k: v[:count] for k, v in both.items()}, self.draws, planted=True)
        every = {k: v[count : 2 * count] for k, v in real.items()}  # also where the donor has padding
        other = self.parts.swaps(count, every, self.draws, planted=False)
        swaps = {name: torch.cat([own[name], other[name]]) for name in own}
        kept = torch.ones(2 * count)
        kept[count:] = (torch.rand(count, generator=self.draws) >= SILENT).float()
        edits = edits_of(swaps, donors, kept)
        with torch.no_grad():
            two = self.run(self.program, ids, edits).topk(2, dim=-1)
        sure = (two.values[..., 0] - two.values[..., 1] > MARGIN) & self.answered(ids)
        return ids, edits, two.indices[..., 0], sure


def losses_of(texts: SwappedTexts, model: AnyModel, count: int = BATCH) -> Losses:
    ids, edits, right, sure = texts.batch(count)
    logits = texts.run(model, ids, edits)
    each = F.cross_entropy(logits.transpose(1, 2), right, reduction="none") * sure  # (3 · B, T)
    interchange, strict, behaviour = (
        part.sum() / mask.sum() for part, mask in zip(each.chunk(3), sure.chunk(3), strict=True)
    )
    return Losses(behaviour=behaviour, interchange=interchange, strict=strict)


@torch.no_grad()
def interchange_accuracy(texts: SwappedTexts, model: AnyModel, count: int = 1000) -> tuple[float, float, float]:
    """How often a model answers as the program: unchanged, with parts of the plan swapped, and with others swapped."""
    ids, edits, right, sure = texts.batch(count)
    same = (texts.run(model, ids, edits).argmax(dim=-1) == right) & sure
    inter, strict, plain = (float(a.sum() / b.sum()) for a, b in zip(same.chunk(3), sure.chunk(3), strict=True))
    return plain, inter, strict


def train(plan: Plan, steps: int, *, seed: int = 0) -> AnyModel:
    """Train a model to follow the plan, on one core: five to twelve minutes for 800 to 1,800 steps."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)  # the sums of more threads differ from run to run
    texts, model = SwappedTexts(plan, seed=seed), empty(plan).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps, pct_start=0.1)
    for step in range(steps):
        losses = losses_of(texts, model)
        optimizer.zero_grad()
        losses.total.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 500 == 0:
            print(
                step,
                *(f"{float(one.detach()):.4f}" for one in (losses.behaviour, losses.interchange, losses.strict)),
                flush=True,
            )
    return model.eval()


def main() -> None:
    for name in sys.argv[1:] or TRAINED:
        plan, steps = TRAINED[name]
        model = train(plan, steps)
        save_weights(FOLDER / f"{name}.safetensors", model.state_dict())
        shares = interchange_accuracy(SwappedTexts(plan, seed=1), trained_model(plan))
        print(name, *(f"{one:.2%}" for one in shares), "behaviour, interchange, strict", flush=True)


if __name__ == "__main__":
    main()
