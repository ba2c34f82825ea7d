"""An encoder of Hugging Face's `transformers` that stands alone: it reads a text, fills in words, or classifies."""

from torch import Tensor
from transformers import PreTrainedModel

from model.config.section import ConfigError
from model.foreign.base import ForeignModel
from model.foreign.sizes import few_tokens

__all__ = ["ForeignClassifier", "ForeignReader"]


class ForeignReader(ForeignModel):
    """A model of the library that reads; never changed once it stands."""

    task = "reading"

    def __init__(self, model: PreTrainedModel, *, pad_id: int = 0) -> None:
        """Place the hook points and find out the sizes.

        Raises:
            ConfigError: the model needs more than token ids, or its attention cannot be seen.
        """
        if model.config.is_encoder_decoder:
            raise ConfigError(f"{model.config.model_type} has a decoder, so it is no encoder that stands alone.")
        super().__init__(model, run_once, ("encoder",))
        self.pad_id = pad_id

    @property
    def fills(self) -> bool:
        """Whether the model says what a masked token may be."""
        return self.model.get_output_embeddings() is not None

    def read(self, source: Tensor) -> Tensor | None:
        """Read token ids (B, S): logits (B, S, V) of what stands there, of a model that fills what is masked."""
        found = self.model(input_ids=source, attention_mask=self.mask(source))
        return found.logits.float() if self.fills else None

    def mask(self, ids: Tensor) -> Tensor:
        """(B, S), 1 where there is a token; what stands alone is not filled up, whatever its tokens are."""
        return ((ids != self.pad_id) | (len(ids) == 1)).long()


class ForeignClassifier(ForeignReader):
    """One that says of what class a text is."""

    def forward(self, ids: Tensor, _target: Tensor | None = None) -> Tensor:
        """Logits (B, C) for texts of token ids (B, S), short ones filled with `pad_id`."""
        logits: Tensor = self.model(input_ids=ids, attention_mask=self.mask(ids)).logits
        return logits.float()


def run_once(model: PreTrainedModel) -> None:
    model(input_ids=few_tokens(model))
