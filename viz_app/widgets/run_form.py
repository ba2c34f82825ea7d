"""The form in which a visitor says what to compute, and the `Run` that it makes.

It has fields for a text and for the second text of a pair, and the search: how the model writes, how long a
continuation is, and the words that the visitor forces or types.

Streamlit keeps a callback as long as the visitor's session, and a function of a page would keep everything that the
page computed. So the callbacks of all pages are here. A click may interrupt a page at any line, so callbacks read only
the session.
"""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from model.config.foreign import ForeignConfig
from model.config.search import GREEDY, SearchConfig
from model.inference.continuation import most_new_tokens
from model.inference.opening import AnyConfig
from model.inference.run import Forced, Run
from model.inference.search_tree import SearchTree
from model.inference.translate import require_writing, with_model_settings
from model.text.pair import Text, TextPair, paired, texts_of
from model.text.vocab import NEW_TOKENS
from viz_app.components.page_parts import add_fact
from viz_app.content.examples import PURPOSES, TOY_EXAMPLES, offered_examples
from viz_app.content.numbers import decimal
from viz_app.content.plain import plain
from viz_app.content.translation import N_, t
from viz_app.server.server_state import MAX_CHARACTERS
from viz_app.server.streamlit_bridge import DeltaGenerator
from viz_app.services import analyses, models
from viz_app.services.listing import CheckpointKey
from viz_app.session.choice_forms import fits_into_a_link
from viz_app.session.choices import choices, hand_over, set_choice, settle, settle_number
from viz_app.session.page_end import end_page
from viz_app.widgets.language_names import language_name
from viz_app.widgets.long_work import start_and_wait_for
from viz_app.widgets.switches import draw_switches, with_switches
from viz_app.widgets.text_notes import doubt_note, note_cleaning

__all__ = [
    "PAIR_CUT",
    "ask_for_text",
    "beam_search",
    "can_undo",
    "chosen_forced_tokens",
    "clear_forced_tokens",
    "force",
    "force_path",
    "forced_into",
    "lengths",
    "note_greedy_search",
    "note_shared_second_text",
    "note_text_too_long_for_link",
    "require_run",
    "require_text",
    "separator_in",
    "text_choices",
    "typed_translation",
    "undo",
    "use_example",
    "with_second_text",
]

MAX_SHOWN = 1_500  # characters of a part of a template
# What is said about a part of the template: with text, and without.
BEFORE = (N_("Before the text, the template adds:"), N_("Before the text, the template adds nothing."))
AFTER = (N_("After the text, the template adds:"), N_("After the text, the template adds nothing."))
METHODS = {"greedy": N_("Greedy"), "beam": N_("Beam"), "sample": N_("Sampling"), "typed": N_("Typed by you")}
NOT_GREEDY = {
    "beam": N_(":material/info: This page shows greedy search. Your beam search applies to other pages."),
    "sample": N_(":material/info: This page shows greedy search. Your sampling applies to other pages."),
}
BEAM_SIZES = range(2, 9)
MAX_UNDO = 50
PAIR_CUT = N_(
    "This model has {positions} positions. {dropped} tokens at the end of the longer text, or of both texts, were left "
    "out."
)
MOST_SECONDS = 2.0  # of a run without progress and a Stop button


def require_run(key: CheckpointKey, *, opening: str = "") -> Run:
    """Ask for a text and for a search, and run the model. All pages that show one run of the model show this run.

    Args:
        key: The key of the checkpoint.
        opening: The text before the visitor types one; by default the first example.

    Raises:
        PageEnded: the text field is empty, or the visitor stopped the model.
    """
    config = models.config_of(key)
    writes = config.task != "reading"
    text, search = ask(config, with_search=writes, opening=opening)
    end_without_text(text)
    run = Run(text=text, search=search)
    if writes and search == GREEDY:
        run = replace(run, forced=chosen_forced_tokens(key))
    if writes:
        run = with_switches(run)
    if models.seconds_of_run(key, run) > MOST_SECONDS:
        work = analyses.run_work(key, run)
        if start_and_wait_for(*work, lane="run", step=N_("Token {done} of {total}.")) is None:
            end_page()
    if not run.forced:
        doubt_note(key, run)
    return run


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


def search_picker(config: AnyConfig) -> SearchConfig:
    """Choose how the next token is chosen, in a popover.

    A translation may also be typed. A language model has settings for the length of its continuations.
    """
    translates = config.task == "translation"
    methods = [method for method in METHODS if translates or method != "typed"]
    settle("method", "greedy", methods)
    with st.popover(t(METHODS[st.session_state["method"]]), icon=":material/tune:", width="stretch"):
        method = st.segmented_control(
            t("Search"),
            methods,
            format_func=lambda method: t(METHODS[method]),
            required=True,
            key="method",
            help=t(
                "Greedy: write the most likely token at each step. Beam: keep several prefixes; the finished one with "
                "the best mean log-probability per token wins. Sampling: draw each token at random."
            ),
        )
        if isinstance(config, ForeignConfig) and config.task == "continuation":
            continuation_settings(config)
        draw_switches("run")
        if method == "beam":
            return beam_search(config)
        if method == "sample":
            return sampling_settings()
        if method == "typed":
            settle("typed", "")
            st.text_input(
                t("The translation"),
                key="typed",
                max_chars=2000,
                on_change=keep_text,
                help=t("The model is forced to write this text, token by token."),
            )
        elif translates:
            st.caption(t("Greedy search has no settings."))
    return GREEDY


def beam_search(config: AnyConfig) -> SearchConfig:
    """Ask for the beam size; by default the size in the model's files, or 5."""
    own = config.generation.num_beams if isinstance(config, ForeignConfig) else 1
    settle("beam_size", own if own in BEAM_SIZES else 5, BEAM_SIZES)
    size = st.slider(t("Beam size (prefixes kept)"), BEAM_SIZES[0], BEAM_SIZES[-1], key="beam_size")
    return with_model_settings(SearchConfig(method="beam", beam_size=size), config)


def sampling_settings() -> SearchConfig:
    settle_number("temperature", 1.0, 0.1, 2.0)
    settle("top_k", 0, range(51))
    settle_number("top_p", 1.0, 0.05, 1.0)
    settle("seed", 0, range(1000))
    temperature = st.slider(
        t("Temperature"),
        0.1,
        2.0,
        step=0.1,
        key="temperature",
        help=t("Above 1: unlikely tokens are drawn more often."),
    )
    top_k = st.slider(t("Top-k (0: all tokens)"), 0, 50, key="top_k", help=t("Draw from the k most likely tokens."))
    top_p = st.slider(
        t("Top-p"),
        0.05,
        1.0,
        step=0.05,
        key="top_p",
        help=t("Draw from the smallest set of tokens that reaches this probability."),
    )
    seed = st.number_input(t("Seed"), 0, 999, key="seed", help=t("The same seed gives the same translation."))
    return SearchConfig(method="sample", temperature=temperature, top_k=top_k, top_p=top_p, seed=int(seed))


def lengths(config: ForeignConfig) -> range:
    return range(1, most_new_tokens(config.model.max_length) + 1)


def continuation_settings(config: ForeignConfig) -> None:
    """Ask for the number of new tokens, and for the chat template if the model has one. Show what it adds."""
    allowed = lengths(config)
    settle("new_tokens", min(NEW_TOKENS, allowed[-1]), allowed)
    st.slider(
        t("New tokens"),
        allowed[0],
        allowed[-1],
        key="new_tokens",
        help=t("The most tokens that the model writes after the text. It may end earlier."),
    )
    if not config.tokenizer.chat_template:
        return
    settle("chat", False)
    st.toggle(
        t("Chat template"),
        key="chat",
        help=t(
            "Read the text as the message of a user, with the marks of a conversation that this model was trained on."
        ),
    )
    if frame := config.tokenizer.chat:
        show_added(BEFORE, frame.before)
        show_added(AFTER, frame.after)


def show_added(notes: tuple[str, str], text: str) -> None:
    something, nothing = notes
    st.caption(t(something) if text else t(nothing))
    if text:
        st.code(text[:MAX_SHOWN], language=None, wrap_lines=True)
    if (left_out := len(text) - MAX_SHOWN) > 0:
        values = {"left_out": decimal(left_out), "all": decimal(len(text))}
        st.caption(t("The last {left_out} of {all} characters are not shown here.", **values))


def typed_translation(config: AnyConfig) -> str:
    """The translation that the visitor typed, or an empty text; also on pages without the field."""
    chosen = choices().chosen
    typed = chosen.get("method") == "typed" and config.task == "translation"
    return str(chosen.get("typed", "")).strip() if typed else ""


def note_greedy_search(*, forces: bool = False) -> None:
    """On a page that always shows greedy search: say so where the visitor chose another search or forced words.

    Args:
        forces: Whether the page applies forced words.
    """
    chosen = choices().chosen
    method = str(chosen.get("method"))
    forced = chosen.get("forced") or (method == "typed" and chosen.get("typed"))
    if method in NOT_GREEDY:
        st.caption(t(NOT_GREEDY[method]))
    elif forced and not forces:
        st.caption(t(":material/info: This page shows greedy search without your forced words."))


def chosen_forced_tokens(key: CheckpointKey) -> Forced:
    """The tokens to force into a greedy translation, see `forced_into`."""
    if not typed_translation(models.config_of(key)):
        settle("forced", ())
    forced = forced_into(key, forced_now())
    if forced:
        add_fact(t("Forced"), t("The visitor forced some of the words."))
    return forced


def forced_into(key: CheckpointKey, clicked: Forced) -> Forced:
    """All tokens of a typed translation, else the words that were clicked.

    Ids and positions from a link that the model does not have are left out.
    """
    if typed := typed_translation(models.config_of(key)):
        return models.tokens_to_force(key, typed)
    sizes = require_writing(models.translator(key)).config
    return tuple((at, token) for at, token in clicked if token < sizes.target_vocab_size and at < sizes.max_length)


def forced_now() -> Forced:
    """The forced tokens, also where a click interrupted the page before it settled them."""
    forced: Forced = st.session_state.get("forced", ())
    return forced


def earlier_forced() -> list[Forced]:
    """The forced tokens before each change, the latest last."""
    earlier: list[Forced] = st.session_state.setdefault("forced_earlier", [])
    return earlier


def keep_to_subject(subject: str) -> None:
    """Forced tokens and a typed translation belong to a text and the checkpoint that reads it.

    Args:
        subject: Checkpoint, languages and text.
    """
    names, chosen = text_choices(), choices().chosen
    if "method" not in names:
        st.session_state["own_search"] = chosen.get("method")
    if hand_over("text", subject, names):
        st.session_state["forced_earlier"] = []
        if "method" not in chosen and (search := st.session_state.get("own_search")):
            set_choice("method", search)


def text_choices() -> tuple[str, ...]:
    """The choices that belong to a text. A search belongs to the visitor, but a typed translation replaces it."""
    typed = ("method",) if choices().chosen.get("method") == "typed" else ()
    return ("forced", "step", "typed", *typed)


def can_undo() -> bool:
    return bool(earlier_forced())


def force(position: int, token: int) -> None:
    """Force a token. Tokens forced at later positions belong to another prefix and are cleared."""
    change((*((at, other) for at, other in forced_now() if at < position), (position, token)))


def force_path(tree: SearchTree, node: int) -> None:
    """Force the prefix of a node of a beam search."""
    change(tuple(enumerate(tree.path(node), start=tree.prompt_length)))


def clear_forced_tokens() -> None:
    """Callback: let the model write without forced tokens, and instead of the visitor."""
    change(())


def change(forced: Forced) -> None:
    if choices().chosen.get("method") == "typed":
        set_choice("method", "greedy")  # the latest action counts
    keep_text()
    earlier_forced().append(forced_now())
    del earlier_forced()[:-MAX_UNDO]
    set_choice("forced", forced)


def keep_text() -> None:
    """Callback: make the text a choice, because another page may open with another example."""
    set_choice("text", st.session_state["text"])


def undo() -> None:
    """Callback: take back the last change."""
    if can_undo():  # a fast second click finds nothing to undo
        set_choice("forced", earlier_forced().pop())
