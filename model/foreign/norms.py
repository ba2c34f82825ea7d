"""The description of the norms and matrices of Hugging Face's `transformers`.

The library has about fifty classes of norms: LayerNorm and RMSNorm, with weights, with 1 + weights (Gemma) or without
weights (OLMo). A norm is described by measurement: the description that computes the same numbers is the right one.
"""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from model.config.section import ConfigError
from model.network.residual_stream import Matrix, Norm

__all__ = ["describe_matrix", "describe_norm"]

EPSILONS = ("eps", "variance_epsilon", "epsilon", "norm_eps")
DEFAULT_EPSILON = 1e-5  # of a norm that does not store it (OLMo)
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-9}  # relative; half precision has only 3 digits
HALF = 2e-2


@torch.no_grad()
def describe_norm(module: nn.Module | None, width: int) -> Norm | None:
    """The description of a norm of the library; None for an identity or None.

    Args:
        module: The norm.
        width: Of the vectors that it reads.

    Raises:
        ConfigError: it computes something else than a LayerNorm or an RMSNorm.
    """
    if module is None or isinstance(module, nn.Identity):
        return None
    weight = getattr(module, "weight", None)
    like = weight if isinstance(weight, Tensor) else next(iter(module.parameters()), torch.zeros(()))
    # The small vectors show the effect of ε, the shifted ones whether the mean is subtracted.
    sizes = torch.tensor([1e-3, 1.0, 30.0])[:, None]
    x = torch.randn(3, width, generator=torch.Generator().manual_seed(0)) * sizes + sizes / 2
    x = x.to(like)
    # `forward` and not a call: a visitor's trace must not record this.
    expected = module.forward(x).float()
    tolerance = TOLERANCE.get(x.dtype, HALF)
    for norm in candidates(module, width, like):
        if torch.allclose(norm(x.float()), expected, rtol=tolerance, atol=tolerance * float(expected.abs().max())):
            return norm
    raise ConfigError("{module} is neither a LayerNorm nor an RMSNorm", module=type(module).__name__)


def candidates(module: nn.Module, width: int, like: Tensor) -> Iterator[Norm]:
    weight, bias = getattr(module, "weight", None), getattr(module, "bias", None)
    ones = torch.ones(width).to(like)
    scales = [weight.detach(), 1 + weight.detach()] if isinstance(weight, Tensor) else [ones]
    shift = bias.detach() if isinstance(bias, Tensor) else torch.zeros_like(ones)
    stored = (getattr(module, name, None) for name in EPSILONS)
    epsilon = next((float(value) for value in stored if isinstance(value, float)), DEFAULT_EPSILON)
    for scale in scales:
        for centred in (True, False):
            yield Norm(scale=scale, shift=shift, epsilon=epsilon, centred=centred)
        yield Norm(scale=scale, shift=shift, epsilon=epsilon, sample=True)


def describe_matrix(module: nn.Module) -> Matrix:
    """The description of an `nn.Linear` or of GPT-2's `Conv1D`, which stores the transpose."""
    weight, bias = module.weight, module.bias
    assert isinstance(weight, Tensor)
    return Matrix(
        weight=weight.detach() if isinstance(module, nn.Linear) else weight.detach().T,
        bias=bias.detach() if isinstance(bias, Tensor) else None,
    )
