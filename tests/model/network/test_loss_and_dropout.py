import pytest
import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from model.network import loss as loss_module
from model.network.dropout import Dropout
from model.network.loss import chunks, projected_cross_entropy


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_loss_and_gradients_equal_torch_cross_entropy(smoothing: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loss_module, "BYTES_ON_CPU", 0)  # so that the fewest rows are projected at a time
    states, weight = torch.randn(300, 6), torch.randn(30, 6)
    targets = torch.randint(0, 30, (300,))
    ours, theirs = ([t.clone().requires_grad_() for t in (states, weight)] for _ in range(2))
    loss = projected_cross_entropy(*ours, targets, smoothing)
    expected = F.cross_entropy(F.linear(*theirs), targets, label_smoothing=smoothing, reduction="sum")
    (3 * loss).backward()
    (3 * expected).backward()
    torch.testing.assert_close(loss, expected)
    for mine, reference in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine.grad, reference.grad, rtol=1e-4, atol=1e-4)


def test_the_loss_in_bfloat16_equals_that_in_float32_except_for_rounding() -> None:
    states, weight = torch.randn(700, 16, requires_grad=True), torch.randn(40, 16, requires_grad=True)
    targets = torch.randint(0, 40, (700,))
    exact = projected_cross_entropy(states, weight, targets, 0.1)
    (wanted,) = torch.autograd.grad(exact, weight)
    with torch.autocast("cpu", torch.bfloat16):
        short = projected_cross_entropy(states, weight, targets, 0.1)
    (found,) = torch.autograd.grad(short, weight)
    assert short.item() == pytest.approx(exact.item(), rel=1e-3)
    assert found.dtype == torch.float32
    assert (found - wanted).norm() < 0.01 * wanted.norm()


class MatrixProducts(TorchDispatchMode):
    """Counts them."""

    count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += func.overloadpacket in (torch.ops.aten.mm, torch.ops.aten.matmul)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_no_gradient_is_computed_if_none_is_requested(mode: type) -> None:
    states, weight = torch.randn(70, 6), torch.randn(30, 6, requires_grad=True)
    targets = torch.randint(0, 30, (70,))
    with MatrixProducts() as learning:
        expected = projected_cross_entropy(states, weight, targets, 0.1)
    with mode(), MatrixProducts() as judging:
        loss = projected_cross_entropy(states, weight, targets, 0.1)
    torch.testing.assert_close(loss, expected.detach())
    assert (learning.count, judging.count) == (3, 1)  # scores, and the gradients of states and weight


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize("vocabulary", [50, 10_000, 256_000])
def test_the_number_of_projected_rows_stays_within_the_budget(device: str, vocabulary: int) -> None:
    states, weight = torch.empty(5000, 2, device=device), torch.empty(vocabulary, 2, device=device)
    stretches = list(chunks(states, weight))
    rows = max(len(range(5000)[stretch]) for stretch in stretches)
    assert 4 * rows * vocabulary <= 270_000_000
    assert rows >= 128
    assert [row for stretch in stretches for row in range(5000)[stretch]] == list(range(5000))


def test_dropout_zeroes_its_share_and_keeps_the_expectation() -> None:
    torch.manual_seed(0)
    y = Dropout(0.25)(torch.ones(1000, 999))
    assert (y == 0).float().mean().item() == pytest.approx(0.25, abs=2e-3)
    assert y.mean().item() == pytest.approx(1.0, abs=3e-3)
    assert y.unique().tolist() == pytest.approx([0.0, 4 / 3])
    # Neighbours come from one random number; they must be independent all the same.
    pairs = y.flatten()[:-1].reshape(-1, 2) if y.numel() % 2 else y.flatten().reshape(-1, 2)
    assert ((pairs == 0).all(dim=1)).float().mean().item() == pytest.approx(0.0625, abs=2e-3)


@pytest.mark.parametrize("rate", [0.0015, 0.999])
def test_dropout_rates_need_not_be_multiples_of_one_over_256(rate: float) -> None:
    torch.manual_seed(0)
    y = Dropout(rate)(torch.ones(1000, 999))
    assert (y == 0).float().mean().item() == pytest.approx(rate, abs=2e-4)
    assert y.max().item() == pytest.approx(1 / (1 - rate), rel=1e-4)


def test_dropout_follows_the_seed_and_is_off_outside_training() -> None:
    x, dropout = torch.randn(13, 7), Dropout(0.5)
    torch.manual_seed(3)
    first = dropout(x)
    torch.manual_seed(3)
    torch.testing.assert_close(dropout(x), first)
    assert dropout.eval()(x) is x


def test_gradients_pass_only_through_kept_values() -> None:
    x = torch.randn(64, 8, requires_grad=True)
    y = Dropout(0.5)(x)
    y.sum().backward()
    assert torch.equal(x.grad != 0, y != 0)
