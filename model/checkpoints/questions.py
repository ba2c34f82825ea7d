"""What the weights of a recognised layout cannot tell, as questions to the user."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model.checkpoints.description import unknown_settings
from model.checkpoints.found_vocabulary import likely_specials, vocabularies_in
from model.messages import N_

__all__ = ["Question", "answered", "questions_for"]

TEXTS = {
    "num_heads": N_("How many heads does an attention layer have?"),
    "norm": N_("Is the norm before each sublayer (pre) or after it (post)?"),
    "activation": N_("Which activation does the feed-forward network have?"),
    "scale_embeddings": N_("Are the token vectors multiplied by √d_model?"),
    "positional": N_("Which positions are added to the token vectors?"),
    "num_kv_heads": N_("How many different keys and values does an attention layer have?"),
    "max_length": N_("How many positions does the model know?"),
    "rotary_base": N_("What is the base of the rotary positions?"),
    "epsilon": N_("Which small number do the norms add?"),
    "source_vocabulary": N_("Which file is the vocabulary of the source?"),
    "target_vocabulary": N_("Which file is the vocabulary of the target?"),
    "vocabulary": N_("Which file is the vocabulary?"),
    "pad": N_("Which token fills up short texts?"),
    "bos": N_("Which token begins a text?"),
    "eos": N_("Which token ends a text?"),
    "source.pad": N_("Which token of the source fills up short texts?"),
    "source.bos": N_("Which token begins a text of the source? Choose none if it begins with its first word."),
    "source.eos": N_("Which token ends a text of the source?"),
}
CHOICES: Mapping[str, tuple[object, ...]] = {
    "norm": ("post", "pre"),
    "activation": ("relu", "gelu"),
    "scale_embeddings": (True, False),
    "positional": ("sinusoidal", "learned", "none"),
    "max_length": tuple(2**power for power in range(5, 18)),
    "rotary_base": (10_000.0, 500_000.0, 1_000_000.0),
    "epsilon": (1e-5, 1e-6),
}
SOURCE_BOS = ("specials", "source", "bos")
NO_TOKEN = "none"  # the answer for a source that begins with its first word


@dataclass(frozen=True, kw_only=True)
class Question:
    """A setting that the user knows."""

    path: tuple[str, ...]  # the keys in `headlight.toml`, such as ("model", "num_heads")
    text: str  # marked for translation
    choices: tuple[object, ...]

    @property
    def name(self) -> str:
        """Such as "model.num_heads"."""
        return ".".join(self.path)


def questions_for(values: Mapping[str, Any], folder: Path) -> list[Question]:
    """The questions that the values of a description leave open.

    Args:
        values: Of `recognised`.
        folder: Of the weights.
    """
    vocabularies = vocabularies_in(folder)
    asked = []
    for path in unknown_settings(values):
        setting = path[-1]
        choices = CHOICES.get(setting, ())
        if setting in ("num_heads", "num_kv_heads"):
            width = values["model"]["d_model"]
            choices = tuple(heads for heads in range(1, width + 1) if width % heads == 0)
        elif setting.endswith("vocabulary"):
            choices = tuple(vocabularies)
        elif path[0] == "specials":
            choices = tokens_for(path, values, vocabularies)
        text = TEXTS.get(".".join(path[1:]) or setting, setting)
        asked.append(Question(path=path, text=text, choices=choices))
    return asked


def tokens_for(
    path: tuple[str, ...], values: Mapping[str, Any], vocabularies: Mapping[str, Mapping[str, int]]
) -> tuple[str, ...]:
    """The tokens to choose from: of the vocabulary of one side, or of all where that file is not known."""
    side = "source_vocabulary" if "source" in path else "target_vocabulary"
    own = vocabularies.get(values.get("vocabulary", values.get(side)))
    known = vocabularies.values() if own is None else [own]
    tokens = dict.fromkeys(token for one in known for token in likely_specials(one))
    return (*tokens, NO_TOKEN) if path == SOURCE_BOS else tuple(tokens)


def answered(values: Mapping[str, Any], answers: Mapping[tuple[str, ...], object]) -> dict[str, Any]:
    """The values with the answers, by the paths of their questions."""
    if answers.get(SOURCE_BOS) == NO_TOKEN:
        answers = {**answers, SOURCE_BOS: "", ("specials", "around_source"): False}
    filled = dict(values)
    for path, answer in answers.items():
        first, *rest = path
        filled[first] = answered(filled.get(first, {}), {tuple(rest): answer}) if rest else answer
    return filled
