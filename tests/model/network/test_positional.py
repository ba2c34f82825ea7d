import math

import pytest
import torch

from model.network.positional import LearnedPositions, SinusoidalPositions, sinusoidal_table


def test_sinusoids_follow_the_formula() -> None:
    table = sinusoidal_table(50, 16)
    for position, pair in [(0, 0), (3, 1), (49, 7)]:
        angle = position / 10_000 ** (2 * pair / 16)
        assert table[position, 2 * pair] == pytest.approx(math.sin(angle), abs=1e-6)
        assert table[position, 2 * pair + 1] == pytest.approx(math.cos(angle), abs=1e-6)


def test_dot_product_of_sinusoids_depends_on_the_distance_alone() -> None:
    products = sinusoidal_table(40, 32) @ sinusoidal_table(40, 32).T
    for distance in (1, 5, 20):
        diagonal = products.diagonal(distance)
        torch.testing.assert_close(diagonal, diagonal[:1].expand_as(diagonal), atol=1e-4, rtol=0)


@pytest.mark.parametrize("kind", [SinusoidalPositions, LearnedPositions])
def test_offset_continues_where_the_text_stood(kind: type) -> None:
    positions = kind(max_length=10, d_model=8)
    x = torch.randn(2, 6, 8)
    whole = positions(x)
    torch.testing.assert_close(positions(x[:, 4:], offset=4), whole[:, 4:])


@pytest.mark.parametrize("kind", [SinusoidalPositions, LearnedPositions])
def test_a_text_longer_than_the_table_is_refused_with_both_numbers(kind: type) -> None:
    with pytest.raises(ValueError, match=r"11 positions .* has 10"):
        kind(max_length=10, d_model=8)(torch.zeros(1, 11, 8))


def test_nothing_of_the_sinusoids_is_stored() -> None:
    assert not SinusoidalPositions(max_length=10, d_model=8).state_dict()
