"""What a head reads and writes: the circuits in its weights, and the heads that it is composed with."""

from collections.abc import Callable, Sequence
from itertools import islice
from typing import TypeVar

import numpy as np
import pandas as pd
import streamlit as st

from model.analysis.head_circuits import (
    Composition,
    Extremes,
    compositions,
    copying_score,
    spectrum,
    token_keys,
    token_writes,
)
from model.config.kinds import KINDS
from model.config.section import ConfigError
from model.inference.run import Token
from model.interventions import Head
from viz_app.content.examples import demonstration_for
from viz_app.content.numbers import decimal, sentences
from viz_app.content.plain import plain, visible
from viz_app.content.translation import N_, t, worded
from viz_app.figures.lines import curves
from viz_app.sections.heads.intervention_choice import head_name
from viz_app.sections.sentiment import require_run_or_review
from viz_app.services import models
from viz_app.services.analyses import analysis_of, why_no
from viz_app.services.listing import CheckpointKey
from viz_app.session.page_end import end_page
from viz_app.widgets.charts import draw
from viz_app.widgets.head_picker import heads_per_kind, pick_kind_and_head, picker_columns
from viz_app.widgets.headings import explain, section

__all__ = ["reads_and_writes"]

MOST_TOKENS = 12  # of the text, in a table
MOST_HEADS = 8  # in a list of compositions
STAGE_LABELS = {"queries": N_("queries (Q)"), "keys": N_("keys (K)"), "values": N_("values (V)")}
Answer = TypeVar("Answer")


def reads_and_writes(key: CheckpointKey) -> None:
    """Ask for a text and a head; draw its two circuits for the tokens, its singular values and its compositions."""
    if problem := why_no("residual stream", key):
        end_page(plain(worded(problem)))
    config = models.config_of(key)
    result = models.result_of(key, require_run_or_review(key, opening=demonstration_for(config).heads))
    head = Head(*pick_kind_and_head(picker_columns("kind", "head"), heads_per_kind(config)))
    kind, tokenizers = KINDS[head.kind], models.loaded(key).tokenizers
    read, source = result.read, result.source
    queries, keys = (first_tokens(source if side == "source" else read) for side in (kind.queries, kind.keys))
    section(t("What it looks for"), t("A query token gives these keys of the vocabulary the highest scores."))
    if found := offered(token_keys, key, head, tuple(queries)):
        of_keys = tokenizers.source if kind.keys == "source" else tokenizers.target
        columns = t("query token"), t("looks for"), t("avoids")
        token_table([*queries.values()], found, of_keys.tokens, columns, alt=t("The keys that each token looks for"))
        if models.loaded(key).model.rotations(kind.stack):
            st.caption(t("With rotary positions, this holds for a query and a key at the same position."))
    section(t("What it writes"), t("When the head reads a token, it raises the logits of these tokens most."))
    if found := offered(token_writes, key, head, tuple(keys)):
        columns = t("read token"), t("raises"), t("lowers")
        token_table(
            [*keys.values()], found, tokenizers.target.tokens, columns, alt=t("The tokens that each token raises")
        )
        if (copying := offered(copying_score, key, head)) is not None:
            st.caption(t("Copying score: {score}. A head that copies what it reads has 1.", score=f"{copying:+.2f}"))
    explain("head-circuits")
    singular_values(key, head)
    composed_heads(key, head)


def offered(function: Callable[..., Answer], key: CheckpointKey, *arguments: object) -> Answer | None:
    """The result of an analysis; None after a sentence that says why the head has none."""
    try:
        return analysis_of(function, key, *arguments)
    except ConfigError as error:
        st.caption(plain(worded(error)))
        return None


def first_tokens(tokens: Sequence[Token]) -> dict[int, str]:
    """The id and the label of the first different tokens of a text."""
    return dict(islice({token.id: token.label for token in tokens}.items(), MOST_TOKENS))


def token_table(
    tokens: Sequence[str],
    found: Extremes,
    labels: Callable[[Sequence[int]], Sequence[str]],
    columns: tuple[str, str, str],
    *,
    alt: str,
) -> None:
    """One row per token, with the tokens at both ends of its list."""
    ends = ([[visible(one) for one in labels(row)] for row in ids.tolist()] for ids in (found.most, found.least))
    st.dataframe(
        pd.DataFrame(dict(zip(columns, (list(tokens), *ends), strict=True))),
        hide_index=True,
        alt=alt,
    )


def singular_values(key: CheckpointKey, head: Head) -> None:
    found = offered(spectrum, key, head)
    if not found:
        return
    ranks = [
        t("{circuit}: effective rank {rank}.", circuit=name, rank=decimal(one.effective_rank, digits=1))
        for name, one in found.items()
    ]
    size = max(len(one.values) for one in found.values())
    draw(
        curves(
            list(range(1, size + 1)),
            {name: one.values.astype(np.float32) for name, one in found.items()},
            title=t("singular value"),
            over=t("number of the singular value"),
            height=260,
        ),
        heading=t("How many directions it uses"),
        about=sentences([t("The singular values of both circuits."), *ranks]),
        key="head_spectrum",
        alt=t("Singular values of the circuits of the head"),
    )


def composed_heads(key: CheckpointKey, head: Head) -> None:
    found = offered(compositions, key, head)
    if found is None:
        return
    section(
        t("Which heads work together"),
        t("How much of what one head writes is what another reads. Random heads have {score}.",
          score=decimal(found.baseline, digits=3)),
    )  # fmt: skip
    for place, title, links, none in zip(
        st.columns(2),
        (t("writes for this head"), t("reads this head")),
        ([(one.writer, one) for one in found.into], [(one.reader, one) for one in found.out_of]),
        (t("No earlier head writes for this head."), t("No later head reads this head.")),
        strict=True,
    ):
        with place:
            composition_table(title, links) if links else st.caption(none)
    explain("head-compositions")


def composition_table(title: str, links: Sequence[tuple[Head, Composition]]) -> None:
    rows = [
        {title: head_name(other), t("through"): t(STAGE_LABELS[one.through]), t("score"): one.score}
        for other, one in links[:MOST_HEADS]
    ]
    numbers = {t("score"): st.column_config.NumberColumn(format="%.3f")}
    st.dataframe(
        pd.DataFrame(rows), hide_index=True, column_config=numbers, alt=t("Table of heads: {title}", title=title)
    )
