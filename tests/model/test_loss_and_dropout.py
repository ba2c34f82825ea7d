import pytest
import torch
import torch.nn.functional as F

from model.dropout import dropout
from model.loss import smoothed_cross_entropy


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_loss_and_gradient_equal_torch_cross_entropy(smoothing: float) -> None:
    ours = torch.randn(20, 30, dtype=torch.float32, requires_grad=True)
    theirs = ours.detach().clone().requires_grad_()
    targets = torch.randint(0, 30, (20,))
    loss = smoothed_cross_entropy(ours, targets, smoothing)
    expected = F.cross_entropy(theirs, targets, label_smoothing=smoothing, reduction="sum")
    (3 * loss).backward()
    (3 * expected).backward()
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(ours.grad, theirs.grad)


def test_dropout_zeroes_its_share_and_keeps_the_expectation() -> None:
    torch.manual_seed(0)
    x = torch.ones(1000, 999)
    y = dropout(x, 0.25, True)
    assert (y == 0).float().mean().item() == pytest.approx(0.25, abs=2e-3)
    assert y.mean().item() == pytest.approx(1.0, abs=3e-3)
    assert y.unique().tolist() == pytest.approx([0.0, 4 / 3])
    # Neighbours come from one random number; they must be independent all the same.
    pairs = y.flatten()[:-1].reshape(-1, 2) if y.numel() % 2 else y.flatten().reshape(-1, 2)
    assert ((pairs == 0).all(dim=1)).float().mean().item() == pytest.approx(0.0625, abs=2e-3)


def test_dropout_follows_the_seed_and_rests_outside_training() -> None:
    x = torch.randn(13, 7)
    torch.manual_seed(3)
    first = dropout(x, 0.5, True)
    torch.manual_seed(3)
    assert torch.equal(dropout(x, 0.5, True), first)
    assert dropout(x, 0.5, False) is x


def test_dropout_lets_the_gradient_through_where_it_kept() -> None:
    x = torch.randn(64, 8, requires_grad=True)
    y = dropout(x, 0.5, True)
    y.sum().backward()
    assert torch.equal(x.grad != 0, y != 0)
