"""Find a circuit, and draw what is found."""

import pandas as pd
import streamlit as st

from model.circuits.finding import CONFIRMED, SIZES, Circuit, find_circuit
from model.circuits.graph import graph_of
from model.config.section import ConfigError
from model.inference.run import Run
from viz_app.content.numbers import decimal, percent, percent_column, sentences
from viz_app.content.plain import plain
from viz_app.content.translation import N_, t, tp, worded
from viz_app.figures.lines import curves
from viz_app.sections.circuits.graph import SIDES, draw_graph, name_of
from viz_app.sections.circuits.texts import TextPairs
from viz_app.sections.heads.intervention_choice import head_name
from viz_app.server.server_state import JOBS
from viz_app.services import models
from viz_app.services.analyses import Analysis
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import choices
from viz_app.session.page_end import end_page
from viz_app.widgets.charts import draw
from viz_app.widgets.headings import explain, section
from viz_app.widgets.long_work import duration_text, measured

__all__ = ["find_and_draw"]

ABLATIONS = {
    "donor": (N_("Edges outside carry what they carry for the donor"), N_("Faithfulness, donor ablation")),
    "mean": (N_("Edges outside carry their mean over all texts"), N_("Faithfulness, mean ablation")),
}
RUNS = CONFIRMED + sum(SIZES) + len(SIZES) + 60  # of each pair
NUMBERS_PER_SECOND = 5e8  # runs × edges × tokens × dimensions, on one core
SHORT = 20.0  # seconds: longer work waits for a click


def find_and_draw(key: CheckpointKey, pairs: TextPairs) -> None:
    """Offer to find the circuit of some pairs, and draw it."""
    analysis = Analysis.of(find_circuit, key, pairs)
    # A link with an edge, or with a number of edges, shows a circuit that somebody has found.
    wanted = any(choices().chosen.get(name) for name in ("circuit_edges", "circuit_edge"))
    if analysis.known() is None:
        seconds, limit = seconds_of(key, pairs), JOBS.lanes["circuits"].seconds
        if seconds > limit:
            end_page(
                t(
                    "This takes {time}. The limit is {limit}. Choose fewer pairs, shorter texts or a smaller model.",
                    time=duration_text(seconds),
                    limit=duration_text(limit),
                )
            )
        wanted = wanted and seconds < SHORT
        if not wanted:
            st.caption(t("This takes {time}.", time=duration_text(seconds)))
    try:
        circuit = measured(
            analysis, lane="circuits", step=N_("Step {done} of {total}."), ask="" if wanted else t("Find the circuit")
        )
    except ConfigError as error:
        end_page(plain(worded(error)))
    draw_graph(key, pairs, analysis, circuit)
    draw_faithfulness(circuit)
    draw_backups(circuit)
    if len(pairs) > 1:
        note_stability(circuit)
    explain("circuits")


def seconds_of(key: CheckpointKey, pairs: TextPairs) -> float:
    """About how long it takes to find the circuit."""
    result = models.result_of(key, Run(text=pairs[0][0]))
    tokens = len(result.source) or result.prompt_length
    model = models.loaded(key).model
    edges = sum(site.size for site in graph_of(model).sites)
    return len(pairs) * RUNS * edges * tokens * model.config.d_model / NUMBERS_PER_SECOND


def draw_faithfulness(circuit: Circuit) -> None:
    section(
        t("How much of the task does the circuit do?"),
        t("1: these edges do all of the task. 0: they do nothing. Without the circuit, little should be left."),
    )
    for place, found in zip(st.columns(2), circuit.faithfulness, strict=True):
        heading, alt = map(t, ABLATIONS[found.ablation])
        with place:
            draw(
                curves(
                    found.sizes,
                    {
                        t("circuit"): found.circuit,
                        t("random circuit"): found.random,
                        t("without the circuit"): found.without,
                    },
                    title=t("faithfulness"),
                    over=t("edges in the circuit"),
                    height=300,
                    logarithmic=True,
                ),
                heading=heading,
                key=f"circuit_{found.ablation}",
                alt=alt,
            )
            st.caption(
                t(
                    "CPR {cpr}: the area under the line of the circuit, over the share of edges. Higher is better.",
                    cpr=decimal(found.cpr, digits=2),
                )
            )
            st.caption(
                t(
                    "CMD {cmd}: the area between this line and 1. Lower is better.",
                    cmd=decimal(found.cmd, digits=2),
                )
            )


def draw_backups(circuit: Circuit) -> None:
    """Draw the table of the edges that matter only if a head is silent, or say that there are none."""
    section(
        t("Does another part take over?"),
        t("Each of the strongest heads is silenced, one at a time. A table lists the edges that then do more."),
    )
    if not circuit.backups:
        st.caption(t("No edge does clearly more without one of these heads."))
        return
    rows = [
        {
            t("silent head"): head_name(one.silent),
            tp("edge", "from"): name_of(one.edge.sender),
            tp("edge", "to"): name_of(one.edge.receiver),
            t("reads it as"): t(SIDES[one.edge.side]) if one.edge.side else "",
            t("effect without"): one.effect,
            t("effect with"): one.effect_before,
        }
        for one in circuit.backups
    ]
    number = st.column_config.NumberColumn(format="%.3f", width="small")
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        column_config={t("effect without"): number, t("effect with"): number},
        alt=t("Table of the edges that take over"),
    )


def note_stability(circuit: Circuit) -> None:
    """Say how much the circuits of the single pairs have in common."""
    section(t("Is it stable?"), t("Each pair alone has a circuit too."))
    part = next(part for part in circuit.parts if part.size == st.session_state["circuit_edges"])
    assert part.overlap is not None
    assert circuit.agreement is not None
    st.markdown(
        sentences(
            [
                t(
                    "The circuits of {n} edges of two pairs share {share} of their edges on average (Jaccard).",
                    n=part.size,
                    share=percent(part.overlap, digits=0),
                ),
                t(
                    "The rank correlation of all scores between two pairs is {correlation} (Spearman).",
                    correlation=decimal(circuit.agreement, digits=2),
                ),
            ]
        )
    )
    st.dataframe(
        [
            {
                t("pair"): number,
                t("text"): task.text,
                t("donor"): task.donor,
                t("results"): f"{task.outcome} | {task.donor_outcome}",
                t("edges in common"): 100 * share,
            }
            for number, (task, share) in enumerate(zip(circuit.tasks, part.shared, strict=True), start=1)
        ],
        hide_index=True,
        column_config={t("edges in common"): st.column_config.NumberColumn(format=percent_column())},
        alt=t("Table of the pairs"),
    )
