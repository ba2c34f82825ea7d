"""The figures of lesson 7 that take too long for a visitor's own run: `python -m docs.attention_figures`.

The file names the state of the weights. A test compares it with the bundled checkpoint, computes a part of the figures
again, and looks for each figure in the texts of the lesson.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from docs.lesson_figures import weights_hash
from model.analysis.alignment import Pointer, link_words
from model.analysis.statistics import rank_agreement
from model.config.paths import checkpoint_folders
from model.corpora.aligned import error_rate
from viz_app.content.examples import CAPTIONS, EVERYDAY, MORE
from viz_app.course.lessons.what_attention_explains import KINDS_IN_ORDER, head_effects, head_gradients, largest_weights
from viz_app.services.analyses import aligned_pairs
from viz_app.services.listing import CheckpointKey, list_one
from viz_app.services.loading import translator

FIGURES = Path(__file__).with_name("attention_figures.json")
NAME = "everyday-en-de"
SENTENCES = tuple(dict.fromkeys((*EVERYDAY["en"], *CAPTIONS["en"], *MORE["en"])))

FloatArray = NDArray[np.float32]


def key_of(name: str) -> CheckpointKey:
    """The key of a bundled checkpoint."""
    return list_one(next(folder / name for folder in checkpoint_folders() if (folder / name).is_dir())).key


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
    pairs = aligned_pairs(key)
    links = [link_words(translator(key), pair) for pair in pairs]
    heads = [pointer for pointer in links[0] if pointer.name == "head"]

    def rate(pointer: Pointer) -> float:
        return error_rate([each[pointer] for each in links], pairs)

    best = min(heads, key=rate)
    return {"layer": best.layer + 1, "head": best.head + 1, "when": best.when, "error rate": round(rate(best), 4)}


def main() -> None:
    key = key_of(NAME)
    figures = {
        "checkpoint": NAME,
        "sha256": weights_hash(Path(key.path)),
        "sentences": len(SENTENCES),
        "rank correlation with the effect of silencing": head_figures(key, SENTENCES),
        "best pointer": best_pointer(key),
    }
    FIGURES.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
