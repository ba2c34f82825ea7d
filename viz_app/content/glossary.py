"""The technical terms on the pages, each with a definition of one or two sentences. `glossary.toml` holds them."""

import tomllib
from collections.abc import Mapping
from html import escape
from pathlib import Path

import streamlit as st

from viz_app.content.translation import t

__all__ = ["GLOSSARY", "definitions", "glossary"]

# Term → its definition, both marked for translation.
GLOSSARY: Mapping[str, str] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def definitions(*terms: str) -> str:
    """Return the HTML list of these terms with their definitions, or of all terms if none are given.

    Args:
        terms: As in `GLOSSARY`, in English.
    """
    rows = (f"<dt>{escape(t(term))}</dt><dd>{escape(t(GLOSSARY[term]))}</dd>" for term in terms or GLOSSARY)
    return f"<dl>{''.join(rows)}</dl>"


def glossary() -> None:
    """Draw the popover with all terms."""
    with st.popover(t("Glossary"), icon=":material/menu_book:", type="tertiary"):
        # A region that scrolls must be reachable with the keyboard. Streamlit's own popover is not.
        label = escape(t("Terms"))
        st.html(f'<div class="hl-terms" role="region" aria-label="{label}" tabindex="0">{definitions()}</div>')
