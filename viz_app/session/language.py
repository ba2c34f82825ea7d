"""Which language a visitor reads: the chosen one, else that of the browser, else English."""

import streamlit as st

from viz_app.content.catalogues import ENGLISH, offered_languages
from viz_app.content.numbers import native_name
from viz_app.content.translation import ask_visitor, t, use_language
from viz_app.server.streamlit_bridge import has_page
from viz_app.session.choices import choices, show_choice

__all__ = ["begin_language", "chosen_language", "language_switch", "visitor_language"]

CHOICE = "lang"


def begin_language() -> None:
    """Before a run of the page or a callback: use the language of its visitor in this thread."""
    ask_visitor(visitor_language)
    use_language(visitor_language())


def visitor_language() -> str:
    """The language of this visitor, one of `offered_languages`; English in a thread without one, such as a job."""
    if not has_page():
        return ENGLISH
    chosen = choices().chosen.get(CHOICE)
    return chosen if isinstance(chosen, str) and chosen in offered_languages() else browser_language(st.context.locale)


def browser_language(tag: str | None) -> str:
    """Ours for the language tag of a browser, such as "zh" for "zh-TW"; English if we do not have it."""
    code = (tag or "").replace("_", "-").partition("-")[0].lower()
    return code if code in offered_languages() else ENGLISH


def chosen_language() -> dict[str, str]:
    """The parameter of an address that keeps the language; empty if the visitor did not choose one."""
    return {CHOICE: str(choices().chosen[CHOICE])} if CHOICE in choices().chosen else {}


def language_switch() -> None:
    """Draw the choice of the language. Each one has its name in its own language."""
    show_choice(CHOICE, visitor_language())
    st.selectbox(
        t("Language"),
        offered_languages(),
        key=CHOICE,
        format_func=native_name,
        label_visibility="collapsed",
        width=110,
    )
