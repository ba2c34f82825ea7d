"""How far a patched head is from the library's own model with the same output of the head put in place."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import chain, islice, permutations
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask

from model.analysis.availability import require_attention_steps
from model.analysis.patching import Comparison, Contrast, Ids, contrast
from model.foreign.models import ForeignModel
from model.inference.run import Result
from model.inference.run import Run as ModelRun
from model.inference.translate import compute
from model.interventions import Head
from tools.library_run import Run

__all__ = ["DONORS", "patching_difference"]

HEAD, LAYER = 1, 1
MOST_DONORS, PLACE = 12, 2
DONORS = (
    "The dog sat on the <mask>.",
    "My sister likes the <mask>.",
    "Where is the station?",
    "Zwei Kinder spielen im Garten.",
)
WORDS = ("The", "dog", "snow", "likes", "mat", "brother", "it", "because", "Hund", "station")
NAME = "headlight-patched-eager"
Change = Callable[[Tensor], Tensor]  # from head outputs (B, T, H, K) to those that the library continues with
CHANGES: ContextVar[tuple[nn.Module, Change] | None] = ContextVar("changed_heads", default=None)


@torch.inference_mode()
def patching_difference(run: Run) -> float:
    """The effect of one patched head of each kind against the same patch in the library's own model.

    Raises:
        ConfigError: the analysis is not offered for the model.
    """
    model, found = run.pair.checkpoint.model, contrast_in(run)
    comparison, worst = Comparison(model, found), 0.0
    for kind in model.config.kinds:
        if kind == "encoder" and not found.same_length:
            continue
        layer, head = min(LAYER, model.config.num_layers(kind) - 1), min(HEAD, model.config.num_heads - 1)
        (effect,) = comparison.effects([(Head(kind, layer, head), None)])
        expected = library_effect(run, found, kind, layer, head)
        # The effect is a share of this distance. Where it is small, rounding errors of logits would look large.
        distance = min(1.0, abs(comparison.donor_difference - comparison.own_difference))
        worst = max(worst, distance * abs(effect - expected) / max(1.0, abs(expected)))
    return worst


def contrast_in(run: Run) -> Contrast:
    """A donor with which this random model does something else, and what differs.

    Some random models do the same for all donors. Then the two most probable outcomes of the text are compared.

    Raises:
        ConfigError: the model is read-only, or it predicts nothing.
    """
    require_attention_steps(run.pair.checkpoint.model)
    checkpoint, own = run.pair.checkpoint, compute(run.pair.checkpoint, ModelRun(text=run.text))
    aligned = []
    for donor in islice(donors(run), MOST_DONORS):
        theirs = compute(checkpoint, ModelRun(text=donor))
        if found := contrast(checkpoint, theirs, own):
            return found
        aligned.append(theirs)
    return contrast_of_candidates(run, aligned[-1], own)


def contrast_of_candidates(run: Run, theirs: Result, ours: Result) -> Contrast:
    """The two most probable outcomes: labels, guesses for the mask, or words of the text that the model writes."""
    source, other = ([token.id for token in one.source] for one in (ours, theirs))
    outcome = ours.outcomes[min(max(PLACE, ours.prompt_length), len(ours.written) - 1) if ours.written else 0]
    position = outcome.position or 0
    best, second = sorted(outcome.logits, key=lambda i: -outcome.logits[i])[:2]
    reads = [[token.id for token in one.read[: position + 1]] for one in (ours, theirs if ours.prompt_length else ours)]
    sizes = {"encoder": len(source), "decoder": position + 1, "cross": position + 1}
    return Contrast(
        position=position,
        own=(source, reads[0]),
        donor=(other, reads[1]),
        outcomes=(second, best),
        names=("", ""),
        num_positions={kind: sizes[kind] for kind in run.pair.checkpoint.model.config.kinds},
        same_length=len(other) == len(source),
    )


def donors(run: Run) -> Iterator[str]:
    """Texts for a donor. Models without an encoder and a decoder need as many tokens as the text of the run has."""
    encode = run.pair.checkpoint.tokenizers.source.encode
    before, mask, after = run.text.partition("<mask>")
    places = len(before.split())
    own = (" ".join(words) + " " + mask + after for words in permutations(WORDS, places))
    every = chain(DONORS, own)
    if run.pair.task == "translation":
        return every
    length = len(encode(run.text).ids)
    return (donor for donor in every if len(encode(donor).ids) == length)


def library_effect(run: Run, found: Contrast, kind: str, layer: int, head: int) -> float:
    """How far one patched head moves the library's logits towards the donor's outcome."""
    model = run.pair.checkpoint.model
    assert isinstance(model, ForeignModel)
    hooks = model.hooks[kind, layer]
    name = next(name for name, module in model.model.named_modules() if getattr(module, "hooks", None) is hooks)
    module, kept = run.pair.library.get_submodule(name), []

    def keep(heads: Tensor) -> Tensor:
        kept.append(heads.clone())
        return heads

    def patched(heads: Tensor) -> Tensor:
        changed = heads.clone()
        changed[:, :, head] = kept[0][:, :, head]
        return changed

    own = logit_difference(run, found, found.own)
    with changing(run, module, keep):
        donor = logit_difference(run, found, found.donor)
    with changing(run, module, patched):
        after = logit_difference(run, found, found.own)
    return (after - own) / (donor - own)


def logit_difference(run: Run, found: Contrast, ids: Ids) -> float:
    """The logit of the donor's outcome minus that of the own outcome, in the library's model."""
    source, read = (torch.tensor([part]) for part in ids)
    given: dict[str, Tensor] = {"input_ids": read if run.pair.task == "continuation" else source}
    given |= {"decoder_input_ids": read} if run.pair.task == "translation" else {}
    logits = run.pair.library(**given).logits[0]
    row = {"classification": logits, "reading": logits[found.position] if logits.dim() > 1 else logits}
    chosen = row.get(run.pair.task, logits[-1])
    return float(chosen[found.outcomes[0]] - chosen[found.outcomes[1]])


def changed_eager(module: nn.Module, *given: Any, **settings: Any) -> tuple[Tensor, Tensor | None]:
    """The library's own `eager` attention of a module, with changed head outputs."""
    heads, weights = sys.modules[type(module).__module__].eager_attention_forward(module, *given, **settings)
    changes = CHANGES.get()
    return changes[1](heads) if changes and changes[0] is module else heads, weights


@contextmanager
def changing(run: Run, module: nn.Module, change: Change) -> Iterator[None]:
    """See, or replace, the head outputs of one attention module of the library's model."""
    run.pair.library.set_attn_implementation(NAME)
    token = CHANGES.set((module, change))
    try:
        yield
    finally:
        CHANGES.reset(token)
        run.pair.library.set_attn_implementation("eager")


AttentionInterface.register(NAME, changed_eager)
AttentionMaskInterface.register(NAME, eager_mask)
