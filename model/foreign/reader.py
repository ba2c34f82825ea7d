"""An encoder of Hugging Face's `transformers` without a decoder: it reads a text, predicts masks, or classifies."""

from typing import Literal

import torch
from torch import Tensor
from transformers import PreTrainedModel

from model.foreign.architecture import fills_gaps
from model.foreign.base import ForeignModel
from model.foreign.segments import Segments
from model.foreign.sizes import few_tokens

__all__ = ["ForeignClassifier", "ForeignReader"]


class ForeignReader(ForeignModel):
    """A model of the library that reads a text. It never changes after it is built."""

    def __init__(self, model: PreTrainedModel, *, pad_id: int = 0, segments: Segments | None = None) -> None:
        """Place the hook points and find the sizes.

        Raises:
            ConfigError: the model needs more than token ids, or its attention cannot be recorded.
        """
        super().__init__(model, run_once, ("encoder",))
        self.pad_id, self.segments = pad_id, segments

    @property
    def fills(self) -> bool:
        """Whether the model predicts masked tokens."""
        return fills_gaps(type(self.model))

    def read(self, source: Tensor) -> Tensor | None:
        """Read token ids (B, S). A model that predicts masked tokens returns logits (B, S, V), another one None."""
        found = self.model(**self.inputs(source))
        return found.logits.float() if self.fills else None

    def inputs(self, ids: Tensor) -> dict[str, Tensor]:
        """The arguments of the library's model for token ids (B, S), with segments where the model has them."""
        mask = self.mask(ids)
        if self.segments is None:
            return {"input_ids": ids, "attention_mask": mask}
        segments = torch.zeros_like(ids)
        for row, length in enumerate(lengths_of(mask)):
            segments[row, :length] = torch.tensor(self.segments.of(ids[row, :length].tolist()))
        return {"input_ids": ids, "attention_mask": mask, "token_type_ids": segments}

    def mask(self, ids: Tensor) -> Tensor:
        """(B, S), 1 where there is a token and 0 at padding. A single text has no padding, whatever its ids."""
        return ((ids != self.pad_id) | (len(ids) == 1)).long()


class ForeignClassifier(ForeignReader):
    """A reader that assigns a class to a text."""

    task: Literal["classification"] = "classification"

    def forward(self, ids: Tensor) -> Tensor:
        """Logits (B, C) for token ids (B, S); short texts are padded with `pad_id`."""
        logits: Tensor = self.model(**self.inputs(ids)).logits
        return logits.float()


def lengths_of(mask: Tensor) -> list[int]:
    """The tokens of each text up to its last one, from a mask (B, S) with padding on the right."""
    places = torch.arange(1, mask.size(1) + 1, device=mask.device)
    lengths: list[int] = (mask * places).amax(dim=1).tolist()
    return lengths


def run_once(model: PreTrainedModel) -> None:
    model(input_ids=few_tokens(model))
