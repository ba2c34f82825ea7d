"""How a language model continues a text: the number of new tokens, and its chat template."""

from dataclasses import replace

import streamlit as st

from model.config.foreign import ForeignConfig
from model.config.section import ConfigError
from model.inference.continuation import most_new_tokens
from model.inference.opening import AnyConfig
from model.text.vocab import NEW_TOKENS
from viz_app.content.numbers import decimal, sentences
from viz_app.content.plain import as_sentence, plain
from viz_app.content.translation import N_, t, worded
from viz_app.services import loading
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import choices, settle
from viz_app.session.page_facts import add_fact

__all__ = ["chosen_continuation", "continuation_settings", "with_chosen_continuation"]

MAX_SHOWN = 1_500  # characters of a part of a template
# What is said about a part of the template: with text, and without.
BEFORE = (N_("Before the text, the template adds:"), N_("Before the text, the template adds nothing."))
AFTER = (N_("After the text, the template adds:"), N_("After the text, the template adds nothing."))


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
