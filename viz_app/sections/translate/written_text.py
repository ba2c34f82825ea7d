"""What the model read and wrote, with notes about what was forced, cut or set by its files."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

import streamlit as st

from model.analysis.influence import influence
from model.config.foreign import ForeignConfig
from model.config.section import ConfigError
from model.inference.findings import finding_in_run
from model.inference.opening import AnyConfig
from model.inference.run import Result, Run, Token
from model.text.pair import texts_of
from viz_app.components.page_parts import add_fact, announce
from viz_app.content.numbers import decimal, joined
from viz_app.content.plain import plain
from viz_app.content.translation import N_, t, tn, worded
from viz_app.services import analyses, models
from viz_app.services.analyses import analysis_of
from viz_app.services.listing import CheckpointKey
from viz_app.widgets.forced_words import dropped_tokens_warning, forced_words_note
from viz_app.widgets.marked_text import rows_of_chips, sentence
from viz_app.widgets.run_form import PAIR_CUT
from viz_app.widgets.switches import view_settings

__all__ = ["token_rows", "translation_notes", "written_text"]

CUT = {
    "translation": N_("This model has {positions} positions. The last {dropped} tokens of the text were left out."),
    "continuation": N_(
        "This model has {positions} positions, and keeps some of them for what it writes. The last {dropped} tokens of "
        "the text were left out."
    ),
    "pair": PAIR_CUT,
}
GENERATION = {  # what `GenerationSettings` lists → a note
    "followed": N_(
        "Every search follows {settings}. The probabilities on this page are the model's own, before these settings."
    ),
    "suggested": N_(
        "The library's `generate` would search with {settings}. Here you choose the search. Beam search follows "
        "`length_penalty` and `early_stopping`."
    ),
    "ignored": N_("Headlight does not follow {settings}. So `generate` may write another text."),
}
MOST_LEFT_OUT = 20  # parts of a text that a note names
MAX_VALUE = 60  # characters of a value


def written_text(key: CheckpointKey, run: Run) -> None:
    """Draw the tokens as chips, and the written text below them."""
    config, translation = models.config_of(key), models.result_of(key, run)
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


def token_rows(translation: Result) -> Mapping[str, Sequence[Token]]:
    """The tokens that the model reads at first, and those that it writes after them."""
    given = translation.prompt_length
    return {"reads": translation.source or translation.read[: given + 1], "writes": translation.written[given:]}


def source_shares(key: CheckpointKey, run: Run) -> list[float]:
    """For each written token, its share from the source; empty where the visitor does not want it or it is too long."""
    if not view_settings().shares or analyses.why_no("residual stream", key):
        return []
    with suppress(ConfigError):  # the text is too long
        given = models.result_of(key, run).prompt_length
        shares: list[float] = analysis_of(influence, key, run).given(given)[given:].tolist()
        return shares
    return []


def translation_notes(key: CheckpointKey, run: Run) -> None:
    """Draw all notes that apply."""
    config, translation = models.config_of(key), models.result_of(key, run)
    # Notes come and go. In a container, they do not move what follows, which the browser would build again.
    with st.container():
        if run.forced:
            forced_words_note(key, run)
        if finding := finding_in_run(translation):
            st.warning(plain(worded(finding)))
        generation_note(config)
        if (longest := max(map(len, texts_of(run.text)))) > models.MAX_CHARACTERS:
            st.warning(
                t(
                    "The text has {n} characters. Only the first {limit} were read.",
                    n=decimal(longest),
                    limit=decimal(models.MAX_CHARACTERS),
                )
            )
        if left_out := models.left_out_of(key, run.text):
            parts = plain(joined([f"“{part}”" for part in left_out[:MOST_LEFT_OUT]]))
            st.warning(t("The vocabulary of this model does not have {parts}. This was left out.", parts=parts))
        if translation.dropped:
            cut = CUT["pair"] if translation.second_start else CUT.get(config.task, CUT["translation"])
            st.warning(t(cut, positions=config.model.max_length, dropped=translation.dropped))
        if not translation.finished:
            unfinished(config, run, translation)


def unfinished(config: AnyConfig, run: Run, translation: Result) -> None:
    """Say where the model was stopped before it wrote an end."""
    if config.task == "continuation":
        written = len(translation.written) - translation.prompt_length
        st.caption(
            tn(
                "The continuation has no end: the model was stopped after {n} token.",
                "The continuation has no end: the model was stopped after {n} tokens.",
                n=written,
            )
        )
    elif not dropped_tokens_warning(run.forced, config.model.max_length):
        st.warning(t("The translation has no end: the model was stopped at the length limit for this source."))


def generation_note(config: AnyConfig) -> None:
    """Name the settings that every search follows, the search that they suggest, and the rest."""
    if not isinstance(config, ForeignConfig) or config.task not in ("translation", "continuation"):
        return
    notes = [
        t(note, settings=listed(settings))
        for name, note in GENERATION.items()
        if (settings := getattr(config.generation, name))
    ]
    if notes:
        with st.popover(t("Generation settings of this model"), icon=":material/rule:", type="tertiary"):
            for note in notes:
                st.markdown(note)


def listed(settings: Mapping[str, object]) -> str:
    return ", ".join(f"`{name}` {plain(shortened(str(value)))}" for name, value in settings.items())


def shortened(value: str) -> str:
    return (
        value
        if len(value) <= MAX_VALUE
        else t("{value} … ({n} characters)", value=value[:MAX_VALUE], n=decimal(len(value)))
    )
