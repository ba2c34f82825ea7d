"""What each analysis finds on models with a known answer. `python -m tools.planted.grades_page` measures it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["FILE", "GRADES", "Grade"]

FILE = Path(__file__).with_suffix(".json")


@dataclass(frozen=True, kw_only=True)
class Grade:
    """The grades of one analysis; `docs/truth.md` says what they are."""

    models: Mapping[str, float]  # name of a model → 0 to 1
    least: float  # of a model that the analysis finds

    @property
    def missed(self) -> Mapping[str, float]:
        """The models that the analysis does not find."""
        return {name: grade for name, grade in self.models.items() if grade < self.least}

    @property
    def found(self) -> int:
        """How many models the analysis finds."""
        return len(self.models) - len(self.missed)


FOUND = json.loads(FILE.read_text(encoding="utf-8"))
GRADES: Mapping[str, Grade] = {  # by the name of the analysis
    name: Grade(models=models, least=FOUND["least"]) for name, models in FOUND["grades"].items()
}
