"""The table of all planted models."""

from collections.abc import Mapping

from tools.planted.classifiers import CLASSIFIERS
from tools.planted.decoders import DECODERS
from tools.planted.parts import Plan
from tools.planted.siit import TRAINED
from tools.planted.tracr_models import TRACR
from tools.planted.translators import TRANSLATORS

__all__ = ["MODELS"]

MODELS: Mapping[str, Plan] = {
    plan.name: plan for plan in (*TRANSLATORS, *DECODERS, *CLASSIFIERS, *TRACR, *(plan for plan, _ in TRAINED.values()))
}
