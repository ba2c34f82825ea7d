"""The run of the model that the visitor asks for: a text, a search, and forced words."""

from dataclasses import replace

from model.inference.run import Forced, Run
from model.inference.searching import require_writing
from viz_app.content.translation import N_, t
from viz_app.services import loading, long_analyses, results
from viz_app.services.listing import CheckpointKey
from viz_app.session.page_end import end_page
from viz_app.session.page_facts import add_fact
from viz_app.widgets import forced_tokens
from viz_app.widgets.long_work import start_and_wait_for
from viz_app.widgets.search_picker import typed_translation
from viz_app.widgets.text_field import require_text, require_text_and_search
from viz_app.widgets.text_notes import doubt_note

__all__ = ["chosen_forced_tokens", "require_run"]

MOST_SECONDS = 2.0  # of a run without progress and a Stop button


def require_run(key: CheckpointKey, *, opening: str = "") -> Run:
    """Ask for a text and for a search, and run the model. All pages that show one run of the model show this run.

    Args:
        key: The key of the checkpoint.
        opening: The text before the visitor types one; by default the first example.

    Raises:
        PageEnded: the text field is empty, or the visitor stopped the model.
    """
    run = ask_for_run(key, opening=opening)
    if results.seconds_of_run(key, run) > MOST_SECONDS:
        work = long_analyses.run_work(key, run)
        if start_and_wait_for(*work, lane="run", step=N_("Token {done} of {total}.")) is None:
            end_page()
    if not run.forced:
        doubt_note(key, run)
    return run


def ask_for_run(key: CheckpointKey, *, opening: str) -> Run:
    config = loading.config_of(key)
    if config.task == "reading":  # such a model writes nothing
        return Run(text=require_text(config, opening=opening))
    text, search = require_text_and_search(config, opening=opening)
    run = Run(text=text, search=search)
    return replace(run, forced=chosen_forced_tokens(key)) if run == run.usual else run


def chosen_forced_tokens(key: CheckpointKey) -> Forced:
    """The tokens to force into a greedy translation: all of a typed translation, else the words that were clicked."""
    if typed := typed_translation(loading.config_of(key)):
        forced = results.tokens_to_force(key, typed)
    else:
        sizes = require_writing(loading.translator(key)).config
        forced = forced_tokens.forced_tokens(sizes.target_vocab_size, sizes.max_length)
    if forced:
        add_fact(t("Forced"), t("The visitor forced some of the words."))
    return forced
