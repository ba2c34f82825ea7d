"""What a page shows for one visitor: the checkpoint, the text, and all that the visitor changed."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from model.inference.run import UNTOUCHED, Forced, Run
from model.inference.translation import Translation
from model.interventions import Intervention
from viz_app.services.listing import CheckpointKey
from viz_app.services.results import result_of

__all__ = ["Situation"]


@dataclass(frozen=True)
class Situation:
    """The visitor's run, as the checks of a lesson see it.

    Attributes:
        key: The key of the checkpoint.
        text: The text that the model reads.
        forced: The tokens that the visitor forced.
        intervention: What the visitor changed in the model.
        choices: All choices of the page by name, as a link writes them.
    """

    key: CheckpointKey
    text: str
    forced: Forced = ()
    intervention: Intervention = UNTOUCHED
    choices: Mapping[str, str] = field(default_factory=dict)

    @property
    def translation(self) -> Translation:
        """The translation with the visitor's changes. It is computed once and kept."""
        return result_of(self.key, Run(text=self.text, forced=self.forced, changes=self.intervention))

    @property
    def usual(self) -> Translation:
        """The translation of the same text without any change."""
        return result_of(self.key, Run(text=self.text))
