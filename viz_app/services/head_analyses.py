"""The heads of a model in one run: their vectors, value norms, metrics and gradients."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from model.analysis.anatomy import Anatomy, anatomy, value_norms, why_no_mixing
from model.analysis.importance import gradient_importance, make_examples
from model.analysis.statistics import head_metrics
from model.config.kinds import KINDS
from model.inference.run import Run
from model.inference.translation import Translation
from model.text.pair import Text
from viz_app.server.server_state import remembered
from viz_app.services.listing import CheckpointKey
from viz_app.services.loading import config_of, loaded
from viz_app.services.results import result_of, without_maps
from viz_app.services.sentence_batches import Pairs

__all__ = [
    "anatomy_of",
    "gradient_importance_of",
    "has_sinks",
    "head_metrics_of",
    "texts_to_read",
    "value_norms_of",
    "why_no_norms",
    "why_read_only",
]

FloatArray = NDArray[np.float32]


@remembered()
def anatomy_of(key: CheckpointKey, run: Run, kind: str, layer: int) -> tuple[Translation, Anatomy]:
    """The result without its maps, and the vectors of one layer.

    The model as trained computes them, over the tokens that the run wrote.

    Raises:
        ConfigError: the checkpoint does not compute scaled dot products.
    """
    written = result_of(key, run).as_forced
    found, parts = anatomy(loaded(key), run.text, kind, layer, forced=written)
    return without_maps(found), parts


@remembered()
def value_norms_of(key: CheckpointKey, run: Run) -> Mapping[str, FloatArray]:
    """Kind → norm of each value after the output projection, (L, H, S), over the tokens that the run wrote."""
    return value_norms(loaded(key), run.text, forced=result_of(key, run).as_forced)[1]


def why_no_norms(key: CheckpointKey) -> str:
    """Why the model has no `value_norms_of`; "" if it has."""
    return why_no_mixing(loaded(key).model)


def why_read_only(key: CheckpointKey) -> str:
    """Why nothing can be changed in the model; "" if its heads can be silenced, painted and patched."""
    return loaded(key).model.read_only_reason


def has_sinks(key: CheckpointKey) -> bool:
    """Whether the model has attention sinks, so that the weights of a row sum to less than 1."""
    model = loaded(key).model
    return not model.read_only_reason and any(model.sinks(kind, 0) is not None for kind in model.config.kinds)


@remembered()
def head_metrics_of(key: CheckpointKey, run: Run) -> Mapping[str, Mapping[str, FloatArray]]:
    """Kind → metric → its value for each query, (L, H, T)."""
    maps = result_of(key, run).maps
    found = {}
    for kind in config_of(key).model.kinds:
        found[kind] = head_metrics(
            maps[kind],
            aligned=KINDS[kind].aligned,
            special_key=0 if kind == "decoder" else -1,
        )
    return found


def texts_to_read(key: CheckpointKey, pairs: Pairs) -> list[Text]:
    """What the model reads of each line: a text, or a pair of texts."""
    return loaded(key).tokenizers.sources(pairs)


@remembered()
def gradient_importance_of(key: CheckpointKey, pairs: Pairs) -> Mapping[str, FloatArray]:
    """Kind → |∂loss/∂gate| of each head for each sentence with its translation, (N, L, H)."""
    checkpoint = loaded(key)
    return gradient_importance(checkpoint.model, make_examples(checkpoint, pairs))
