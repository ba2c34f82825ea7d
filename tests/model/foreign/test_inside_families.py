"""What is taken apart inside the models of other families, some of them with a norm or a gate behind their heads."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from model.analysis.anatomy import anatomy, derive, require_mixing, value_norms
from model.config.section import ConfigError
from model.inference.opening import open_translator
from tests.model.analysis.follow import follow
from tools.foreign_families import family_named
from tools.small_models import make_family

TEXT = "The cat sat on the mat."
ROUNDING = 1e-4


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    return lambda title: make_family(tmp_path_factory.mktemp("families") / "model", family_named(title))


@pytest.mark.parametrize("title", ["Qwen 3, wide heads", "mT5, wide heads", "DeepSeek V3", "GPT-BigCode"])
def test_every_step_of_a_head_equals_that_of_the_model(made: Callable[[str], Path], title: str) -> None:
    checkpoint = open_translator(made(title))
    kind = checkpoint.model.config.kinds[-1]
    parts = anatomy(follow(checkpoint, TEXT), kind, 1)
    steps = derive(parts, 2, 3)
    largest = max(1.0, float(np.abs(parts.head_outputs).max()))
    assert set(steps.differences) == {"weights", "head output", "layer output"}
    assert max(steps.differences.values()) < ROUNDING * largest
    assert len(steps.concatenated) == parts.values.shape[0] * parts.values.shape[2]
    require_mixing(checkpoint)
    assert value_norms(follow(checkpoint, TEXT))[kind].shape == (2, 4, parts.values.shape[1])


@pytest.mark.parametrize("title", ["BitNet", "AFMoE", "JetMoE"])
def test_a_norm_or_a_gate_after_the_heads_is_not_a_matrix(made: Callable[[str], Path], title: str) -> None:
    checkpoint = open_translator(made(title))
    parts = anatomy(follow(checkpoint, TEXT), "decoder", 0)
    steps = derive(parts, 2, 3)
    assert steps.output is None
    assert set(steps.differences) == {"weights", "head output"}
    assert max(steps.differences.values()) < ROUNDING * max(1.0, float(np.abs(parts.head_outputs).max()))
    assert "a norm, a gate or several matrices" in parts.no_mixing_reason
    with pytest.raises(ConfigError, match="a norm, a gate or several matrices"):
        require_mixing(checkpoint)
    with pytest.raises(ConfigError, match="a norm, a gate or several matrices"):
        value_norms(follow(checkpoint, TEXT))
