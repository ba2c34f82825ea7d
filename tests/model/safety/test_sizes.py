"""Models with their published sizes, compared with the shapes of their own weights."""

import pytest
import torch
from transformers import (
    CodeGenConfig,
    CodeGenForCausalLM,
    GPTNeoConfig,
    GPTNeoForCausalLM,
    IBertConfig,
    IBertForMaskedLM,
)

from model.checkpoints.checkpoint import CheckpointError
from model.safety.sizes import require_matching_weights
from model.safety.weight_files import Header

GPT_NEO_2B = {"hidden_size": 2560, "num_layers": 32, "num_heads": 20, "attention_types": [[["global", "local"], 16]]}


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        (GPTNeoForCausalLM, GPTNeoConfig()),  # 1.3B
        (GPTNeoForCausalLM, GPTNeoConfig(**GPT_NEO_2B)),
        (IBertForMaskedLM, IBertConfig()),
        (CodeGenForCausalLM, CodeGenConfig(n_embd=1024, n_layer=20, n_head=16)),
    ],
    ids=["gpt-neo-1.3B", "gpt-neo-2.7B", "ibert-base", "codegen-350M"],
)
def test_masks_and_tables_that_a_model_computes_may_be_as_large_as_its_weights(
    kind: type[torch.nn.Module], config: object
) -> None:
    with torch.device("meta"):
        model = kind(config)
    header = Header(shapes={name: tuple(weight.shape) for name, weight in model.named_parameters()})
    assert require_matching_weights(lambda: kind(config), {}, header, "published") >= header.num_weights


def test_a_table_that_is_much_larger_than_the_weights_is_refused_with_its_own_reason() -> None:
    def build() -> torch.nn.Module:
        model = torch.nn.Linear(10, 10)
        model.register_buffer("positions", torch.empty(2**20, 100))
        return model

    header = Header(shapes={"weight": (10, 10), "bias": (10,)})
    with pytest.raises(CheckpointError, match=r"104,857,600 numbers that the model computes.*max_position_embeddings"):
        require_matching_weights(build, {}, header, "endless")
