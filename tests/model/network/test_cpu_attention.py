import pytest
import torch
import torch.nn.functional as F

from model.network.cpu_attention import attend_on_cpu
from model.network.masks import causal_mask


def tensors(*, dtype: torch.dtype) -> list[torch.Tensor]:
    torch.manual_seed(0)
    shapes = [(2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 4)]
    return [torch.randn(shape).to(dtype).requires_grad_() for shape in shapes]


MASKS = {
    "none": None,
    "padding": torch.tensor([[1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0, 0]], dtype=torch.bool)[:, None, None],
    "causal": causal_mask(7)[:, :, :5],
}


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_output_and_gradients_equal_torchs_own_attention(mask: torch.Tensor | None) -> None:
    ours, theirs = tensors(dtype=torch.float32), tensors(dtype=torch.float32)
    found = attend_on_cpu(*ours, mask, 0.0)
    expected = F.scaled_dot_product_attention(*theirs, attn_mask=mask)
    torch.testing.assert_close(found, expected)
    direction = torch.randn_like(found)
    for mine, reference in zip(
        torch.autograd.grad(found, ours, direction), torch.autograd.grad(expected, theirs, direction), strict=True
    ):
        torch.testing.assert_close(mine, reference, rtol=1e-4, atol=1e-5)


def test_dropped_weights_pass_no_gradient_and_keep_the_expectation() -> None:
    queries, keys, _ = tensors(dtype=torch.float32)
    values = torch.eye(7).expand(2, 3, 7, 7)  # the output is then the dropped weights themselves
    weights = F.scaled_dot_product_attention(queries, keys, values)
    torch.manual_seed(1)
    samples = torch.stack([attend_on_cpu(queries, keys, values, None, 0.3) for _ in range(2000)])
    dropped = samples == 0
    assert dropped.float().mean().item() == pytest.approx(77 / 256, abs=0.01)
    torch.testing.assert_close(samples.mean(0), weights, rtol=0.15, atol=0.02)


def test_the_gradient_under_dropout_is_that_of_the_weights_that_were_used() -> None:
    ours = tensors(dtype=torch.float32)
    torch.manual_seed(3)
    found = attend_on_cpu(*ours, MASKS["padding"], 0.5)
    eye = torch.eye(7).expand(2, 3, 7, 7)
    torch.manual_seed(3)
    kept = (attend_on_cpu(ours[0].detach(), ours[1].detach(), eye, MASKS["padding"], 0.5) != 0).float() * 2
    theirs = tensors(dtype=torch.float32)
    scores = (theirs[0] @ theirs[1].mT / 2).masked_fill(~MASKS["padding"], float("-inf"))
    expected = (scores.softmax(-1) * kept) @ theirs[2]
    torch.testing.assert_close(found, expected)
    direction = torch.randn_like(found)
    for mine, reference in zip(
        torch.autograd.grad(found, ours, direction), torch.autograd.grad(expected, theirs, direction), strict=True
    ):
        torch.testing.assert_close(mine, reference, rtol=1e-4, atol=1e-5)


def test_bfloat16_differs_only_by_rounding() -> None:
    exact = attend_on_cpu(*tensors(dtype=torch.float32), MASKS["causal"], 0.0)
    short = attend_on_cpu(*tensors(dtype=torch.bfloat16), MASKS["causal"], 0.0)
    assert short.dtype == torch.bfloat16
    torch.testing.assert_close(short.float(), exact, rtol=0.05, atol=0.05)
