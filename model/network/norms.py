"""The layer normalization of tutorials that divide by the standard deviation of a sample."""

from torch import Tensor, nn

__all__ = ["SampleNorm", "sample_deviation"]


def sample_deviation(centred: Tensor) -> Tensor:
    """√(Σ x² / (D − 1)) of numbers with the mean 0: (…, D) → (…, 1)."""
    return (centred.square().sum(dim=-1, keepdim=True) / (centred.size(-1) - 1)).sqrt()


class SampleNorm(nn.LayerNorm):
    """(x − mean) / (deviation of a sample + ε) · weight + bias ("The Annotated Transformer", Rush 2018)."""

    def forward(self, x: Tensor) -> Tensor:  # (…, D) → (…, D)
        centred = x - x.mean(dim=-1, keepdim=True)
        return centred / (sample_deviation(centred) + self.eps) * self.weight + self.bias
