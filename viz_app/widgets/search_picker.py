"""The search that chooses the tokens, the length of a continuation, and a translation that the visitor types."""

from dataclasses import replace

import streamlit as st

from model.config.foreign import ForeignConfig
from model.config.search import SearchConfig
from model.config.section import ConfigError
from model.inference.continuation import most_new_tokens
from model.inference.opening import AnyConfig
from model.inference.searching import GREEDY, with_model_settings
from model.text.vocab import NEW_TOKENS
from viz_app.content.numbers import decimal, sentences
from viz_app.content.plain import as_sentence, plain
from viz_app.content.translation import N_, t, worded
from viz_app.services import loading
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import choices, settle, settle_number
from viz_app.session.page_facts import add_fact
from viz_app.widgets.forced_tokens import keep_text

__all__ = [
    "beam_search",
    "chosen_continuation",
    "note_greedy_search",
    "search_picker",
    "typed_translation",
    "with_chosen_continuation",
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


def with_chosen_continuation(key: CheckpointKey, config: AnyConfig) -> CheckpointKey:
    """The key with the chosen number of new tokens and chat template; unchanged for a model that continues no text.

    A template that cannot be used is not applied, and a message says why.
    """
    key, problem = chosen_continuation(key, config)
    if problem:
        st.error(plain(sentences([as_sentence(worded(problem)), t("The text is read without the chat template.")])))
    if key.chat:
        add_fact(t("Chat template"), t("The model reads the text inside its chat template."))
    return key


def chosen_continuation(key: CheckpointKey, config: AnyConfig) -> tuple[CheckpointKey, ConfigError | None]:
    """As `with_chosen_continuation`, with the reason why the template is not applied in place of a message."""
    if not isinstance(config, ForeignConfig) or config.task != "continuation":
        return key, None
    chosen = choices().chosen
    number = chosen.get("new_tokens")
    allowed = lengths(config)
    if isinstance(number, int) and number in allowed:
        key = replace(key, new_tokens=number)
    elif NEW_TOKENS not in allowed:
        key = replace(key, new_tokens=allowed[-1])
    if not (chosen.get("chat") and config.tokenizer.chat_template):
        return key, None
    try:
        loading.chat_frame(key.model)
    except ConfigError as error:
        return key, error
    return replace(key, chat=True), None


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
        if method == "beam":
            return beam_search(config)
        if method == "sample":
            return sampling_settings()
        if method == "typed":
            translation_field()
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


def translation_field() -> None:
    settle("typed", "")
    st.text_input(
        t("The translation"),
        key="typed",
        max_chars=2000,
        on_change=keep_text,
        help=t("The model is forced to write this text, token by token."),
    )


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
