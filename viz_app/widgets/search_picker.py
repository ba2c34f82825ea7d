"""The search that chooses the tokens of a translation, and a translation that the visitor types instead."""

import streamlit as st

from model.config.foreign import ForeignConfig
from model.config.search import SearchConfig
from model.inference.opening import AnyConfig
from model.inference.searching import GREEDY, with_model_settings
from viz_app.content.translation import N_, t
from viz_app.session.choices import choices, settle, settle_number
from viz_app.widgets.continuation_choice import continuation_settings
from viz_app.widgets.forced_tokens import keep_text

__all__ = ["beam_search", "note_greedy_search", "search_picker", "typed_translation"]

METHODS = {"greedy": N_("Greedy"), "beam": N_("Beam"), "sample": N_("Sampling"), "typed": N_("Typed by you")}
NOT_GREEDY = {
    "beam": N_(":material/info: This page shows greedy search. Your beam search applies to other pages."),
    "sample": N_(":material/info: This page shows greedy search. Your sampling applies to other pages."),
}
BEAM_SIZES = range(2, 9)


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
