"""Measure the figures of the lessons that take too long for one run, on sentences of our own.

`python -m tools.lesson_figures` takes some minutes on two cores. It writes `viz_app/course/figures.json`, which the
lessons read, and `attention_figures.json`: those of lesson 7, which stand in its texts. Both name the SHA-256 of the
weights. Tests compare it with the bundled checkpoint, and compute a part of the figures again.
"""

import hashlib
import itertools
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from model.analysis.alignment import Pointer, aligned_pairs, link_words
from model.analysis.followed import follow
from model.analysis.importance import all_heads
from model.analysis.silencing import Measured, silence_rows
from model.analysis.statistics import rank_agreement
from model.checkpoints.checkpoint import Checkpoint, load_checkpoint
from model.config.paths import checkpoint_folders
from model.corpora.aligned import error_rate
from model.inference.run import Run
from model.inference.translate import translate
from model.interventions import Head, Intervention
from model.trace import tracing
from viz_app.content.examples import CAPTIONS, EVERYDAY, MORE
from viz_app.course.catalogue import FIGURES, lesson_named
from viz_app.course.quantities import KINDS_IN_ORDER, entropies, head_effects, head_gradients, largest_weights
from viz_app.course.situation import Situation
from viz_app.services.analyses import analysis_of
from viz_app.services.listing import CheckpointKey, list_one
from viz_app.services.models import translator

__all__ = [
    *("ATTENTION_FIGURES", "ATTENTION_SENTENCES", "NAME", "SENTENCES", "best_pointer", "changes_of_heads"),
    *("head_figures", "key_of", "weights_hash"),
]

ATTENTION_FIGURES = Path(__file__).with_name("attention_figures.json")
NAME = "everyday-en-de"
ROWS = 128  # of a batch
SENTENCES = (*CAPTIONS["en"], *MORE["en"])
ATTENTION_SENTENCES = tuple(dict.fromkeys((*EVERYDAY["en"], *SENTENCES)))  # of lesson 7

FloatArray = NDArray[np.float32]


def key_of(name: str) -> CheckpointKey:
    """The key of a bundled checkpoint."""
    return list_one(next(folder / name for folder in checkpoint_folders() if (folder / name).is_dir())).key


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
    measured = Measured(follow(checkpoint, Run(text=sentence)))
    pairs = list(itertools.combinations(all_heads(checkpoint.model), 2))
    found = []
    for start in range(0, len(pairs), ROWS):
        part = pairs[start : start + ROWS]
        with torch.inference_mode(), tracing(record=(), edits=silence_rows(part)):
            positions = measured.measure(len(part), encode=True)[1].tolist()
        found += [pair for pair, position in zip(part, positions, strict=True) if position >= 0]
    return {pair: text_without(checkpoint, sentence, pair) for pair in found}


def many_heads(key: CheckpointKey) -> dict[str, int]:
    checkpoint = load_checkpoint(Path(key.path))
    found = [changes_of_heads(checkpoint, sentence) for sentence in SENTENCES]
    layers = np.sum([changed for _, changed in found], axis=0)
    heads = checkpoint.model.config.num_heads * len(layers)
    all_pairs = math.comb(len(all_heads(checkpoint.model)), 2)
    puzzle = next(step for step in lesson_named("many-heads").steps if step.name == "puzzle-two-heads")
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


def query_key_value(key: CheckpointKey) -> dict[str, int | float]:
    means = np.mean([entropies(Situation(key=key, text=sentence)) for sentence in SENTENCES], axis=0)
    return {
        "sentences": len(SENTENCES),
        "divided_all": round(float(means[0]), 4),
        "undivided_all": round(float(means[1]), 4),
    }


def head_figures(key: CheckpointKey, sentences: Sequence[str]) -> Mapping[str, Sequence[float]]:
    """How well three measures of a head put the heads in the order of the effects of silencing them.

    Returns:
        Measure → Spearman's rank correlation, and the ends of its 95 % bootstrap interval. "largest weight" and
        "gradient" order all heads. The others order the heads of one kind by the largest weight.
    """
    measures = head_effects, largest_weights, head_gradients
    effects, weights, gradients = (np.stack([measure(key, text) for text in sentences]) for measure in measures)
    found = {"largest weight": rank_agreement(weights, effects), "gradient": rank_agreement(gradients, effects)}
    heads = effects.shape[1] // len(KINDS_IN_ORDER)
    for number, kind in enumerate(KINDS_IN_ORDER):
        some = slice(number * heads, (number + 1) * heads)
        found[f"largest weight, {kind}"] = rank_agreement(weights[:, some], effects[:, some])
    return {name: [round(one, 3) for one in figures] for name, figures in found.items()}


def best_pointer(key: CheckpointKey) -> Mapping[str, str | float]:
    """The head of the cross-attention with the smallest alignment error rate; layer and head count from 1."""
    pairs = analysis_of(aligned_pairs, key)
    links = [link_words(translator(key), pair) for pair in pairs]
    heads = [pointer for pointer in links[0] if pointer.name == "head"]

    def rate(pointer: Pointer) -> float:
        return error_rate([each[pointer] for each in links], pairs)

    best = min(heads, key=rate)
    return {"layer": best.layer + 1, "head": best.head + 1, "when": best.when, "error rate": round(rate(best), 4)}


def main() -> None:
    key = key_of(NAME)
    sha256 = weights_hash(Path(key.path))
    found = {
        "weights": {NAME: sha256},
        "figures": {"query-key-value": query_key_value(key), "many-heads": many_heads(key)},
    }
    FIGURES.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    attention = {
        "checkpoint": NAME,
        "sha256": sha256,
        "sentences": len(ATTENTION_SENTENCES),
        "rank correlation with the effect of silencing": head_figures(key, ATTENTION_SENTENCES),
        "best pointer": best_pointer(key),
    }
    ATTENTION_FIGURES.write_text(json.dumps(attention, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
