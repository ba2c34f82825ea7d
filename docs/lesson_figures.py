"""Measure the figures of the lessons that take too long for one run, on twenty of our own sentences.

Run `python -m docs.lesson_figures` from the root of the repository. It takes about a minute on two cores. It writes
`viz_app/course/figures.json` with the SHA-256 of the weights.
"""

import hashlib
import itertools
import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from model.analysis.importance import all_heads
from model.analysis.silencing import WrittenText, silence_cells
from model.checkpoints.checkpoint import Checkpoint, load_checkpoint
from model.inference.translate import translate
from model.interventions import Head, Intervention
from model.network.protocols import Writes
from model.trace import Edit, hook_name, tracing
from viz_app.content.examples import CAPTIONS, MORE
from viz_app.course.figures import FIGURES
from viz_app.course.lessons.many_heads import LESSON
from viz_app.course.lessons.query_key_value import mean_entropies
from viz_app.course.situation import Situation
from viz_app.services.listing import list_one

__all__ = ["SENTENCES", "changes_of_heads", "weights_hash"]

NAME = "everyday-en-de"
FOLDER = Path("checkpoints") / NAME
ROWS = 128  # of a batch
SENTENCES = (*CAPTIONS["en"], *MORE["en"])


def weights_hash(folder: Path) -> str:
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()


def text_without(checkpoint: Checkpoint, sentence: str, heads: Sequence[Head]) -> str:
    return translate(checkpoint, sentence, edits=Intervention(ablated=frozenset(heads)).edits()).text


def changes_of_heads(checkpoint: Checkpoint, sentence: str) -> tuple[int, list[bool]]:
    """How many heads of the cross-attention change the translation alone, and whether each layer does."""
    config = checkpoint.model.config
    usual = text_without(checkpoint, sentence, ())
    layers = [
        [Head("cross", layer, head) for head in range(config.num_heads)] for layer in range(config.num_layers("cross"))
    ]
    alone = sum(text_without(checkpoint, sentence, [head]) != usual for heads in layers for head in heads)
    return alone, [text_without(checkpoint, sentence, heads) != usual for heads in layers]


def pairs_that_change(checkpoint: Checkpoint, sentence: str) -> dict[tuple[Head, Head], str]:
    """All pairs of heads that change a translation when both are silenced, with the new translation."""
    assert isinstance(checkpoint.model, Writes)
    outcome = WrittenText(checkpoint.model, checkpoint.tokenizers.specials, translate(checkpoint, sentence))
    pairs = list(itertools.combinations(all_heads(checkpoint.model), 2))
    found = []
    for start in range(0, len(pairs), ROWS):
        part = pairs[start : start + ROWS]
        with torch.inference_mode(), tracing(record=(), edits=silence_rows(part)):
            positions = outcome.measure(len(part), "encoder")[1].tolist()
        found += [pair for pair, position in zip(part, positions, strict=True) if position >= 0]
    return {pair: text_without(checkpoint, sentence, pair) for pair in found}


def silence_rows(groups: Sequence[Sequence[Head]]) -> dict[str, Edit]:
    """Edits for a batch with one row per group: row i runs without the heads of group i."""
    cells: dict[str, list[tuple[int, int]]] = {}
    for row, heads in enumerate(groups):
        for head in heads:
            cells.setdefault(hook_name(head.kind, head.layer, "weights"), []).append((row, head.head))
    return {name: silence_cells(places) for name, places in cells.items()}


def many_heads() -> dict[str, int]:
    checkpoint = load_checkpoint(FOLDER)
    found = [changes_of_heads(checkpoint, sentence) for sentence in SENTENCES]
    layers = np.sum([changed for _, changed in found], axis=0)
    heads = checkpoint.model.config.num_heads * len(layers)
    all_pairs = math.comb(len(all_heads(checkpoint.model)), 2)
    puzzle = next(step for step in LESSON.steps if step.name == "puzzle-two-heads")
    changed = pairs_that_change(checkpoint, puzzle.choices["text"]).values()
    solving = [text for text in changed if puzzle.parameters["word"] not in text]
    return {
        "sentences": len(found),
        "runs": len(found) * heads,
        "pairs": all_pairs,
        "solving": len(solving),
        "changed_runs": sum(alone for alone, _ in found),
        **{f"changed_layer_{number}": int(count) for number, count in enumerate(layers, start=1)},
    }


def query_key_value() -> dict[str, int | float]:
    key = list_one(FOLDER.resolve()).key
    means = np.mean([mean_entropies(Situation(key=key, text=sentence)) for sentence in SENTENCES], axis=0)
    return {
        "sentences": len(SENTENCES),
        "divided_all": round(float(means[0]), 4),
        "undivided_all": round(float(means[1]), 4),
    }


def main() -> None:
    found = {
        "weights": {NAME: weights_hash(FOLDER)},
        "figures": {"query-key-value": query_key_value(), "many-heads": many_heads()},
    }
    FIGURES.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
