"""Opens the decoder alone that the code of a tutorial saved. `decoder_alone.py` explains `headlight.toml`."""

from dataclasses import replace
from pathlib import Path

from torch import Tensor, nn

from model.checkpoints.checkpoint import Checkpoint
from model.checkpoints.decoder_alone import decoder_in
from model.checkpoints.layouts import NormForm
from model.config.section import ConfigError
from model.files import CheckpointError
from model.foreign.decoder_fit import DecoderFit, fit_decoder
from model.foreign.decoder_network import TutorialDecoder
from model.foreign.decoder_tokenizers import decoder_tokenizers
from model.foreign.language_model import ForeignLanguageModel
from model.foreign.open import OPENING, quiet
from model.safety.sizes import require_memory
from model.safety.torch_files import read_saved_file

__all__ = ["open_decoder"]


def open_decoder(folder: Path, *, device: str = "cpu", max_bytes: int | None = None) -> Checkpoint:
    """Load a folder whose `headlight.toml` describes a decoder alone.

    Args:
        folder: Contains `headlight.toml`, the weights and the vocabulary.
        device: Where the model runs.
        max_bytes: The largest memory that the model may take; no limit by default.

    Raises:
        CheckpointError: a file is missing, damaged, or does not fit the others. The message names tensors that are
            missing, not used or of another shape.
    """
    described = decoder_in(folder)
    fitted = fit_decoder(described, read_saved_file(described.weights))
    require_memory(fitted.numbers, folder.name, max_bytes)
    try:
        pair = decoder_tokenizers(described)
        with OPENING, quiet():
            model = TutorialLanguageModel(loaded(fitted, described.norm), fitted.sizes.positional)
    except ConfigError as error:
        raise CheckpointError("{folder} cannot be opened: {problem}", folder=folder.name, problem=error) from error
    config = replace(described.config, model=model.config, notes=fitted.notes)
    return Checkpoint(path=folder, config=config, model=model.to(device).eval(), tokenizers=pair)


class TutorialLanguageModel(ForeignLanguageModel):
    """A language model whose positions are known."""

    model: TutorialDecoder

    def __init__(self, model: TutorialDecoder, positional: str) -> None:
        super().__init__(model)
        self.config = replace(self.config, positional=positional)

    def position_table(self) -> Tensor | None:
        positions = self.model.decoder.embedding.position_embeddings
        return None if positions is None else positions.state_dict()["weight"].float()


def loaded(fitted: DecoderFit, norm: NormForm) -> TutorialDecoder:
    """The model with the weights of the file."""
    model = TutorialDecoder(fitted.sizes, norm)
    for name in [name for name, _ in model.named_parameters() if name not in fitted.tensors]:
        module: nn.Module = model.get_submodule(name.removesuffix(".bias"))
        module.register_parameter("bias", None)
    model.load_state_dict(fitted.tensors)
    return model
