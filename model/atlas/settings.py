"""What decides every number of an atlas: the model, the corpus and the seed. Parts with other settings do not fit."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from model.atlas.corpus import BLOCK, Corpus
from model.atlas.measures import NUMBERS, numbers_of
from model.atlas.reading import Means, means_of
from model.atlas.texts import longest_text
from model.atlas.token_classes import CLASSES
from model.checkpoints.checkpoint import Loaded
from model.config.section import ConfigError
from model.inference.opening import read_by
from model.messages import N_, Message

__all__ = ["FORMAT", "Settings", "settings_of", "weights_sha256"]

FORMAT = 1
REPLICATES = 500
CHUNK = 1 << 22  # bytes
DIFFERENT = {  # the fields that are compared first
    "weights": N_("its weights have changed, or they are those of another checkpoint"),
    "corpus_sha256": N_("its corpus is another one, or it has changed"),
    "seed": N_("its seed is another one"),
    "replicates": N_("its number of bootstrap samples is another one"),
    "syntax": N_("its pipelines of spaCy are others"),
}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Of one atlas."""

    checkpoint: str = field(compare=False)  # its name
    weights: str  # SHA-256 of its files of weights
    task: str
    corpus: str = field(compare=False)  # the name of its file
    corpus_sha256: str
    lines: int
    texts: int
    with_second: int
    kinds: Mapping[str, tuple[int, int]]  # layers, and heads of a layer
    means: Means  # what could be measured
    longest: int  # the most tokens of a text
    seed: int
    replicates: int
    block: int = BLOCK
    syntax: tuple[str, ...] = ()  # the pipelines of spaCy, see `Syntax`
    numbers: tuple[str, ...] = NUMBERS
    classes: tuple[str, ...] = CLASSES

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Settings":
        """Raises TypeError or KeyError if the values are those of no atlas."""
        kinds = {kind: (int(sizes[0]), int(sizes[1])) for kind, sizes in values["kinds"].items()}
        lists = {name: tuple(values[name]) for name in ("numbers", "classes")}
        lists["syntax"] = tuple(values.get("syntax", ()))  # earlier atlases have none
        return cls(**{**values, **lists, "kinds": kinds, "means": Means(**values["means"])})

    def require_same(self, other: "Settings", name: str) -> None:
        """Raises ConfigError if another part of an atlas does not fit; `name` is that of the other part's folder."""
        if self == other:
            return
        reasons = (reason for what, reason in DIFFERENT.items() if getattr(self, what) != getattr(other, what))
        reason = next(reasons, N_("another version of Headlight made it"))
        raise ConfigError(
            "{name} does not fit: {reason}. Choose another folder, or delete this one.",
            name=name,
            reason=Message(reason),
        )


def settings_of(checkpoint: Loaded, corpus: Corpus, *, seed: int = 0, syntax: tuple[str, ...] = ()) -> Settings:
    """The settings of an atlas.

    Raises:
        ConfigError: the model has no attention.
    """
    config = checkpoint.model.config
    if not config.kinds:
        raise ConfigError(
            "{checkpoint} has no attention, so it has no atlas. Choose another model.", checkpoint=checkpoint.name
        )
    means = means_of(checkpoint, syntax=bool(syntax))
    return Settings(
        checkpoint=checkpoint.name,
        weights=weights_sha256(checkpoint),
        task=checkpoint.config.task,
        corpus=corpus.path.name,
        corpus_sha256=corpus.sha256,
        lines=corpus.lines,
        texts=corpus.texts,
        with_second=corpus.with_second,
        kinds={kind: (config.num_layers(kind), config.num_heads) for kind in config.kinds},
        means=means,
        longest=longest_text(checkpoint.model),
        seed=seed,
        replicates=REPLICATES,
        syntax=syntax,
        numbers=numbers_of(syntax=means.syntax),
    )


def weights_sha256(checkpoint: Loaded) -> str:
    """The SHA-256 of the files with the weights of a checkpoint, in the order of their names."""
    digest = hashlib.sha256()
    for name in sorted(read_by(checkpoint)):
        if (path := checkpoint.path / name).is_file():
            with path.open("rb") as file:
                while chunk := file.read(CHUNK):
                    digest.update(chunk)
    return digest.hexdigest()
