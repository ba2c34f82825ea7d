"""Opens weights that a tutorial's code saved as our own Transformer. `description.py` explains `headlight.toml`."""

from pathlib import Path
from typing import Literal

from model.checkpoints.checkpoint import Checkpoint, ready
from model.checkpoints.description import Description, Side, described_in
from model.checkpoints.fit import Fit, fit
from model.checkpoints.tutorial_model import TutorialTransformer
from model.config.foreign import ForeignConfig, ForeignTexts
from model.messages import Message
from model.safety.sizes import require_memory
from model.safety.torch_files import read_saved_file
from model.text.encoding import Tokenizer
from model.text.tokenizers import TokenizerPair
from model.text.vocabulary_list import ListedTokenizer

__all__ = ["open_state_dict", "read_description"]


def read_description(folder: Path) -> ForeignConfig:
    """Read the description of a folder. Of its weights, only the names, the shapes and the positions are used.

    Raises:
        CheckpointError: `headlight.toml` or a vocabulary is missing or wrong, or the weights do not fit it.
    """
    described = described_in(folder)
    if not described.weights.exists():
        return config_of(described)
    return config_of(described, fit(described, read_saved_file(described.weights), folder.name))


def config_of(described: Description, fitted: Fit | None = None) -> ForeignConfig:
    return ForeignConfig(
        family=Message("state dict, {layout} layout", layout=described.names.layout),
        task="translation",
        model=described.model if fitted is None else fitted.config,
        tokenizer=ForeignTexts(kind=kind_of_tokens(described)),
        values=described.values,
        notes=() if fitted is None else fitted.notes,
    )


def kind_of_tokens(described: Description) -> Literal["subwords", "words", "characters"]:
    return described.tokens if described.source.tokenizer is None else "subwords"


def open_state_dict(folder: Path, *, device: str = "cpu", max_bytes: int | None = None) -> Checkpoint:
    """Load a folder with `headlight.toml` for use.

    Args:
        folder: Contains `headlight.toml` and the files that it names.
        device: Where the model runs.
        max_bytes: The largest memory that the model may take; no limit by default.

    Raises:
        CheckpointError: a file is missing, damaged, or does not fit the others. The message names tensors that are
            missing, not used or of another shape.
    """
    described = described_in(folder)
    fitted = fit(described, read_saved_file(described.weights), folder.name)
    require_memory(fitted.numbers, folder.name, max_bytes)
    model = TutorialTransformer(fitted.config, described.differences)
    model.take(fitted.weights, fitted.absent, fitted.positions)
    pair = TokenizerPair(
        source=tokenizer_of(described, described.source),
        target=tokenizer_of(described, described.target),
        specials=described.specials,
    )
    return Checkpoint(path=folder, config=config_of(described, fitted), model=ready(model, device), tokenizers=pair)


def tokenizer_of(described: Description, side: Side) -> Tokenizer:
    if side.tokenizer is not None:
        return side.tokenizer.with_marks(side.marks.special)
    return ListedTokenizer(side.vocabulary, kind=described.tokens, unknown=side.marks.unknown, marks=side.marks.special)
