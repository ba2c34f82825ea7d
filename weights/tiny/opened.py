"""A trained tiny model as the library opens it, in single precision and with all attention weights."""

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer, PreTrainedModel
from transformers import PreTrainedTokenizerFast as Tokenizer

__all__ = ["OpenedTiny", "Pass", "open_tiny"]


@dataclass(frozen=True, kw_only=True)
class Pass:
    """What the model computed for one text."""

    ids: Tensor  # (T,)
    log_probabilities: Tensor  # (T, V): of the next token (GPT), or of the token itself (BERT)
    weights: Tensor  # (L, H, T, T), rows are queries


@dataclass(frozen=True, kw_only=True)
class OpenedTiny:
    """A model with its tokenizer."""

    model: PreTrainedModel
    tokenizer: Tokenizer

    @property
    def masked(self) -> bool:
        return self.tokenizer.mask_token is not None

    def ids(self, text: str) -> list[int]:
        """With the special tokens that the model reads around a text."""
        found: list[int] = self.tokenizer(text)["input_ids"]
        return found

    def first_id(self, word: str) -> int:
        """The first token of a word inside a text."""
        found: list[int] = self.tokenizer(word, add_special_tokens=False)["input_ids"]
        return found[0]

    @torch.inference_mode()
    def read(self, ids: list[int]) -> Pass:
        """Read one text with its special tokens."""
        out = self.model(input_ids=torch.tensor([ids]), output_attentions=True)
        return Pass(
            ids=torch.tensor(ids),
            log_probabilities=out.logits[0].float().log_softmax(dim=-1),
            weights=torch.stack([layer[0] for layer in out.attentions]),
        )


def open_tiny(folder: Path) -> OpenedTiny:
    """Open a folder that `train_tiny` wrote."""
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    assert isinstance(tokenizer, Tokenizer)
    kind = AutoModelForMaskedLM if tokenizer.mask_token else AutoModelForCausalLM
    model = kind.from_pretrained(folder, local_files_only=True, dtype=torch.float32, attn_implementation="eager")
    return OpenedTiny(model=model.eval(), tokenizer=tokenizer)
