"""The tokens that the model read and wrote, and the text that it wrote, in large type."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

import streamlit as st

from model.config.section import ConfigError
from model.inference.run import Run
from model.inference.tokens import Token
from model.inference.translation import Translation
from viz_app.components.page_parts import announce
from viz_app.content.translation import t
from viz_app.services import analyses, loading, results
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import settle
from viz_app.session.page_facts import add_fact
from viz_app.widgets.chips import rows_of_chips
from viz_app.widgets.marked_text import sentence

__all__ = ["token_rows", "written_text"]


def written_text(key: CheckpointKey, run: Run) -> None:
    """Draw the tokens as chips, and the written text below them."""
    config, translation = loading.config_of(key), results.result_of(key, run)
    if translation.text:
        add_fact(t("Translation") if config.task == "translation" else t("Text"), translation.text)
    shares = source_shares(key, run)
    html = rows_of_chips(
        token_rows(translation),
        languages=translation.languages,
        shares=shares,
        lined=bool(config.model.kinds),
    )
    if translation.text:
        html += sentence(translation.text, translation.languages[1])
    elif translation.written:
        html += sentence(t("(the model wrote nothing)"))
    st.html(html)
    announce(translation.text, languages=translation.languages)
    if shares:
        st.caption(
            t("Bar below a token: blue is the share from the source, orange the share from the tokens before it.")
        )


def token_rows(translation: Translation) -> Mapping[str, Sequence[Token]]:
    """The tokens that the model reads at first, and those that it writes after them."""
    given = translation.prompt_length
    return {"reads": translation.source or translation.read[: given + 1], "writes": translation.written[given:]}


def source_shares(key: CheckpointKey, run: Run) -> list[float]:
    """For each written token, its share from the source; empty where the visitor does not want it or it is too long."""
    settle("shares", False)
    if not st.session_state["shares"] or analyses.why_no_residual_stream(key):
        return []
    with suppress(ConfigError):  # the text is too long
        given = results.result_of(key, run).prompt_length
        shares: list[float] = analyses.influence_of(key, run).given(given)[given:].tolist()
        return shares
    return []
