"""What a visitor asks of the model: a text, how its translation is searched for, and which words are forced into it."""

from viz_app.services import loading, results
from viz_app.services.listing import CheckpointKey
from viz_app.services.results import Forced, Run
from viz_app.session.page_facts import tell
from viz_app.widgets import controls, forced_tokens

__all__ = ["ask_for_run", "forced_into"]


def ask_for_run(key: CheckpointKey, *, first: str = "") -> tuple[str, Run]:
    """Ask for a text and for a search; the pages that show one run of the model all show this one.

    Args:
        key: Of the checkpoint.
        first: With what the page opens; by default the first example.
    """
    config = loading.config_of(key)
    if config.task == "reading":  # writes nothing
        return controls.ask_for_text(config, first=first), Run()
    text, search = controls.ask_for_text_and_search(config, first=first)
    run = Run(search)
    if run == Run() and text.strip():
        run = Run(forced=forced_into(key))
    if run.forced:
        tell("Forced", "words of it were not the model's own choice")
    return text, run


def forced_into(key: CheckpointKey) -> Forced:
    """What is forced into a greedy translation: all of it where it was typed, else the words that were clicked."""
    if typed := controls.typed_translation(loading.config_of(key)):
        return results.spelled(key, typed)
    model = loading.translator(key).model.config
    return forced_tokens.forced_tokens(model.target_vocab_size, model.max_length)
