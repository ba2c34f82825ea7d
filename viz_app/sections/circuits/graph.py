"""The graph of a circuit, its chosen edge, and the table of its edges."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from model.circuits.finding import Circuit, FoundEdge, Part, effects_by_position
from model.circuits.graph import Node
from model.inference.run import Run
from viz_app.components.mounting import component
from viz_app.content.numbers import decimal, percent, sentences
from viz_app.content.plain import isolated
from viz_app.content.translation import N_, t, tp
from viz_app.figures.circuit import Node as DrawnNode
from viz_app.figures.circuit import circuit_drawing
from viz_app.sections.atlas.heads import draw_heads_side_by_side
from viz_app.sections.circuits.texts import TextPairs
from viz_app.sections.heads.intervention_choice import head_name
from viz_app.server.server_state import GATE
from viz_app.services import models
from viz_app.services.analyses import Analysis, analysis_of
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import set_choice, settle
from viz_app.widgets.headings import grade_line, section

__all__ = ["SIDES", "draw_graph", "name_of"]

DEFAULT_EDGES = 20
SIDES = {"query": N_("query"), "key": N_("key"), "value": N_("value"), "": ""}
BLOCKS = ("encoder", "decoder", "cross", "feed_forward")  # in the order of a layer; the first two never meet


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
        "rows": [asdict(row) for row in drawing.rows],
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
    in_encoder = one.edge.sender.stack == "encoder"
    token = (result.source if in_encoder else result.read)[at].label
    values = {
        "n": at + 1,
        "token": isolated(token),
        "effect": decimal(float(effects[at]), digits=3, signed=True),
    }
    largest = (
        t("Of all positions, its effect is largest at token {n} (“{token}”): {effect}.", **values)
        if len(pairs) == 1
        else t("In pair 1, its effect is largest at token {n} (“{token}”): {effect}.", **values)
    )
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
