"""The run of the model that the visitor asks for: a text, a search, and forced words."""

from model.inference.searching import require_writing
from model.text.pair import Text
from viz_app.content.translation import N_, t
from viz_app.services import loading, long_analyses, translations
from viz_app.services.listing import CheckpointKey
from viz_app.services.translations import Forced, Run
from viz_app.session.page_end import end_page
from viz_app.session.page_facts import add_fact
from viz_app.widgets import forced_tokens
from viz_app.widgets.long_work import start_and_wait_for
from viz_app.widgets.search_picker import typed_translation
from viz_app.widgets.text_field import require_text, require_text_and_search
from viz_app.widgets.text_notes import doubt_note

__all__ = ["chosen_forced_tokens", "require_run"]

MOST_SECONDS = 2.0  # of a run without progress and a Stop button


def require_run(key: CheckpointKey, *, opening: str = "") -> tuple[Text, Run]:
    """Ask for a text and for a search, and run the model. All pages that show one run of the model show this run.

    Args:
        key: The key of the checkpoint.
        opening: The text before the visitor types one; by default the first example.

    Raises:
        PageEnded: the text field is empty, or the visitor stopped the model.
    """
    text, run = ask_for_run(key, opening=opening)
    if translations.seconds_of_run(key, text, run) > MOST_SECONDS:
        work = long_analyses.run_work(key, text, run)
        if start_and_wait_for(*work, lane="run", step=N_("Token {done} of {total}.")) is None:
            end_page()
    if not run.forced:
        doubt_note(key, text, run.search)
    return text, run


def ask_for_run(key: CheckpointKey, *, opening: str) -> tuple[Text, Run]:
    config = loading.config_of(key)
    if config.task == "reading":  # such a model writes nothing
        return require_text(config, opening=opening), Run()
    text, search = require_text_and_search(config, opening=opening)
    run = Run(search)
    if run == Run():
        run = Run(forced=chosen_forced_tokens(key))
    return text, run


def chosen_forced_tokens(key: CheckpointKey) -> Forced:
    """The tokens to force into a greedy translation: all of a typed translation, else the words that were clicked."""
    if typed := typed_translation(loading.config_of(key)):
        forced = translations.tokens_to_force(key, typed)
    else:
        sizes = require_writing(loading.translator(key)).config
        forced = forced_tokens.forced_tokens(sizes.target_vocab_size, sizes.max_length)
    if forced:
        add_fact(t("Forced"), t("The visitor forced some of the words."))
    return forced
