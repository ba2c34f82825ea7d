"""Choose the maps that a page shows: one kind of attention, optionally with merged subwords or no special tokens."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from model.analysis.statistics import merge_tokens, rollout, translation_rollout
from model.config.kinds import KINDS
from model.inference.run import Result, Token, labelled
from model.text.shown_bytes import whole_characters
from model.text.tokenizers import CONTINUES
from viz_app.content.numbers import decimal
from viz_app.content.plain import isolated
from viz_app.content.translation import N_, t
from viz_app.figures.style import Axes, FloatArray, bound_of

__all__ = [
    "ONE_TEXT",
    "AttentionView",
    "ChosenMap",
    "chosen_map",
    "select_head",
    "step_weights",
    "view",
    "with_rollout",
    "with_value_norms",
]

AGGREGATES = {"mean": N_("mean over {n} heads"), "max": N_("max over {n} heads")}
# The titles of rows and columns where the model has only one text.
ONE_TEXT = {
    "target token being written": N_("token being written"),
    "source token": N_("token"),
    "source token being encoded": N_("token being encoded"),
    "target token just read": N_("token just read"),
    "target token read so far": N_("token read so far"),
}


@dataclass(frozen=True, kw_only=True)
class AttentionView:
    """Maps (L, H, T, S) with their labels."""

    maps: FloatArray
    axes: Axes
    allowed: NDArray[np.bool_]  # (L, T, S): False where every token of the cell is masked
    hidden_share: FloatArray  # (L, H): share of a row's weight on keys that are not shown, mean over the rows
    second_start: int = 0  # the first key of the second text of a pair; 0 for a single text


def with_value_norms(translation: Result, norms: Mapping[str, FloatArray]) -> Result:
    """Each weight times the norm of its projected value vector, ‖αf(x)‖ (Kobayashi et al. 2020)."""
    maps = translation.maps
    return replace(
        translation,
        maps={kind: weights * norms[kind][:, :, None] for kind, weights in maps.items()},
    )


def with_rollout(translation: Result) -> Result:
    """Replace the heads of each layer by one map: the attention rollout through this layer and those before it."""
    maps = translation.maps
    masks = {kind: reached(mask) for kind, mask in translation.masks.items()}
    if "cross" not in maps:
        rolled = {kind: rollout(weights)[:, None] for kind, weights in maps.items()}
        return replace(translation, maps=rolled, masks=masks)
    decoder, cross = translation_rollout(maps["encoder"], maps["decoder"], maps["cross"])
    rolled = {"encoder": rollout(maps["encoder"])[:, None], "decoder": decoder[:, None], "cross": cross[:, None]}
    return replace(translation, maps=rolled, masks=masks)


def reached(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The keys that a query can reach through each layer and those before it. Masks are (L, T, T); windows add up."""
    layers = [mask[0] | np.eye(len(mask[0]), dtype=bool)]
    for own in mask[1:]:
        layers.append((own.astype(np.int64) @ layers[-1] > 0) | layers[-1])
    return np.stack(layers)


def view(translation: Result, kind: str, *, merge: bool, hide_special: bool) -> AttentionView:
    """Choose and condense the maps of one kind of attention.

    Args:
        translation: With its recorded maps.
        kind: One of `KINDS`.
        merge: Join the tokens of a word, see `merge_tokens`.
        hide_special: Leave out rows and columns of `<s>` and `</s>`.
    """
    maps: FloatArray = translation.maps[kind]
    queries, keys = translation.tokens_of(kind)
    query_groups, key_groups = groups(queries, merge), groups(keys, merge)
    allowed = translation.mask_of(kind).astype(np.float32)  # (L, T, S)
    if merge:
        maps, allowed = (merge_tokens(weights, query_groups, key_groups) for weights in (maps, allowed))
    query_special, key_special = special(queries, query_groups), special(keys, key_groups)
    # Never hide everything: an empty text has only special tokens.
    hide_queries = hide_special and not query_special.all()
    hide_keys = hide_special and not key_special.all()
    rows = ~query_special if hide_queries else np.ones_like(query_special)
    columns = ~key_special if hide_keys else np.ones_like(key_special)
    shown_rows = maps if rows.all() else maps[..., rows, :]  # the maps of a long text take 100 MB
    return AttentionView(
        maps=shown_rows if columns.all() else shown_rows[..., columns],
        allowed=allowed[:, rows][:, :, columns] > 0,
        axes=Axes(
            queries=[label for label, shown in zip(labels(queries, query_groups), rows, strict=True) if shown],
            keys=[label for label, shown in zip(labels(keys, key_groups), columns, strict=True) if shown],
            query_title=t("query: {token}", token=named(KINDS[kind].query, translation)),
            key_title=t("key: {token}", token=named(KINDS[kind].key, translation)),
            query_lang=translation.language_of(KINDS[kind].queries),
            key_lang=translation.language_of(KINDS[kind].keys),
            query_notes=[] if merge or kind == "encoder" else steps(translation, rows),
        ),
        # Divide by the row's sum: in the rollout of a decoder, source and target together sum to 1.
        second_start=int(columns[: key_groups[translation.second_start]].sum()) if kind == "encoder" else 0,
        hidden_share=(shown_rows[..., ~columns].sum(axis=-1) / shown_rows.sum(axis=-1).clip(1e-9)).mean(axis=-1),
    )


def named(title: str, translation: Result) -> str:
    """The title without "source" and "target" if the model has only one text."""
    return t(title if translation.source and translation.written else ONE_TEXT[title])


def steps(translation: Result, shown: NDArray[np.bool_]) -> list[str]:
    """The token that the decoder reads, and the one that it writes, at each shown position."""
    pairs = zip(translation.read, translation.written, shown, strict=True)
    return [
        t("after reading “{read}”, writes “{written}”", read=isolated(read.text), written=isolated(written.text))
        for read, written, kept in pairs
        if kept
    ]


def groups(tokens: tuple[Token, ...], merge: bool) -> list[int]:
    """The index of each token's label. Merged tokens of one word share a label; special tokens are never merged."""
    index, found = -1, []
    for i, token in enumerate(tokens):
        same = merge and i > 0 and token.word >= 0 and token.word == tokens[i - 1].word
        index += not same
        found.append(index)
    return found


def labels(tokens: tuple[Token, ...], grouping: list[int]) -> list[str]:
    joined, parts = [""] * (grouping[-1] + 1), [""] * (grouping[-1] + 1)
    for token, group in zip(tokens, grouping, strict=True):
        joined[group] += token.text.removeprefix(CONTINUES) if joined[group] else token.text
        parts[group] = token.part
    # The space before a rare word can be a separate token.
    if len(joined) < len(tokens):
        joined = [whole_characters(text).lstrip("␣") or text for text in joined]
    return list(map(labelled, joined, parts))


def special(tokens: tuple[Token, ...], grouping: list[int]) -> NDArray[np.bool_]:
    flags = np.zeros(grouping[-1] + 1, dtype=bool)
    for token, group in zip(tokens, grouping, strict=True):
        flags[group] |= token.special
    return flags


def select_head(maps: FloatArray, layer: int, head: int | str) -> FloatArray:
    """One map (T, S): of a head counted from 0, or the "mean" or "max" over the heads of the layer."""
    if isinstance(head, int):
        return np.asarray(maps[layer, head])
    return np.asarray(maps[layer].mean(axis=0) if head == "mean" else maps[layer].max(axis=0))


def step_weights(translation: Result, kind: str, step: int) -> pd.DataFrame:
    """Attention weights of one step as a table: a row for the mean and for each head, a column for each key."""
    rows = translation.maps[kind][:, :, step]  # (L, H, S)
    layers, heads, width = rows.shape
    keys = [f"{i} {token.label}" for i, token in enumerate(translation.tokens_of(kind)[1], start=1)]
    names = [
        t("layer {layer} · head {head}", layer=layer + 1, head=head + 1)
        for layer in range(layers)
        for head in range(heads)
    ]
    flat = rows.reshape(-1, width)
    return pd.DataFrame([flat.mean(axis=0), *flat], index=[t("mean of all"), *names], columns=keys)


@dataclass(frozen=True, kw_only=True)
class ChosenMap:
    """The one map that is drawn large."""

    weights: FloatArray  # (T, S)
    allowed: NDArray[np.bool_]  # (T, S): False where masked
    name: str
    unit: str
    largest: float  # upper end of its colour scale
    meaning: str  # a sentence about a cell or a row, for the page
    hidden_share: float  # of a row's weight on keys not shown, mean over the rows; 0 where rows do not sum to 1


def sentence_on_sums(weights: FloatArray) -> str:
    """What the rows of a map (T, S) sum to. A model with attention sinks, or a silenced head, has smaller sums."""
    sums = weights.sum(axis=-1)
    if not np.isfinite(sums).all():
        return t("Some weights are not a number.")
    if np.allclose(sums, 1, atol=1e-3):
        return t("Each row sums to 1.")
    lowest, highest = decimal(sums.min(), digits=2), decimal(sums.max(), digits=2)
    return t("The rows sum to {lowest} to {highest}.", lowest=lowest, highest=highest)


def chosen_map(
    shown: AttentionView, rolled: AttentionView | None, layer: int, head: int | str, *, weighted: bool
) -> ChosenMap:
    """The map of a head, or the "mean", "max" or "rollout" of a layer, with its name, unit and meaning.

    Args:
        shown: The maps of all heads.
        rolled: The maps of `with_rollout`, only for "rollout".
        layer: Counted from 0.
        head: Counted from 0, or one of the aggregates.
        weighted: `shown` contains the maps of `with_value_norms`.
    """
    layers, heads = shown.maps.shape[:2]
    if rolled is not None:
        return ChosenMap(
            weights=rolled.maps[layer, 0],
            allowed=rolled.allowed[layer],
            name=t("rollout through {n} of {all} layers", n=layer + 1, all=layers),
            unit=t("share"),
            largest=1.0,
            meaning=t("How much of each input token is left in each position."),
            hidden_share=float(rolled.hidden_share[layer, 0]),
        )
    hidden = float(shown.hidden_share[layer, head] if isinstance(head, int) else shown.hidden_share[layer].mean())
    sums = "" if hidden or weighted else sentence_on_sums(select_head(shown.maps, layer, head))
    return ChosenMap(
        weights=select_head(shown.maps, layer, head),
        allowed=shown.allowed[layer],
        name=t("head {head}", head=head + 1) if isinstance(head, int) else t(AGGREGATES[head], n=heads),
        unit=t("weight × ‖value‖") if weighted else t("attention weight"),
        largest=bound_of(shown.maps) if weighted else 1.0,
        meaning=t("Each cell is the largest of {n} weights.", n=heads) if head == "max" else sums,
        hidden_share=0.0 if head == "max" or weighted else hidden,
    )
