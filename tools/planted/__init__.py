"""Models whose weights were written, or trained to follow a plan, so that it is known which heads matter and why.

    from tools.planted import MODELS, write_folder
    truth = write_folder("induction", Path("planted/induction"))

`parts.py` has the primitives, `models.py` all models as data, `compiler.py` writes the weights, and `truth.py` says
what is true. `grades.py` compares our analyses with it. Scripts and tests use this package; nothing that we
ship imports it.
"""

from tools.planted.folders import write_folder
from tools.planted.models import MODELS
from tools.planted.truth import TRUTH, Edge, Example, TrueHead, Truth, read_truth

__all__ = ["MODELS", "TRUTH", "Edge", "Example", "TrueHead", "Truth", "read_truth", "write_folder"]
