"""Parts of the page Sentiment."""

from collections.abc import Mapping
from functools import partial
from math import isfinite

import numpy as np
import pandas as pd
import streamlit as st

from model.analysis.deletion import Deletion, count_words, delete_each_word
from model.analysis.statistics import rollout
from model.checkpoints.languages import tag
from model.inference.classify import Classification
from model.inference.confidence import MAX_UNREAD_SHARE
from model.inference.opening import AnyConfig
from model.inference.run import Run
from model.interventions import Head
from model.text.pair import Text, texts_of
from viz_app.components.page_parts import add_fact
from viz_app.content.examples import REVIEWS
from viz_app.content.explanations import EXPLANATIONS
from viz_app.content.numbers import percent
from viz_app.content.plain import plain
from viz_app.content.translation import N_, t, tn
from viz_app.figures.style import FloatArray, bound_of
from viz_app.services import models
from viz_app.services.analyses import analysis_of
from viz_app.services.attention_view import view
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import settle
from viz_app.session.page_end import end_page
from viz_app.widgets.atlas_links import MapOf, draw_head_map
from viz_app.widgets.charts import numbers
from viz_app.widgets.choosing import choose
from viz_app.widgets.head_picker import choose_window, pick_head
from viz_app.widgets.headings import grade_line, section
from viz_app.widgets.marked_text import changed_text, sentence, weighted_text
from viz_app.widgets.run_form import (
    PAIR_CUT,
    note_text_too_long_for_link,
    require_run,
    separator_in,
    use_example,
    with_second_text,
)
from viz_app.widgets.text_notes import note_cleaning

__all__ = [
    "ask_for_review",
    "draw_review_map",
    "draw_word_attention",
    "example_list",
    "note_limits",
    "require_review",
    "require_run_or_review",
    "show_class",
    "show_top_words",
    "word_deletion",
]

TOP_WORDS = 12
POOLING_NAMES = {"attention": N_("pooling, mean"), "mean": N_("mean of all words"), "first": N_("first token")}


def require_run_or_review(key: CheckpointKey, *, opening: str = "") -> Run:
    """The run over the visitor's text, or over a review for a classifier.

    Raises:
        PageEnded: the field is empty.
    """
    config = models.config_of(key)
    if config.task == "classification":
        return Run(text=require_review(config, opening=opening))
    return require_run(key, opening=opening)


def require_review(config: AnyConfig, *, opening: str = "") -> Text:
    """Ask for a review, or for a pair of texts.

    Raises:
        PageEnded: the field is empty.
    """
    text = ask_for_review(config, height=80, opening=opening)
    review, _ = texts_of(text)
    if not review.strip():
        end_page(t("Type a review above."))
    add_fact(t("Review"), review)
    return text


def ask_for_review(config: AnyConfig, *, height: int, opening: str = "") -> Text:
    """Ask for a review, which may be empty, in a field of this height in pixels; or for a pair of texts."""
    settle("review", opening or REVIEWS[0])
    text = st.text_area(
        t("Type or paste a text") if separator_in(config) else t("Type or paste a film review in English"),
        key="review",
        height=height,
        max_chars=models.MAX_CHARACTERS,
    )
    whole = with_second_text(config, text or "", st.container())
    note_text_too_long_for_link(*texts_of(whole))
    note_cleaning(config, *texts_of(whole))
    return whole


def example_list() -> None:
    """Offer reviews to choose from, before the field itself."""
    st.selectbox(
        t("Examples"),
        REVIEWS,
        index=None,
        key="review_example",
        placeholder=t("Choose a review"),
        on_change=use_example,
        args=("review_example", "review"),
    )


def show_class(reading: Classification) -> None:
    """Show the class, and the probability of every class as a bar."""
    st.html(sentence(t("{label}: {share}", label=reading.label, share=percent(reading.probabilities[reading.label]))))
    for label, probability in reading.probabilities.items():
        st.progress(probability if isfinite(probability) else 0.0, plain(f"{label} {percent(probability)}"))


def note_limits(reading: Classification, *, max_length: int) -> None:
    """Say that the class is a guess, or that a part of the review was left out, where this is so."""
    if reading.unread > MAX_UNREAD_SHARE:
        st.caption(
            t(
                ":material/info: Much of this text is not in the vocabulary of this model, so its class is largely a "
                "guess."
            )
        )
    if reading.dropped and any(reading.parts):
        st.warning(t(PAIR_CUT, positions=max_length, dropped=reading.dropped))
    elif reading.dropped:
        st.warning(
            tn(
                "The model reads up to {limit} tokens. {n} token from the middle of the review was left out. Its "
                "beginning and its end were kept.",
                "The model reads up to {limit} tokens. {n} tokens from the middle of the review were left out. Its "
                "beginning and its end were kept.",
                n=reading.dropped,
                limit=max_length,
            )
        )


def draw_word_attention(reading: Classification, language: str) -> FloatArray:
    """Ask which attention is shown, shade the words by it, and return the share of each word, (S,)."""
    shares = shares_of_words(reading)
    names = {"rollout": t("rollout to the words"), "mean": t(POOLING_NAMES[reading.pooled_by])} | {
        f"pool {head}": t("pooling head {head}", head=head + 1) for head in range(len(shares) - 2)
    }
    weights = shares[choose(t("Attention"), names, key="reading")]
    st.caption(t(EXPLANATIONS["review-words"].text))
    st.html(weighted_text(reading.tokens, [float(weight) for weight in weights], tag(language), parts=reading.parts))
    return weights


def shares_of_words(reading: Classification) -> Mapping[str, FloatArray]:
    """Return the share of each word, (S,): by rollout, by the mean of the pooling heads, and by each pooling head."""
    equal = np.full((1, len(reading.tokens)), 1 / len(reading.tokens), dtype=np.float32)  # the mean of all vectors
    pooling = equal if reading.pooling is None else reading.pooling  # (H, S)
    mean = pooling.mean(axis=0)
    heads = pooling if reading.pooled_by == "attention" else ()
    return {
        "rollout": mean @ rollout(reading.encoder)[-1],
        "mean": mean,
        **{f"pool {head}": weights for head, weights in enumerate(heads)},
    }


def show_top_words(reading: Classification, weights: FloatArray) -> None:
    """Show the words with the largest shares as a table."""
    section(t("The words with the most attention"))
    top = np.argsort(weights)[::-1][:TOP_WORDS]
    words, share = [reading.token_labels[i] for i in top], t("share")
    st.dataframe(
        pd.DataFrame({t("word"): words, t("position"): top + 1, share: weights[top]}),
        hide_index=True,
        height=400,
        alt=t("Table of the words with the largest share"),
        column_config={
            share: st.column_config.ProgressColumn(format="%.4f", min_value=0.0, max_value=bound_of(weights))
        },
    )


def word_deletion(key: CheckpointKey, run: Run) -> None:
    """Draw how the probability of the class changes without each word."""
    reading, deletions = models.classification_of(key, run), analysis_of(delete_each_word, key, run.text)
    if not deletions:
        st.caption(t("Type two or more words to see which of them decide."))
        return
    label = plain(reading.label)
    section(t("Which words decide? Each word is deleted in turn"))
    st.caption(t("Blue: without this word, “{label}” is less probable. Red: it is more probable.", label=label))
    st.html(
        changed_text(
            [deletion.word for deletion in deletions],
            [deletion.change for deletion in deletions],
            tag(models.config_of(key).tokenizer.source_language),
            parts=[deletion.part for deletion in deletions],
        )
    )
    whole = reading.probabilities[reading.label]
    summary_column, table_column = st.columns([6, 1.1], vertical_alignment="center")
    summary_column.caption(plain(f"{strongest_word(deletions, reading)} {words_that_change_class(deletions, reading)}"))
    with table_column:
        numbers(
            {"": partial(deletion_table, deletions, reading)},
            summary=t("Probability of “{label}” with all words: {share}.", label=reading.label, share=percent(whole)),
            key="deletions",
            alt=t("The class of the review without each word"),
        )
    grade_line("deletion")
    if left_out := count_words(run.text) - len(deletions):
        st.caption(
            tn(
                "The review is too long to delete every word. Its last word was not deleted.",
                "The review is too long to delete every word. Its last {n} words were not deleted.",
                n=left_out,
            )
        )


def strongest_word(deletions: tuple[Deletion, ...], reading: Classification) -> str:
    """Name the word that changes the probability most when it is deleted."""
    strongest = max(deletions, key=lambda deletion: abs(deletion.change))
    whole = reading.probabilities[reading.label]
    return t(
        "“{word}” matters most: without it, the probability of “{label}” changes from {before} to {after}.",
        word=strongest.name,
        label=reading.label,
        before=percent(whole),
        after=percent(whole + strongest.change),
    )


def words_that_change_class(deletions: tuple[Deletion, ...], reading: Classification) -> str:
    """Say how many single words change the class when they are deleted."""
    deciding = [deletion for deletion in deletions if deletion.label != reading.label]
    if not deciding:
        return t("No single word changes the class.")
    if len(deciding) == 1:
        return t("Without “{word}” the class is “{label}”.", word=deciding[0].name, label=deciding[0].label)
    return tn(
        "{n} word changes the class when it is deleted.",
        "{n} words change the class when one of them is deleted.",
        n=len(deciding),
    )


def deletion_table(deletions: tuple[Deletion, ...], reading: Classification) -> pd.DataFrame:
    """Return a row for each word, with the strongest decrease first."""
    whole, change = reading.probabilities[reading.label], t("change")
    return pd.DataFrame(
        [
            {
                t("position"): position,
                t("word"): deletion.name,
                change: deletion.change,
                t("{label} without it", label=reading.label): whole + deletion.change,
                t("class without it"): deletion.label,
            }
            for position, deletion in enumerate(deletions, start=1)
        ]
    ).sort_values(change, ignore_index=True)


def draw_review_map(key: CheckpointKey, reading: Classification) -> None:
    """Ask for a head of the encoder, and draw its map."""
    section(t("Encoder self-attention"), t("How much each word (row) attends to each word (column)."))
    shown = view(reading, "encoder", merge=False, hide_special=False)
    layer, head = pick_head(*shown.maps.shape[:2], prefix="review_")
    weights = shown.maps[layer, head]
    draw_head_map(
        weights,
        shown.axes,
        shown.allowed[layer],
        window=choose_window(weights, shown.axes),
        of=MapOf(checkpoint=key, head=Head("encoder", layer, head), result=reading),
        key="review_map",
        least=430,
        alt=t(
            "Encoder self-attention of layer {layer}, head {head} over the words of the review",
            layer=layer + 1,
            head=head + 1,
        ),
    )
