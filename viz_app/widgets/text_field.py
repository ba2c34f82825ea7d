"""The fields for a text and for the second text of a pair, the search beside them, and the run of the text."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from model.config.foreign import ForeignConfig
from model.config.search import GREEDY, SearchConfig
from model.inference.opening import AnyConfig
from model.inference.run import Run
from model.text.pair import Text, TextPair, paired, texts_of
from viz_app.content.examples import PURPOSES, TOY_EXAMPLES, offered_examples
from viz_app.content.plain import plain
from viz_app.content.translation import N_, t
from viz_app.server.server_state import MAX_CHARACTERS
from viz_app.server.streamlit_bridge import DeltaGenerator
from viz_app.services import analyses, loading, results
from viz_app.services.listing import CheckpointKey
from viz_app.session.choice_forms import fits_into_a_link
from viz_app.session.choices import choices, set_choice, settle
from viz_app.session.page_end import end_page
from viz_app.session.page_facts import add_fact
from viz_app.widgets.language_names import language_name
from viz_app.widgets.long_work import start_and_wait_for
from viz_app.widgets.search_picker import (
    chosen_forced_tokens,
    keep_to_subject,
    note_greedy_search,
    search_picker,
    typed_translation,
)
from viz_app.widgets.text_notes import doubt_note, note_cleaning

__all__ = [
    "PAIR_CUT",
    "ask_for_text",
    "note_shared_second_text",
    "note_text_too_long_for_link",
    "require_run",
    "require_text",
    "separator_in",
    "use_example",
    "with_second_text",
]

PAIR_CUT = N_(
    "This model has {positions} positions. {dropped} tokens at the end of the longer text, or of both texts, were left "
    "out."
)
MOST_SECONDS = 2.0  # of a run without progress and a Stop button


def separator_in(config: AnyConfig) -> str:
    """The text of the tokens between two texts; "" for a model that reads single texts."""
    return config.tokenizer.separator if isinstance(config, ForeignConfig) else ""


def with_second_text(config: AnyConfig, text: str, place: DeltaGenerator) -> Text:
    """Ask for the second text if the model reads pairs. Without one, the text is read alone.

    Args:
        config: The configuration of the checkpoint.
        text: The first text.
        place: The place of the field.
    """
    separator = separator_in(config)
    if not separator:
        return text
    settle("second", "")
    second: str = place.text_input(t("Second text (optional)"), key="second", max_chars=MAX_CHARACTERS) or ""
    if second.strip():
        add_fact(t("Second text"), second)
    elif separator in text:
        st.caption(
            t(
                "{separator} separates two texts. The model reads what follows as the second text, as from the field "
                "“Second text”.",
                separator=plain(separator),
            )
        )
    return paired(text, second)


def note_shared_second_text(text: Text) -> None:
    """Where two runs are compared: they differ in their first text only."""
    if isinstance(text, TextPair):
        st.caption(t("Both runs read the same second text."))


def require_text(config: AnyConfig, *, opening: str = "", forces: bool = False) -> Text:
    """Ask for a text, or for a pair where the model reads pairs. Without a text, the page ends here with one sentence.

    Args:
        config: The configuration of the checkpoint.
        opening: The text before the visitor types one; by default the first example.
        forces: Whether the page applies forced words.

    Raises:
        PageEnded: the field is empty.
    """
    text = ask_for_text(config, opening=opening, forces=forces)
    end_without_text(text)
    return text


def ask_for_text(config: AnyConfig, *, opening: str = "", forces: bool = False) -> Text:
    """Ask for a text, which may be empty; see `require_text`.

    The page shows greedy search. Where the visitor chose another search, a note says so.
    """
    text, _ = ask(config, with_search=False, opening=opening)
    if config.task != "reading":
        note_greedy_search(forces=forces)
    return text


def end_without_text(text: Text) -> None:
    if not texts_of(text)[0].strip():
        end_page(t("Type a sentence above, or choose an example."))


def ask(config: AnyConfig, *, with_search: bool, opening: str) -> tuple[Text, SearchConfig]:
    examples = offered_examples(config)
    replace_example_of_other_checkpoint(examples)
    settle("text", opening or examples[0])
    with st.container(key="set_text"):
        field, menu, *search_column = st.columns(
            [5, 1.4, 1.2] if with_search else [5, 1.4], vertical_alignment="bottom"
        )
    fields = field.columns(2, vertical_alignment="bottom") if separator_in(config) else [field]
    text = fields[0].text_input(what_to_type(config), key="text") or ""
    whole = with_second_text(config, text, fields[-1])
    languages = config.tokenizer.source_language, config.tokenizer.target_language
    # Inside a chat template, the tokens of a text have other positions.
    chat = ("chat",) if getattr(config.tokenizer, "chat", None) else ()
    keep_to_subject("|".join((st.session_state["checkpoint"], *languages, *chat, text)))
    menu.selectbox(
        t("Examples"),
        examples,
        index=None,
        key="example",
        placeholder=t("Examples"),
        label_visibility="collapsed",
        on_change=use_example,
        args=("example", "text"),
    )
    search = GREEDY
    for column in search_column:
        with column:
            search = search_picker(config)
    note_text_too_long_for_link(*texts_of(whole))
    note_cleaning(config, text, typed_translation(config))
    add_fact(t("Sentence"), text)
    if purpose := PURPOSES.get(languages, {}).get(text):
        st.caption(f":material/lightbulb: {t(purpose)}")
    return whole, search


def replace_example_of_other_checkpoint(examples: Sequence[str]) -> None:
    """Replace an example for the last checkpoint by one for this checkpoint. A text that a visitor typed stays."""
    offered = st.session_state.get("examples_offered", examples)
    if offered != examples and (chosen := choices().chosen.get("text")) in offered:
        index = offered.index(chosen)
        set_choice("text", examples[index] if index < len(examples) else examples[0])
    st.session_state["examples_offered"] = examples


def what_to_type(config: AnyConfig) -> str:
    """The label of the text field, which depends on the task of the model."""
    if config.task == "continuation":
        return t("Type the beginning of a text and press Enter")
    if config.task == "reading":
        if mask := getattr(config.tokenizer, "mask", ""):
            return t("Type a text with {mask} in place of a word, and press Enter", mask=plain(mask))
        return t("Type a text and press Enter")
    language = config.tokenizer.source_language
    if language in TOY_EXAMPLES:
        if language == "letters":
            return t("Type letters with spaces between them and press Enter")
        return t("Type a date in English words and press Enter")
    if not language:
        return t("Type a text and press Enter")
    return t("Type a sentence in {language} and press Enter", language=plain(language_name(language)))


def use_example(example: str, field: str) -> None:
    """Callback of a list of examples: copy the chosen example into the text field, and clear the list."""
    if st.session_state[example]:
        set_choice(field, st.session_state[example])
        st.session_state[example] = None


def note_text_too_long_for_link(*texts: str) -> None:
    """Show a note where a text is too long for the URL."""
    if not all(map(fits_into_a_link, texts)):
        st.caption(t("This text is too long for a link. A link to this page leaves it out."))


def require_run(key: CheckpointKey, *, opening: str = "") -> Run:
    """Ask for a text and for a search, and run the model. All pages that show one run of the model show this run.

    Args:
        key: The key of the checkpoint.
        opening: The text before the visitor types one; by default the first example.

    Raises:
        PageEnded: the text field is empty, or the visitor stopped the model.
    """
    config = loading.config_of(key)
    writes = config.task != "reading"
    text, search = ask(config, with_search=writes, opening=opening)
    end_without_text(text)
    run = Run(text=text, search=search)
    if writes and run == run.usual:
        run = replace(run, forced=chosen_forced_tokens(key))
    if results.seconds_of_run(key, run) > MOST_SECONDS:
        work = analyses.run_work(key, run)
        if start_and_wait_for(*work, lane="run", step=N_("Token {done} of {total}.")) is None:
            end_page()
    if not run.forced:
        doubt_note(key, run)
    return run
