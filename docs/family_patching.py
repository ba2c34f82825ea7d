"""How far a patched head is from the library's own model with the same output of the head put in place."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from docs.library_run import Run
from model.analysis.patching import patch_every_head
from model.checkpoints.checkpoint import Checkpoint
from model.config.section import ConfigError
from model.foreign.base import ForeignModel
from model.inference.translate import translate
from model.inference.translation import Translation

__all__ = ["DONORS", "patching_difference"]

HEAD, LAYER = 1, 1
DONORS = (
    "The dog sat on the <mask>.",
    "My sister likes the <mask>.",
    "Where is the station?",
    "Zwei Kinder spielen im Garten.",
)


def patching_difference(run: Run) -> float:
    """The effect of one patched head of each kind against the same patch in the library's own model.

    Raises:
        ConfigError: the analysis is not offered for the model.
    """
    checkpoint = run.pair.checkpoint
    if not isinstance(checkpoint, Checkpoint):
        raise ConfigError("The model is a classifier. It writes no tokens that could be compared.")
    for donor in DONORS:
        effects = patch_every_head(checkpoint, donor, run.text)
        if effects is not None:
            break
    else:
        raise ConfigError("Not measured: this random model writes the same text for all donors.")
    theirs, own = translate(checkpoint, donor), translate(checkpoint, run.text)
    worst = 0.0
    for kind, grid in effects.heads.items():
        layer, head = min(LAYER, len(grid) - 1), min(HEAD, grid.shape[1] - 1)
        found = float(grid[layer, head])
        if np.isnan(found):  # an encoder head, for a donor with another length
            continue
        expected = library_effect(run, (theirs, own), effects.position, kind, layer, head)
        worst = max(worst, abs(found - expected) / max(1.0, abs(expected)))
    return worst


def library_effect(
    run: Run, runs: tuple[Translation, Translation], position: int, kind: str, layer: int, head: int
) -> float:
    """How far one patched head moves the library's logits towards the donor's token."""
    theirs, own = runs
    words = theirs.written[position].id, own.written[position].id

    def difference(translation: Translation) -> float:
        logits = run.pair.library(**inputs(run, translation, position)).logits[0, -1]
        return float(logits[words[0]] - logits[words[1]])

    model = run.pair.checkpoint.model
    assert isinstance(model, ForeignModel)
    (projection,) = model.hooks[kind, layer].projection
    name = next(name for name, module in model.model.named_modules() if module is projection)
    module, kept = run.pair.library.get_submodule(name), []
    with torch.inference_mode():
        with reading(module, lambda heads: kept.append(heads)):
            donor = difference(theirs)
        own_difference = difference(own)

        def patched(heads: Tensor) -> Tensor:  # (B, T, H · K)
            width = heads.size(-1) // model.config.num_heads
            changed, columns = heads.clone(), slice(head * width, (head + 1) * width)
            changed[..., columns] = kept[0][..., columns]
            return changed

        with reading(module, patched):
            after = difference(own)
    return (after - own_difference) / (donor - own_difference)


def inputs(run: Run, translation: Translation, position: int) -> dict[str, Tensor]:
    """What the library's model reads up to the position where the texts begin to differ."""
    read = torch.tensor([[token.id for token in translation.read[: position + 1]]])
    if run.pair.task == "continuation":
        return {"input_ids": read}
    return {"input_ids": torch.tensor([[token.id for token in translation.source]]), "decoder_input_ids": read}


@contextmanager
def reading(module: nn.Module, change: Callable[[Tensor], Any]) -> Iterator[None]:
    """See, or replace, what a module reads."""

    def hook(_module: nn.Module, given: tuple[Any, ...]) -> tuple[Any, ...] | None:
        changed = change(given[0])
        return None if changed is None else (changed, *given[1:])

    handle = module.register_forward_pre_hook(hook)
    try:
        yield
    finally:
        handle.remove()
