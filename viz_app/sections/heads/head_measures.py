"""What the heads do, how much each matters, and where each points, measured on many sentences."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar

import numpy as np
import pandas as pd
import streamlit as st

from model.analysis.alignment import Pointer, aligned_pairs, link_all_pairs
from model.analysis.importance import Pairs, gradient_importance, importance_of_each_head, in_batches
from model.analysis.statistics import METRICS, mean_over_queries, metrics_of_run, rank_agreement, suggested_role
from model.atlas.store import ENDS
from model.config.kinds import KINDS
from model.config.section import ConfigError
from model.corpora.aligned import AlignedPair, Links, cooccurrence, error_rate
from model.inference.opening import AnyConfig
from model.inference.run import Run
from model.safety.json_files import decoded
from viz_app.content.examples import MORE, REVIEWS, SHORT_REVIEWS, examples_for
from viz_app.content.explanations import EXPLANATIONS
from viz_app.content.numbers import decimal, percent, sentences
from viz_app.content.plain import plain
from viz_app.content.tasks import about_task
from viz_app.content.translation import N_, t, worded
from viz_app.figures.grids import head_grids
from viz_app.figures.style import FloatArray, marked
from viz_app.services import analyses, models
from viz_app.services.analyses import Analysis, analysis_of
from viz_app.services.atlases import numbers_of, shown_atlas
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import settle
from viz_app.session.page_end import end_page
from viz_app.widgets.atlas_links import open_in_atlas
from viz_app.widgets.charts import draw
from viz_app.widgets.choosing import choose
from viz_app.widgets.headings import explain, grade_line, section
from viz_app.widgets.long_work import measured
from viz_app.widgets.run_form import separator_in
from viz_app.widgets.text_notes import note_cleaning

__all__ = ["head_importance", "head_roles", "sentence_set", "text_of_file", "word_alignment"]

MAX_LINES, MAX_LINE = 100, 500  # lines, characters of a line
FORM_OF_LINES = {  # whether the model reads pairs → what a line is
    False: N_("One sentence per line; you can add a tab and its translation"),
    True: N_("One text per line; you can add a tab and its second text"),
}
SOURCES = {"ours": N_("Our examples"), "pasted": N_("Your text"), "file": N_("A file")}
Metrics = Mapping[str, Mapping[str, FloatArray]]  # kind → metric → (L, H)
Roles = Mapping[str, list[list[str]]]  # kind → (L, H) of an id in `ROLES`, or nothing
Grids = Mapping[str, FloatArray]  # kind → (N, L, H), for N sentences
POSITIONAL = ("distance", "previous", "same", "next")
ROLES = {
    "previous": N_("previous token"),
    "same": N_("same token"),
    "next": N_("next token"),
    "end": N_("special token"),
}
METRIC_TEXTS = {  # metric → title, heading of a column, meaning
    "entropy": (N_("Entropy"), N_("entropy"), N_("How spread out the weights of a row are, in nats.")),
    "confidence": (N_("Confidence"), N_("confidence"), N_("The largest weight of a row.")),
    "distance": (N_("Distance"), N_("distance"), N_("How many tokens away the weight lies, on average.")),
    "previous": (N_("Previous"), N_("previous"), N_("The share of the weight on the previous token.")),
    "same": (N_("Same"), N_("same"), N_("The share of the weight on the token itself.")),
    "next": (N_("Next"), N_("next"), N_("The share of the weight on the next token.")),
    "end": (
        N_("End"),
        N_("end"),
        N_("The share of the weight on the special token: </s> of the source, <s> of the target."),
    ),
}
SINGLE = 0.5  # of the weight: more than this on one kind of position is a role
UNITS = {"entropy": N_("nats"), "distance": N_("tokens")}
MIN_SENTENCES = 10  # with fewer, other sentences give another order of the heads

Item = TypeVar("Item")
Row = tuple[str, str, float]  # what points, one of `STEPS`, alignment error rate

POINTERS = {"mean of all heads": N_("mean of all heads"), "rollout": N_("rollout"), "ALTI+": N_("ALTI+")}
STEPS = {"written": N_("written"), "read": N_("read")}  # of the target word


def sentence_set(config: AnyConfig, *, most_lines: int = MAX_LINES) -> Pairs:
    """Ask for sentences, at most so many; without any, a message ends the page."""
    source = choose(t("Sentences"), {name: t(label) for name, label in SOURCES.items()}, key="sentences_from")
    if source == "ours" and config.task == "classification":
        return tuple((text, "") for text in (*REVIEWS, *SHORT_REVIEWS))
    if source == "ours":
        more = MORE.get(config.tokenizer.source_language, ())
        return tuple((text, "") for text in (*examples_for(config), *more))
    lines = t(FORM_OF_LINES[bool(separator_in(config))])
    if source == "file":
        text = text_of_file(lines)
    else:
        settle("pasted", "")
        text = st.text_area(lines, key="pasted", max_chars=50_000, height=120) or ""
    return pairs_of(config, [line for line in text.splitlines() if line.strip()], most_lines)


def pairs_of(config: AnyConfig, lines: Sequence[str], most_lines: int) -> Pairs:
    """The sentence of each line, and the translation or second text behind its tab."""
    if not lines:
        end_page(t("Add at least one sentence."))
    longest = max(map(len, lines))
    if len(lines) > most_lines or longest > MAX_LINE:
        st.warning(
            t(
                "The text has {lines} lines, and its longest line has {longest} characters. Only the first "
                "{max_lines} lines and the first {max_characters} characters of each line are used.",
                lines=decimal(len(lines)),
                longest=decimal(longest),
                max_lines=decimal(most_lines),
                max_characters=MAX_LINE,
            )
        )
    parts = [line[:MAX_LINE].partition("\t") for line in lines[:most_lines]]
    note_cleaning(config, *(part for sentence, _, translation in parts for part in (sentence, translation)))
    return tuple((sentence.strip(), translation.strip()) for sentence, _, translation in parts)


def text_of_file(lines: str, *, key: str = "sentence_file") -> str:
    """Ask for a file of 1 MB at most. The session keeps its text: Streamlit forgets a file whose field is not drawn.

    Args:
        lines: What a line is, as a sentence.
        key: Of the field. Files of other fields are others.

    Raises:
        PageEnded: it is not UTF-8 text.
    """
    label = sentences([t("A UTF-8 text file."), lines])
    file = st.file_uploader(label, type=["txt", "tsv"], max_upload_size=1, key=key, on_change=take_file, args=(key,))
    name, text = st.session_state.get(f"kept_{key}", ("", b""))
    if not name:
        return ""
    if not file:
        st.caption(t("The sentences of {file} are still used. Upload another file to replace them.", file=plain(name)))
    try:
        return decoded(text, name)
    except ValueError as error:
        st.error(plain(worded(error)))
        end_page()


def take_file(key: str) -> None:
    """Callback: keep the file that the visitor chose, or forget the one that the visitor removed."""
    file = st.session_state[key]
    st.session_state[f"kept_{key}"] = (file.name, file.getvalue()) if file else ("", b"")


def head_roles(key: CheckpointKey) -> None:
    """Ask for sentences; draw one metric of every head, and the table of suggested roles."""
    texts = models.loaded(key).tokenizers.sources(sentence_set(models.config_of(key)))
    each = [
        analysis_of(metrics_of_run, key, Run(text=text))
        for text in with_progress(texts, N_("Sentence {done} of {total}."), at_least=15)
    ]
    grids = {kind: mean_over_queries([metrics[kind] for metrics in each]) for kind in each[0]}
    roles = {kind: roles_of(metrics) for kind, metrics in grids.items()}
    if analyses.has_sinks(key):
        st.caption(
            t(
                "This model has attention sinks, so the weights of a row sum to less than 1. Entropy and distance are "
                "those of the weights divided by their sum."
            )
        )
    metric_of_every_head(grids, roles, count=len(texts))
    if (table := table_of_the_atlas(key)) is None:
        table_of_roles(grids, roles)
    else:
        roles_in_the_corpus(table, roles)
    grade_line("roles")


def roles_of(metrics: Mapping[str, FloatArray]) -> list[list[str]]:
    """The suggested role of each head (L, H) of one kind of attention; nothing for a head without a single role."""
    layers, heads = metrics["entropy"].shape
    return [
        [
            suggested_role({name: float(values[layer, head]) for name, values in metrics.items()})
            for head in range(heads)
        ]
        for layer in range(layers)
    ]


def metric_of_every_head(grids: Metrics, roles: Roles, *, count: int) -> None:
    metric = choose(t("Metric"), {name: t(METRIC_TEXTS[name][0]) for name in METRICS}, key="metric", default="entropy")
    title, _, meaning = map(t, METRIC_TEXTS[metric])
    about = [meaning, t("Mean over all queries. Sentences: {n}.", n=count)]
    if metric in POSITIONAL:
        about.append(t("Cross-attention is empty: its queries and keys are tokens of different texts."))
    draw(
        head_grids(
            {t(KINDS[kind].title): metrics[metric] for kind, metrics in grids.items()},
            unit=t(UNITS[metric]) if metric in UNITS else t("share"),
            notes={
                t(KINDS[kind].title): [
                    [t(ROLES[role]) if role else t("no single role") for role in row] for row in grid
                ]
                for kind, grid in roles.items()
            },
            height=300,
        ),
        heading=title,
        about=sentences(about),
        key="head_metric",
        wide=True,
        alt=t("{metric} of every head, for each kind of attention", metric=title),
    )


def table_of_roles(grids: Metrics, roles: Roles) -> None:
    section(
        t("Suggested roles"),
        t(
            "Heads that put more than half of their weight on one kind of position (after Voita et al. 2019). Voita et "
            "al. also found heads for rare words and for syntax. Finding those takes word counts and a parser."
        ),
    )
    rows = [
        {
            t("attention"): t(KINDS[kind].title),
            t("layer"): layer + 1,
            t("head"): head + 1,
            t("suggested role"): t(ROLES[role]),
        }
        | {t(METRIC_TEXTS[name][1]): float(values[layer, head]) for name, values in grids[kind].items()}
        for kind, grid in roles.items()
        for layer, row in enumerate(grid)
        for head, role in enumerate(row)
        if role
    ]
    if not rows:
        st.info(t("In these sentences, no head puts more than half of its weight on one kind of position."))
        return
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        height=min(38 + 35 * len(rows), 400),
        placeholder="–",
        alt=t("Table of heads with a suggested role"),
        column_config={
            t(name): st.column_config.NumberColumn(format="%.2f", help=t(meaning))
            for _, name, meaning in METRIC_TEXTS.values()
        },
    )


def head_importance(key: CheckpointKey) -> None:
    """Ask for sentences; draw the gradient estimate at once, and the measured importance when the visitor asks."""
    config = models.config_of(key)
    if read_only := analyses.why_read_only(key):
        end_page(plain(worded(read_only)))
    if config.task == "reading":
        end_page(t("Importance is measured on what a model writes or decides. Choose another model on the left."))
    task, pairs = config.task, sentence_set(config)
    st.markdown(sentences([about_task(task, "loss"), t("Sentences: {n}.", n=len(pairs))]))
    if task == "translation" and not all(translation for _, translation in pairs):
        st.markdown(
            t(
                "If a sentence has no given translation, the model's own translation is used. Then the change shows "
                "how much the model needs the head to write this translation."
            )
        )
    gradients = gradient_estimate(key, pairs)
    changes = measured_changes(key, pairs)
    draw(
        head_grids(mean_by_title(changes), unit=t("nats"), signed=True, height=280),
        key="measured",
        wide=True,
        alt=t("Change in loss when each head is silenced"),
    )
    st.caption(t("Red: the loss rises without this head. Blue: it falls. Mean over the sentences."))
    st.caption(comparison(gradients, changes, len(pairs)))


def gradient_estimate(key: CheckpointKey, pairs: Pairs) -> Grids:
    section(
        t("Gradient estimate"),
        t("Michel et al. 2019: |∂loss/∂ξ|, where ξ multiplies a head's output. It takes one pass and changes no head."),
    )
    few_at_a_time = with_progress(in_batches(pairs), N_("Batch {done} of {total}."), at_least=3)
    parts = [analysis_of(gradient_importance, key, few) for few in few_at_a_time]
    gradients = {kind: np.concatenate([part[kind] for part in parts]) for kind in parts[0]}
    draw(
        head_grids(mean_by_title(gradients), unit=t("nats"), height=280),
        key="gradient",
        wide=True,
        alt=t("Gradient estimate of the importance of every head"),
    )
    grade_line("gradient")
    return gradients


def measured_changes(key: CheckpointKey, pairs: Pairs) -> Grids:
    """The change of the loss without each head. Until it is measured, a button or a progress bar ends the page."""
    section(t("Measured"), t("Silence one head after another: how much does the loss rise?"))
    grade_line("importance")
    analysis = Analysis.of(importance_of_each_head, key, pairs)
    step = N_("Head {done} of {total}.")
    return measured(analysis, lane="importance", step=step, ask=t("Measure every head"))


def comparison(gradients: Grids, changes: Grids, count: int) -> str:
    """How well the gradients rank the measured changes of a number of sentences, and how certain this is."""
    if count < MIN_SENTENCES:
        return t("The comparison of the two pictures needs at least {n} sentences.", n=MIN_SENTENCES)
    estimated, sizes = (
        np.concatenate([grids[kind].reshape(count, -1) for kind in gradients], axis=1)
        for grids in (gradients, {kind: np.abs(grid) for kind, grid in changes.items()})
    )
    correlation, low, high = rank_agreement(estimated, sizes)
    return t(
        "The gradient has no sign here, so it estimates the size of a change and not its direction. Both methods put "
        "the heads in an order. The measured order uses the mean size of the changes. The rank correlation of the two "
        "orders over {n} sentences is {correlation} (Spearman; 1 means the same order; {level} bootstrap interval: "
        "{low} to {high}).",
        n=count,
        correlation=f"{correlation:.2f}",
        level=percent(0.95, digits=0),
        low=f"{low:.2f}",
        high=f"{high:.2f}",
    )


def mean_by_title(grids: Grids) -> dict[str, FloatArray]:
    """The mean over the sentences, by the title of the kind of attention."""
    return {t(KINDS[kind].title): marked(grid.mean(axis=0)) for kind, grid in grids.items()}


def with_progress(items: Sequence[Item], step: str, *, at_least: int) -> Iterator[Item]:
    """Iterate over the items under a progress bar.

    Args:
        items: What the loop goes through.
        step: A sentence about the progress, marked with `N_`, such as "Sentence {done} of {total}."
        at_least: With fewer items there is no bar, because they take less than a second.
    """
    bar = st.progress(0.0) if len(items) >= at_least else None
    for done, item in enumerate(items):
        if bar:
            bar.progress(done / len(items), t(step, done=done + 1, total=len(items)))
        yield item
    if bar:
        bar.empty()


def table_of_the_atlas(key: CheckpointKey) -> pd.DataFrame | None:
    """The numbers of all heads in the atlas; None without one, and with a sentence where it cannot be opened."""
    try:
        return None if (atlas := shown_atlas(key)) is None else numbers_of(atlas)
    except ConfigError as error:
        st.caption(plain(worded(error)))
        return None


def roles_in_the_corpus(table: pd.DataFrame, here: Roles) -> None:
    """The roles of heads in the atlas, with their intervals, and where a head does otherwise in these sentences."""
    section(
        t("Roles in the atlas"),
        t(
            "More than half of the weight is on one kind of position (after Voita et al. 2019), also at the lower end "
            "of the 95\u00a0% interval."
        ),
    )
    rows = []
    for row in table.to_dict("records"):
        role, sure = role_in_the_corpus(row)
        share, low, high = (row[role + end] for end in ENDS)
        in_corpus = role if sure else ""
        in_sentences = here[row["kind"]][row["layer"] - 1][row["head"] - 1]
        if not (in_corpus or in_sentences):
            continue
        rows.append(
            {
                t("attention"): t(KINDS[row["kind"]].title),
                t("layer"): row["layer"],
                t("head"): row["head"],
                t("role"): t(ROLES[in_corpus]) if in_corpus else t("no single role"),
                t("share"): f"{share:.2f}",
                t("95\u00a0% interval"): f"{low:.2f} – {high:.2f}" if low == low else "–",
                t("in these sentences"): same_or_other(in_corpus, in_sentences),
            }
        )
    if not rows:
        st.info(t("No head puts more than half of its weight on one kind of position."))
        return
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        height=min(38 + 35 * len(rows), 400),
        alt=t("Table of heads with a role in the atlas"),
    )
    callback = partial(open_in_atlas, rule=f"previous_low > {SINGLE}")
    label = t("All heads that attend to the previous token, in the atlas")
    st.button(label, icon=":material/map:", type="tertiary", key="previous_in_the_atlas", on_click=callback)


def role_in_the_corpus(row: Mapping[Hashable, float]) -> tuple[str, bool]:
    """The kind of position with the largest share, and whether the lower end of its interval is above one half."""
    role = max(ROLES, key=lambda name: row[name] if row[name] == row[name] else 0.0)
    return role, row[f"{role}_low"] > SINGLE


def same_or_other(in_corpus: str, in_sentences: str) -> str:
    """Whether a head does the same in the sentences of the page, as a sentence."""
    if in_corpus == in_sentences:
        return t("The same.")
    if not in_sentences:
        return t("Here it has no single role.")
    return t("Here it looks like: {role}. The corpus does not confirm it.", role=t(ROLES[in_sentences]))


def word_alignment(key: CheckpointKey) -> None:
    """List all heads, and the summaries of all heads, by their alignment error rate."""
    pairs = analysis_of(aligned_pairs, key)
    if not pairs:
        end_page(
            t(
                "Alignments made by hand exist for English and German only. Choose a translator between these two "
                "languages on the left."
            )
        )
    links = measured(Analysis.of(link_all_pairs, key), lane="alignment", step=N_("Sentence {done} of {total}."))
    rows = error_rates(links, pairs)
    pointer, when, least = rows[0]
    rows.append((t("co-occurrence of words"), "", error_rate(cooccurrence(pairs), pairs)))
    section(
        t("Which head points at the word that it translates?"),
        t(EXPLANATIONS[f"best-{when}"].text, n=len(pairs), rate=percent(least), pointer=pointer),
    )
    st.caption(
        t(
            "Each head of the cross-attention is tested twice: when the decoder *writes* the word, and one step later, "
            "when the decoder *reads* it. Many heads find the word only at the second step."
        )
    )
    draw_table(sorted(rows, key=lambda row: row[-1]))
    grade_line("alignment")
    explain("alignment")


def error_rates(links: Sequence[Mapping[Pointer, Links]], pairs: Sequence[AlignedPair]) -> list[Row]:
    """One row per pointer, the best first."""
    rows = []
    for pointer in links[0]:
        name = (
            t("layer {layer}, head {head}", layer=pointer.layer + 1, head=pointer.head + 1)
            if pointer.name == "head"
            else t(POINTERS[pointer.name])
        )
        rows.append((name, pointer.when, error_rate([each[pointer] for each in links], pairs)))
    return sorted(rows, key=lambda row: row[-1])


def draw_table(rows: Sequence[Row]) -> None:
    rate = t("alignment error rate, %")
    st.dataframe(
        pd.DataFrame(
            [(pointer, t(STEPS[when]) if when else "–", 100 * errors) for pointer, when, errors in rows],
            columns=[t("what points"), t("when the word is"), rate],
        ),
        hide_index=True,
        height=420,
        alt=t("Table of alignment error rates, best first"),
        column_config={
            rate: st.column_config.ProgressColumn(format="%.1f", min_value=0.0, max_value=100.0),
            t("when the word is"): st.column_config.TextColumn(width="small"),
        },
    )
