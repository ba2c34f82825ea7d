"""What the visitor chose on a page, as the page itself reads it."""

from collections.abc import Mapping

from model.config.search import SearchConfig
from model.inference.run import Run
from viz_app.course.situation import Situation

__all__ = ["run_of", "search_of", "texts", "whole_number"]

BEAM_SIZE = 5  # the page's default


def whole_number(situation: Situation, name: str, default: int) -> int:
    """A choice that is a whole number."""
    return int(situation.choices.get(name, "") or default)


def texts(*offered: str) -> tuple[Mapping[str, str], ...]:
    """The offers of a step with these texts."""
    return tuple({"text": text} for text in offered)


def search_of(situation: Situation) -> SearchConfig:
    """The chosen search: greedy search, beam search or sampling with its settings."""
    method = situation.choices.get("method")
    if method == "beam":
        return SearchConfig(method="beam", beam_size=whole_number(situation, "beam_size", BEAM_SIZE))
    if method != "sample":
        return SearchConfig()
    return SearchConfig(
        method="sample",
        temperature=float(situation.choices.get("temperature", "1")),
        top_k=whole_number(situation, "top_k", 0),
        top_p=float(situation.choices.get("top_p", "1")),
        seed=whole_number(situation, "seed", 0),
    )


def run_of(situation: Situation) -> Run:
    """The run that the page shows. Words are forced only into a greedy search."""
    search = search_of(situation)
    forced = situation.forced if search == SearchConfig() else ()
    return Run(text=situation.text, search=search, forced=forced)
