"""Measure the figures of the lessons that take too long for one run, on twenty of our own sentences.

Run `python -m docs.lesson_figures` from the root of the repository. It takes about a minute on two cores. It writes
`viz_app/course/figures.json` with the SHA-256 of the weights.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from model.checkpoints.checkpoint import Checkpoint, load_checkpoint
from model.inference.translate import translate
from model.interventions import Head, Intervention
from viz_app.content.examples import CAPTIONS, MORE
from viz_app.course.figures import FIGURES
from viz_app.course.lessons.query_key_value import mean_entropies
from viz_app.course.situation import Situation
from viz_app.services.listing import list_one

__all__ = ["SENTENCES", "changes_of_heads", "weights_hash"]

NAME = "everyday-en-de"
FOLDER = Path("checkpoints") / NAME
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


def many_heads() -> dict[str, int]:
    checkpoint = load_checkpoint(FOLDER)
    found = [changes_of_heads(checkpoint, sentence) for sentence in SENTENCES]
    layers = np.sum([changed for _, changed in found], axis=0)
    heads = checkpoint.model.config.num_heads * len(layers)
    return {
        "sentences": len(found),
        "runs": len(found) * heads,
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
