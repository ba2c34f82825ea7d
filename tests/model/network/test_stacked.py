"""Several Transformers as one: each batch row is what its own model computes."""

import numpy as np
import pytest
import torch
from torch import Tensor

from model.config.model import ModelConfig
from model.network.stacked import ModelStack
from model.network.transformer import Transformer
from model.trace import tracing

SIZES = {"d_model": 16, "num_heads": 2, "d_ff": 24, "num_encoder_layers": 2, "num_decoder_layers": 2, "dropout": 0.1}
WORDS, LONGEST = 20, 12
VARIANTS: list[dict[str, object]] = [
    {},
    {"norm": "pre", "activation": "gelu"},
    {"positional": "learned", "tie_embeddings": "target"},
    {"attention": "additive", "tie_embeddings": "none"},
    {"positional": "relative", "num_kv_heads": 1, "score_cap": 0.5, "attention_sinks": True},
    {"positional": "alibi"},
]


def models(count: int = 3, **changes: object) -> list[Transformer]:
    sizes = ModelConfig.from_dict(
        SIZES | {"source_vocab_size": WORDS, "target_vocab_size": WORDS, "max_length": LONGEST} | changes
    )
    torch.manual_seed(3)
    made = [Transformer(sizes).eval() for _ in range(count)]
    with torch.no_grad():
        for model in made:
            for parameter in model.parameters():
                parameter.add_(0.2 * torch.randn_like(parameter))  # biases and norms too
    return made


def stack_models(made: list[Transformer]) -> Transformer:
    """One model whose batch row n is computed with the weights of model n."""
    stack = ModelStack.like(made[0], len(made))
    for row, model in enumerate(made):
        stack.put(row, model)
    return stack.model


def ids(rows: int, length: int) -> Tensor:
    return torch.randint(1, WORDS, (1, length), generator=torch.Generator().manual_seed(1)).expand(rows, -1)


@pytest.mark.parametrize("changes", VARIANTS, ids=str)
@torch.inference_mode()
def test_each_row_is_what_its_own_model_computes(changes: dict[str, object]) -> None:
    made = models(**changes)
    with tracing() as together:
        logits = stack_models(made)(ids(3, 7), ids(3, 5))
    for row, model in enumerate(made):
        with tracing() as alone:
            torch.testing.assert_close(logits[row], model(ids(1, 7), ids(1, 5))[0], atol=1e-5, rtol=0)
        assert set(together.names) == set(alone.names)
        for name in alone.names:
            np.testing.assert_allclose(together.passes(name)[0][row], alone.passes(name)[0][0], atol=1e-5)


@pytest.mark.parametrize("changes", VARIANTS, ids=str)
@torch.inference_mode()
def test_a_step_of_fewer_rows_leaves_the_others_where_they_are(changes: dict[str, object]) -> None:
    made = models(**changes)
    stack, source, target = stack_models(made), ids(3, 7), ids(3, 6)
    memory, _ = stack.encode(source)
    cache = stack.start_cache()
    stack.decode(target[:, :4], memory, None, cache=cache)
    cache.rewind(2)
    for place, rows in ((2, 1), (3, 2), (4, 3), (5, 3)):
        cache.rewind(place)
        logits = stack.decode(target[:rows, place : place + 1], memory, None, cache=cache)
        for row in range(rows):
            alone = made[row].decode(target[:1, : place + 1], made[row].encode(source[:1])[0], None)
            torch.testing.assert_close(logits[row, 0], alone[0, -1], atol=1e-5, rtol=0)


def test_stacking_changes_no_model_and_keeps_tied_matrices_once() -> None:
    made = models(tie_embeddings="all")
    weights = [parameter for model in made for parameter in model.parameters()]
    before = [parameter.clone() for parameter in weights]
    stack = stack_models(made)
    assert all(
        torch.equal(old, new) for old, new in zip(before, (p for m in made for p in m.parameters()), strict=True)
    )
    storages = {parameter.untyped_storage().data_ptr() for parameter in stack.parameters()}
    assert len(storages) == len(list(made[0].parameters()))
    with torch.no_grad():
        for parameter in stack.parameters():
            parameter.zero_()
    assert all(
        torch.equal(old, new) for old, new in zip(before, (p for m in made for p in m.parameters()), strict=True)
    )


def test_a_part_with_weights_that_has_no_stacked_form_is_refused() -> None:
    made = models()
    for model in made:
        model.encoder.norm = torch.nn.BatchNorm1d(16)
    with pytest.raises(TypeError, match=r"encoder\.norm\.weight"):
        stack_models(made)
