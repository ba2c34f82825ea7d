"""What a page shows for one visitor: the checkpoint, the text, and all that the visitor changed."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from model.config.search import SearchConfig
from model.inference.run import UNTOUCHED, Forced, Result, Run
from model.interventions import Intervention
from viz_app.services.listing import CheckpointKey
from viz_app.services.models import result_of

__all__ = ["Situation", "run_of", "search_of", "whole_number"]


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
    def translation(self) -> Result:
        """The translation with the visitor's changes. It is computed once and kept."""
        return result_of(self.key, Run(text=self.text, forced=self.forced, changes=self.intervention))

    @property
    def usual(self) -> Result:
        """The translation of the same text without any change."""
        return result_of(self.key, Run(text=self.text))


def whole_number(situation: Situation, name: str, default: int) -> int:
    """A choice that is a whole number."""
    return int(situation.choices.get(name, "") or default)


def search_of(situation: Situation) -> SearchConfig:
    """The chosen search: greedy search, beam search or sampling with its settings."""
    settings = {"beam": ("beam_size",), "sample": ("temperature", "top_k", "top_p", "seed")}
    method = situation.choices.get("method", "")
    chosen = {name: situation.choices[name] for name in settings.get(method, ()) if name in situation.choices}
    numbers = {name: float(text) if name in ("temperature", "top_p") else int(text) for name, text in chosen.items()}
    return SearchConfig.from_dict({"method": method, **numbers}) if method in settings else SearchConfig()


def run_of(situation: Situation) -> Run:
    """The run that the page shows. Words are forced only into a greedy search."""
    search = search_of(situation)
    forced = situation.forced if search == SearchConfig() else ()
    return Run(text=situation.text, search=search, forced=forced)
