"""Parts of the page Circuits: pairs of texts, the search for a circuit, its graph, its edges and its faithfulness."""

import json
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from model.circuits.finding import (
    CONFIRMED,
    MOST_PAIRS,
    SIZES,
    Circuit,
    FoundEdge,
    Part,
    effects_by_position,
    find_circuit,
)
from model.circuits.graph import Node, graph_of
from model.config.section import ConfigError
from model.inference.run import Run
from model.text.pair import Text
from viz_app.components.mounting import component
from viz_app.content.numbers import decimal, percent, percent_column, sentences
from viz_app.content.plain import isolated, plain
from viz_app.content.translation import N_, t, tp, worded
from viz_app.figures.circuit import Node as DrawnNode
from viz_app.figures.circuit import circuit_drawing
from viz_app.figures.lines import curves
from viz_app.sections.atlas import draw_heads_side_by_side
from viz_app.sections.heads.head_measures import MAX_LINE, text_of_file
from viz_app.sections.heads.head_patching import ask_for_pair, require_runs, why_no_patching
from viz_app.sections.heads.intervention_choice import head_name
from viz_app.server.server_state import GATE, JOBS
from viz_app.services import analyses, models
from viz_app.services.analyses import Analysis, analysis_of
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import choices, set_choice, settle
from viz_app.session.page_end import end_page
from viz_app.widgets.charts import draw
from viz_app.widgets.choosing import choose
from viz_app.widgets.headings import explain, grade_line, section
from viz_app.widgets.long_work import duration_text, measured

__all__ = ["find_and_draw", "made", "require_pairs"]

TextPairs = tuple[tuple[Text, Text], ...]
ABLATIONS = {
    "donor": (N_("Edges outside carry what they carry for the donor"), N_("Faithfulness, donor ablation")),
    "mean": (N_("Edges outside carry their mean over all texts"), N_("Faithfulness, mean ablation")),
}
RUNS = CONFIRMED + sum(SIZES) + len(SIZES) + 60  # of each pair
NUMBERS_PER_SECOND = 5e8  # runs × edges × tokens × dimensions, on one core
SHORT = 20.0  # seconds: longer work waits for a click
DEFAULT_EDGES = 20
SIDES = {"query": N_("query"), "key": N_("key"), "value": N_("value"), "": ""}
BLOCKS = ("encoder", "decoder", "cross", "feed_forward")  # in the order of a layer; the first two never meet


def require_pairs(key: CheckpointKey) -> TextPairs:
    """Ask for one pair of texts, or for a file of pairs.

    Raises:
        PageEnded: the model has no circuits, or the texts cannot be compared; a sentence says why.
    """
    if problem := why_no_patching(key) or plain(worded(analyses.why_no("circuits", key))):
        end_page(problem)
    sources = {"pair": t("One pair of texts"), "file": t("A file of pairs")}
    if choose(t("Texts"), sources, key="circuit_from") == "file":
        return pairs_in_file()
    text, donor = ask_for_pair(key)
    st.caption(require_runs(key, text, donor).question)
    return ((text, donor),)


def pairs_in_file() -> TextPairs:
    form = t("One pair per line: a text, a tab, and its donor; up to {most} pairs of one task", most=MOST_PAIRS)
    text = text_of_file(form, key="pairs_file")
    lines = [(number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    if not lines:
        end_page(t("Upload a file of pairs."))
    if len(lines) > MOST_PAIRS:
        end_page(t("The file has {n} pairs. The limit is {most}. Remove some.", n=len(lines), most=MOST_PAIRS))
    pairs = [tuple(part.strip() for part in line.split("\t")) for _, line in lines]
    for (number, line), pair in zip(lines, pairs, strict=True):
        if len(pair) != 2 or not all(pair):
            end_page(t("Line {n} is not a text, a tab and a donor. Correct it.", n=number))
        if len(line) > 2 * MAX_LINE:
            end_page(t("Line {n} has more than {most} characters. Shorten it.", n=number, most=2 * MAX_LINE))
    return tuple((text, donor) for text, donor in pairs)


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


def draw_graph(key: CheckpointKey, pairs: TextPairs, analysis: Analysis[Circuit], circuit: Circuit) -> None:
    """Ask for a number of edges; draw their circuit, the chosen edge and the table."""
    sizes = [part.size for part in circuit.parts]
    settle("circuit_edges", DEFAULT_EDGES if DEFAULT_EDGES in sizes else sizes[-1], sizes)
    part = next(part for part in circuit.parts if part.size == st.session_state["circuit_edges"])
    edges = circuit.edges[: part.size]
    section(
        t("The circuit"),
        t(
            "{n} of {all} edges. They alone do {share} of the task.",
            n=part.size,
            all=decimal(circuit.all_edges),
            share=percent(part.faithfulness, digits=0),
        ),
    )
    if len(sizes) > 1:
        st.select_slider(t("Edges in the circuit"), sizes, key="circuit_edges", width=420)
    codes = [one.edge.code for one in edges]
    settle("circuit_edge", codes[0], codes)
    chosen = edges[codes.index(st.session_state["circuit_edge"])]
    patched = sum(one.effect is not None for one in edges)
    draw_edges(edges, chosen.edge.code)
    st.caption(
        t(
            "Orange edges bring the run closer to the donor's result, blue edges take it away. A thicker edge has a "
            "larger effect. Solid: really patched ({patched} edges). Dashed: only a score.",
            patched=patched,
        )
    )
    grade_line("circuit-edges")
    draw_edge(key, pairs, chosen)
    draw_table(analysis, edges, part)


def draw_edges(edges: Sequence[FoundEdge], chosen: str) -> None:
    """Draw edges as a graph, and mark the one with the chosen code. A click on an edge shows it below."""
    by_size = sorted(edges, key=lambda one: abs(size_of(one)))  # later ones lie above
    nodes = sorted({node for one in edges for node in (one.edge.sender, one.edge.receiver)}, key=place_of)
    ends = [(nodes.index(one.edge.sender), nodes.index(one.edge.receiver)) for one in by_size]
    drawn = list(map(drawn_node, nodes))
    drawing = circuit_drawing(drawn, ends)
    alt = [
        t("The circuit as a graph from the inputs (below) to the logits (above)."),
        t("The strongest edges:"),
        *map(note_of, by_size[:-4:-1]),
    ]
    data = {
        "width": drawing.width,
        "height": drawing.height,
        "nodes": [
            {"x": x, "y": y, "width": width, "label": node.label, "name": node.name}
            for node, (x, y), width in zip(drawn, drawing.places, drawing.widths, strict=True)
        ],
        "rows": list(drawing.rows),
        "edges": [
            {
                "code": one.edge.code,
                "sender": sender,
                "receiver": receiver,
                "size": size_of(one),
                "patched": one.effect is not None,
                "note": note_of(one),
                "crosses": nodes[sender].stack != nodes[receiver].stack,
            }
            for one, (sender, receiver) in zip(by_size, ends, strict=True)
        ],
        "largest": max((abs(size_of(one)) for one in edges), default=0.0) or 1.0,
        "chosen": chosen,
        "alt": sentences(alt),
    }
    component("circuit", "ui/circuit", key="circuit_graph", edge=choose_edge, data=data)


def choose_edge(code: object) -> None:
    """Callback: show an edge below the graph."""
    set_choice("circuit_edge", str(code)[:100])


def place_of(node: Node) -> tuple[int, int, int, str]:
    """The layer, the block in it, the head and the stack; the logits are above all layers."""
    above = 1_000 if node.part == "logits" else node.layer
    return above, BLOCKS.index(node.part) if node.part in BLOCKS else 0, node.head, node.stack


def drawn_node(node: Node) -> DrawnNode:
    head, row = node.as_head, place_of(node)[:2]
    if head:
        n = node.layer + 1
        title = t("{n} · cross", n=n) if node.part == "cross" else t("{n} · self", n=n)
        return DrawnNode(
            name=name_of(node), label=str(head.head + 1), title=title, stack=node.stack, row=row, number=head.head
        )
    if node.part == "feed_forward":
        title = t("{n} · FFN", n=node.layer + 1)
        return DrawnNode(name=name_of(node), label=t("FFN"), title=title, stack=node.stack, row=row)
    label = t("logits") if node.part == "logits" else t("embeddings")
    return DrawnNode(name=name_of(node), label=label, title="", stack=node.stack, row=row)


def name_of(node: Node) -> str:
    """A part in words."""
    in_encoder = node.stack == "encoder"
    if head := node.as_head:
        return head_name(head)
    if node.part == "feed_forward" and in_encoder:
        return t("encoder FFN, layer {n}", n=node.layer + 1)
    if node.part == "feed_forward":
        return t("decoder FFN, layer {n}", n=node.layer + 1)
    if node.part == "logits":
        return t("logits")
    return t("embeddings of the encoder") if in_encoder else t("embeddings of the decoder")


def size_of(one: FoundEdge) -> float:
    return one.score if one.effect is None else one.effect


def edge_name(one: FoundEdge) -> str:
    """Both ends in words, such as "… → …, key"."""
    values = {"sender": name_of(one.edge.sender), "receiver": name_of(one.edge.receiver)}
    if not one.edge.side:
        return t("{sender} → {receiver}", **values)
    return t("{sender} → {side} of {receiver}", side=t(SIDES[one.edge.side]), **values)


def note_of(one: FoundEdge) -> str:
    if one.effect is None:
        return t("{edge}: score {score}", edge=edge_name(one), score=decimal(one.score, digits=3, signed=True))
    return t("{edge}: effect {effect}", edge=edge_name(one), effect=decimal(one.effect, digits=3, signed=True))


def draw_edge(key: CheckpointKey, pairs: TextPairs, one: FoundEdge) -> None:
    """Draw the numbers of an edge, and the maps of the heads at its ends in the first text."""
    text, donor = pairs[0]
    score = t("Score by EAP-IG: {score}.", score=decimal(one.score, digits=3, signed=True))
    real = (
        t("This edge was not patched.")
        if one.effect is None
        else t("Effect when it is really patched: {effect}.", effect=decimal(one.effect, digits=3, signed=True))
    )
    effects = analysis_of(effects_by_position, key, text, donor, one.edge.code)
    at, result = int(np.abs(effects).argmax()), models.result_of(key, Run(text=text))
    is_written = bool(result.source) and one.edge.sender.stack == "decoder"
    token = (result.written if is_written else result.source or result.read)[at].label
    values = {
        "n": at + 1,
        "token": isolated(token),
        "effect": decimal(float(effects[at]), digits=3, signed=True),
    }
    if len(pairs) == 1 and is_written:
        largest = t(
            "Of all positions, its effect is largest where token {n} (“{token}”) is written: {effect}.", **values
        )
    elif len(pairs) == 1:
        largest = t("Of all positions, its effect is largest at token {n} (“{token}”): {effect}.", **values)
    elif is_written:
        largest = t("In pair 1, its effect is largest where token {n} (“{token}”) is written: {effect}.", **values)
    else:
        largest = t("In pair 1, its effect is largest at token {n} (“{token}”): {effect}.", **values)
    section(edge_name(one), sentences([score, real, largest]))
    heads = [head for head in (one.edge.sender.as_head, one.edge.receiver.as_head) if head]
    if heads:
        draw_heads_side_by_side(key, result, heads, picture="circuit_map")


def draw_table(analysis: Analysis[Circuit], edges: Sequence[FoundEdge], part: Part) -> None:
    """The edges as a table, the one with the largest effect first, and the files."""
    section(
        t("All edges of the circuit"),
        t("Needed: how much less of the task the circuit does without this edge."),
    )
    rows = [
        {
            tp("edge", "from"): name_of(one.edge.sender),
            tp("edge", "to"): name_of(one.edge.receiver),
            t("reads it as"): t(SIDES[one.edge.side]) if one.edge.side else "",
            t("score"): one.score,
            t("effect"): one.effect,
            t("needed"): falls,
        }
        for one, falls in sorted(zip(edges, part.falls, strict=True), key=lambda pair: -abs(size_of(pair[0])))
    ]
    number = st.column_config.NumberColumn(format="%.3f", width="small")
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        height=min(38 + 35 * len(rows), 400),
        placeholder="–",
        column_config={t("score"): number, t("effect"): number, t("needed"): number},
        alt=t("Table of the edges"),
    )
    files: Mapping[str, str] = {"csv": t("The edges, CSV"), "json": t("The whole result, JSON")}
    with st.container(horizontal=True):
        for ending, label in files.items():
            st.download_button(
                label,
                partial(made, analysis, part.size, ending),
                f"headlight-circuit.{ending}",
                icon=":material/download:",
                on_click="ignore",
                key=f"circuit_{ending}",
            )


def made(analysis: Analysis[Circuit], size: int, ending: str) -> bytes:
    """The content of a file; it is made in a thread of its own."""
    with GATE.inside():
        found = analysis.answer()
        if ending == "json":
            return json.dumps(found.to_dict(), ensure_ascii=False, indent=1).encode()
        (falls,) = (part.falls for part in found.parts if part.size == size)
        rows = [
            {"edge": one.edge.code, "score": one.score, "effect": one.effect, "needed": needed}
            for one, needed in zip(found.edges, falls, strict=False)
        ]
        return pd.DataFrame(rows).to_csv(index=False).encode()
