"""The visitor's run, as the checks of a lesson see it."""

from collections.abc import Sequence

from model.analysis.importance import all_heads
from model.inference.run import Forced
from model.inference.searching import require_writing
from model.interventions import Intervention
from viz_app.course.lesson import Step
from viz_app.course.situation import Situation
from viz_app.services import loading, results
from viz_app.services.listing import CheckpointKey, Listed
from viz_app.session.choices import choices
from viz_app.widgets.checkpoint_choice import chosen_key
from viz_app.widgets.search_picker import typed_translation

__all__ = ["live_situation"]


def live_situation(step: Step, listed: Sequence[Listed]) -> Situation | None:
    """What the page of a step shows now; None without a text or without a checkpoint that can be used.

    Args:
        step: The open step. Its text counts until the page has shown a text field.
        listed: All checkpoints.
    """
    key, kept = chosen_key(listed), choices()
    text = str(kept.chosen.get("text", kept.settled.get("text", step.choices.get("text", ""))))
    if key is None or not text.strip():
        return None
    return Situation(
        key=key,
        text=text,
        forced=forced_now(key),
        intervention=intervention_now(key),
        choices=dict(step.choices) | kept.in_link(),
    )


def forced_now(key: CheckpointKey) -> Forced:
    config = loading.config_of(key)
    if typed := typed_translation(config):
        return results.tokens_to_force(key, typed)
    forced = choices().chosen.get("forced", ())
    if config.task != "translation" or not isinstance(forced, tuple):
        return ()
    sizes = require_writing(loading.translator(key)).config
    return tuple((at, token) for at, token in forced if token < sizes.target_vocab_size and at < sizes.max_length)


def intervention_now(key: CheckpointKey) -> Intervention:
    chosen = choices().chosen.get("intervention")
    return chosen.within(all_heads(loading.loaded(key).model)) if isinstance(chosen, Intervention) else Intervention()
