"""Random numbers that depend only on a seed and on places in a corpus: every split of the work gives the same.

The generator is SplitMix64 (Steele et al. 2014, "Fast Splittable Pseudorandom Number Generators"): a mixing function of
a counter. NumPy's own distributions may change from version to version.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["uniform_bits"]

STEP = np.uint64(0x9E3779B97F4A7C15)


def uniform_bits(seed: int, *counters: ArrayLike) -> NDArray[np.uint64]:
    """Uniform 64-bit numbers for a seed and one or more counters, which are broadcast."""
    state = np.asarray(seed, dtype=np.uint64)
    for counter in counters:
        with np.errstate(over="ignore"):
            state = mix(state + STEP * (np.asarray(counter, dtype=np.uint64) + np.uint64(1)))
    return state


def mix(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
