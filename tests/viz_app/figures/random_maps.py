"""Attention maps for the tests of the figures."""

import numpy as np

from viz_app.figures.style import Axes

AXES = Axes(queries=["a", "b", "a"], keys=["x", "x"], query_title="query: written", key_title="key: source")


def random_maps(layers: int, heads: int, rows: int, columns: int) -> np.ndarray:
    """Weights (L, H, T, S); each row adds up to 1."""
    return np.random.default_rng(0).dirichlet(np.ones(columns), size=(layers, heads, rows)).astype(np.float32)
