"""What the weights of a recognised layout cannot tell, as questions to the user."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model.checkpoints.description_file import unknown_settings
from model.checkpoints.found_vocabulary import likely_specials, vocabularies_in
from model.messages import N_

__all__ = ["Question", "answered", "questions_for"]

TEXTS = {
    "num_heads": N_("How many heads does an attention layer have?"),
    "norm": N_("Is the norm before each sublayer (pre) or after it (post)?"),
    "activation": N_("Which activation does the feed-forward network have?"),
    "scale_embeddings": N_("Are the token vectors multiplied by √d_model?"),
    "positional": N_("Which positions are added to the token vectors? The file has no table of them."),
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
}
CHOICES: Mapping[str, tuple[object, ...]] = {
    "norm": ("post", "pre"),
    "activation": ("relu", "gelu"),
    "scale_embeddings": (True, False),
    "positional": ("sinusoidal", "none"),
    "max_length": tuple(2**power for power in range(5, 18)),
    "rotary_base": (10_000.0, 500_000.0, 1_000_000.0),
    "epsilon": (1e-5, 1e-6),
}


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
    tokens = tuple(dict.fromkeys(token for one in vocabularies.values() for token in likely_specials(one)))
    asked = []
    for path in unknown_settings(values):
        setting = path[-1]
        choices = CHOICES.get(setting, tokens)
        if setting in ("num_heads", "num_kv_heads"):
            width = values["model"]["d_model"]
            choices = tuple(heads for heads in range(1, width + 1) if width % heads == 0)
        elif setting.endswith("vocabulary"):
            choices = tuple(vocabularies)
        asked.append(Question(path=path, text=TEXTS.get(setting, setting), choices=choices))
    return asked


def answered(values: Mapping[str, Any], answers: Mapping[tuple[str, ...], object]) -> dict[str, Any]:
    """The values with the answers, by the paths of their questions."""
    filled = dict(values)
    for path, answer in answers.items():
        first, *rest = path
        filled[first] = answered(filled.get(first, {}), {tuple(rest): answer}) if rest else answer
    return filled
