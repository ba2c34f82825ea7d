"""How the model writes: the search, the length of a continuation, and the words that the visitor forces or types.

Streamlit keeps a callback as long as the visitor's session, and a function of a page would keep everything that the
page computed. So the callbacks of all pages are here. A click may interrupt a page at any line, so callbacks read only
the session.
"""

from dataclasses import replace

import streamlit as st

from model.config.foreign import ForeignConfig
from model.config.search import GREEDY, SearchConfig
from model.config.section import ConfigError
from model.inference.continuation import most_new_tokens
from model.inference.opening import AnyConfig
from model.inference.run import Forced, Run
from model.inference.search_tree import SearchTree
from model.inference.translate import require_writing, with_model_settings
from model.text.vocab import NEW_TOKENS
from viz_app.content.numbers import decimal, joined, sentences
from viz_app.content.plain import plain
from viz_app.content.translation import N_, t
from viz_app.services import loading, results
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import choices, hand_over, set_choice, settle, settle_number
from viz_app.session.page_facts import add_fact

__all__ = [
    "beam_search",
    "can_undo",
    "chosen_continuation",
    "chosen_forced_tokens",
    "clear_forced_words_button",
    "dropped_tokens_warning",
    "force",
    "force_path",
    "forced_words_caption",
    "forced_words_note",
    "keep_to_subject",
    "note_greedy_search",
    "remember_step",
    "search_picker",
    "text_choices",
    "typed_translation",
    "undo",
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


def chosen_continuation(key: CheckpointKey, config: AnyConfig) -> tuple[CheckpointKey, ConfigError | None]:
    """The key with the chosen number of new tokens and chat template; unchanged for a model that continues no text.

    Also returns why the template is not applied, if it cannot be used.
    """
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
    """The tokens to force into a greedy translation: all of a typed translation, else the words that were clicked.

    Ids and positions from a link that the model does not have are left out.
    """
    if typed := typed_translation(loading.config_of(key)):
        forced = results.tokens_to_force(key, typed)
    else:
        settle("forced", ())
        sizes = require_writing(loading.translator(key)).config
        most, words = sizes.max_length, sizes.target_vocab_size
        forced = tuple((at, token) for at, token in forced_now() if at < most and token < words)
    if forced:
        add_fact(t("Forced"), t("The visitor forced some of the words."))
    return forced


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


def remember_step(step: int) -> None:
    """Keep a step of the decoder, counted from 0, for the link, where it counts from 1."""
    set_choice("step", step + 1)


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


def dropped_tokens_warning(forced: Forced, positions: int) -> str:
    """A sentence for a typed translation that has more tokens than the model has positions; else empty."""
    typed = len(forced)
    if typed <= positions:
        return ""
    return t(
        "Your translation has {typed} tokens, with the end mark, and this model has {positions} positions. The "
        "last {left_out} tokens were left out. Type a shorter translation.",
        typed=decimal(typed),
        positions=decimal(positions),
        left_out=decimal(typed - positions),
    )


def forced_words_caption(key: CheckpointKey, run: Run) -> None:
    """Name the forced words and their log-probability, and the translation without them.

    Args:
        key: The key of the checkpoint.
        run: A run with at least one forced token.
    """
    config = loading.config_of(key)
    free, translation = results.result_of(key, run.usual), results.result_of(key, run)
    written = translation.written
    words = [
        t("“{word}” at step {step}", word=plain(written[position].text), step=position + 1)
        for position, _ in run.forced
        if position < len(written)
    ]
    typed = bool(typed_translation(config))
    first = t("You typed this translation.") if typed else t("Forced: {words}.", words=joined(words))
    comparison = t(
        "The translation has the log-probability {forced}. Without forced words, the model writes “{text}”. The "
        "log-probability of this text is {free}.",
        forced=decimal(translation.log_prob, digits=2),
        text=plain(free.text),
        free=decimal(free.log_prob, digits=2),
    )
    st.caption(sentences([first, comparison]))
    if warning := dropped_tokens_warning(run.forced, config.model.max_length):
        st.warning(warning)


def clear_forced_words_button(*, disabled: bool = False) -> None:
    """A button that clears the forced words, or the translation that the visitor typed."""
    st.button(
        t("Clear forced words"),
        icon=":material/restart_alt:",
        disabled=disabled,
        on_click=clear_forced_tokens,
        width="stretch",
    )


def forced_words_note(key: CheckpointKey, run: Run) -> None:
    """The caption and the button side by side."""
    caption, clear = st.columns([5, 1.6], vertical_alignment="center")
    with caption:
        forced_words_caption(key, run)
    with clear:
        clear_forced_words_button()
