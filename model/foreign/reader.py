"""An encoder of Hugging Face's `transformers` without a decoder: it reads a text, predicts masks, or classifies."""

from typing import Literal

from torch import Tensor
from transformers import PreTrainedModel

from model.foreign.architecture import fills_gaps
from model.foreign.base import ForeignModel
from model.foreign.sizes import few_tokens

__all__ = ["ForeignClassifier", "ForeignReader"]


class ForeignReader(ForeignModel):
    """A model of the library that reads a text. It never changes after it is built."""

    def __init__(self, model: PreTrainedModel, *, pad_id: int = 0) -> None:
        """Place the hook points and find the sizes.

        Raises:
            ConfigError: the model needs more than token ids, or its attention cannot be recorded.
        """
        super().__init__(model, run_once, ("encoder",))
        self.pad_id = pad_id

    @property
    def fills(self) -> bool:
        """Whether the model predicts masked tokens."""
        return fills_gaps(type(self.model))

    def read(self, source: Tensor) -> Tensor | None:
        """Read token ids (B, S). A model that predicts masked tokens returns logits (B, S, V), another one None."""
        found = self.model(input_ids=source, attention_mask=self.mask(source))
        return found.logits.float() if self.fills else None

    def mask(self, ids: Tensor) -> Tensor:
        """(B, S), 1 where there is a token and 0 at padding. A single text has no padding, whatever its ids."""
        return ((ids != self.pad_id) | (len(ids) == 1)).long()


class ForeignClassifier(ForeignReader):
    """A reader that assigns a class to a text."""

    task: Literal["classification"] = "classification"

    def forward(self, ids: Tensor) -> Tensor:
        """Logits (B, C) for token ids (B, S); short texts are padded with `pad_id`."""
        logits: Tensor = self.model(input_ids=ids, attention_mask=self.mask(ids)).logits
        return logits.float()


def run_once(model: PreTrainedModel) -> None:
    model(input_ids=few_tokens(model))
