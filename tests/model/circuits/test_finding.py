"""Find a circuit: each number against a plain loop, and the edges against models whose edges are known."""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest

from model.analysis.patching import contrast
from model.circuits.attribution import attribute, integrated, patched_differences
from model.circuits.finding import CONFIRMED, Circuit, effects_by_position, find_circuit, wire
from model.circuits.graph import Edge, graph_of, grown
from model.circuits.wired import Wired
from model.config.section import ConfigError
from model.inference.opening import open_checkpoint
from model.inference.run import Run
from model.inference.translate import compute
from model.interventions import Head
from tests.conftest import BUNDLED
from tools.planted import Edge as TrueEdge
from tools.planted import write_folder

CHECKPOINT = open_checkpoint(BUNDLED / "tiny-gpt-en")
PAIRS = tuple(
    tuple(f"When {two} went to the {place}, {name} gave a ball to" for name in two.split(" and "))
    for two, place in (("Tom and Anna", "park"), ("Anna and Tom", "shop"))
)


@pytest.fixture(scope="module")
def found() -> Circuit:
    return find_circuit(CHECKPOINT, PAIRS)


@pytest.fixture(scope="module")
def wired() -> list[Wired]:
    results = [[compute(CHECKPOINT, Run(text=text)) for text in pair] for pair in PAIRS]
    contrasts = [contrast(CHECKPOINT, donor, text) for text, donor in results]
    graph = graph_of(CHECKPOINT.model)
    return [Wired(CHECKPOINT.model, graph, one) for one in contrasts if one]


def share_moved(wired: Sequence[Wired], removed: Sequence[Edge]) -> float:
    """How far the runs move towards their donors when these edges carry what they carry there."""
    kept = np.ones((1, len(wired[0].graph.edges)), bool)
    kept[0, [wired[0].graph.edges.index(edge) for edge in removed]] = False
    moved = sum(patched_differences(pair, kept)[0] - pair.own_difference for pair in wired)
    return float(moved / sum(pair.donor_difference - pair.own_difference for pair in wired))


def test_the_first_edges_are_really_patched(found: Circuit, wired: list[Wired]) -> None:
    effects = [one.effect for one in found.edges]
    assert None not in effects[:CONFIRMED]
    assert set(effects[CONFIRMED:]) == {None}
    for one in found.edges[:3]:
        assert one.effect == pytest.approx(share_moved(wired, [one.edge]), abs=1e-4)


def test_an_edge_is_needed_as_much_as_the_faithfulness_falls_without_it(found: Circuit, wired: list[Wired]) -> None:
    part, edges = found.parts[0], wired[0].graph.edges
    circuit = [one.edge for one in found.edges[: part.size]]

    def faithfulness(kept: Sequence[Edge]) -> float:
        return 1 - share_moved(wired, [edge for edge in edges if edge not in set(kept)])

    whole = faithfulness(circuit)
    assert part.faithfulness == pytest.approx(whole, abs=1e-4)
    for edge, falls in list(zip(circuit, part.falls, strict=True))[:3]:
        assert falls == pytest.approx(whole - faithfulness([one for one in circuit if one != edge]), abs=1e-4)
    assert max(part.falls) > 0.05


def test_stability_is_that_of_the_circuits_of_single_pairs(found: Circuit, wired: list[Wired]) -> None:
    scores = [attribute(pair) for pair in wired]
    own = [grown(pair.graph, one) for pair, one in zip(wired, scores, strict=True)]
    together = grown(wired[0].graph, np.mean(scores, axis=0))
    for part in found.parts:
        first, second, both = (set(order[: part.size]) for order in (*own, together))
        assert part.shared == pytest.approx([len(first & both) / part.size, len(second & both) / part.size])
        assert part.overlap == pytest.approx(len(first & second) / len(first | second))
    ranks = [np.abs(one).argsort().argsort() for one in scores]
    assert found.agreement == pytest.approx(np.corrcoef(ranks)[0, 1], abs=1e-3)
    alone = find_circuit(CHECKPOINT, PAIRS[:1])
    assert (alone.agreement, alone.parts[0].overlap, alone.parts[0].shared) == (None, None, (1.0,))


def test_an_edge_into_the_logits_has_its_effect_where_the_word_is_written() -> None:
    alone = find_circuit(CHECKPOINT, PAIRS[:1])
    into_logits, into_head = (
        next(one for one in alone.edges if (one.edge.receiver.part == "logits") == logits) for logits in (True, False)
    )
    effects = effects_by_position(CHECKPOINT, *PAIRS[0], into_logits.edge.code)
    assert effects[-1] == pytest.approx(into_logits.effect, abs=1e-4)
    np.testing.assert_allclose(effects[:-1], 0, atol=1e-5)
    assert np.abs(effects_by_position(CHECKPOINT, *PAIRS[0], into_head.edge.code)).max() > 0.01
    with pytest.raises(ConfigError, match="no edge"):
        effects_by_position(CHECKPOINT, *PAIRS[0], "decoder.9.1>decoder.logits")


def test_the_json_form_names_edges_by_their_codes(found: Circuit) -> None:
    back = json.loads(json.dumps(found.to_dict()))
    assert [one["edge"] for one in back["edges"]] == [one.edge.code for one in found.edges]
    text, donor = PAIRS[0]
    assert back["tasks"][0] == {"text": text, "donor": donor, "outcome": "Anna", "donor_outcome": "Tom"}


@pytest.mark.parametrize(
    ("donor", "reason"),
    [
        (PAIRS[1][0], "Pair 2: Both texts lead to the same result"),
        ("When Tom", "Pair 2: The receiver has"),
    ],
)
def test_a_pair_that_cannot_be_compared_is_named(donor: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        find_circuit(CHECKPOINT, (PAIRS[0], (PAIRS[1][0], donor)))


def test_a_long_text_is_refused() -> None:
    long = "The cat sat on the mat and " * 5
    with pytest.raises(ConfigError, match="up to 25 tokens"):
        find_circuit(CHECKPOINT, [tuple(long + one[PAIRS[0][0].index("When") :] for one in PAIRS[0])])


def test_too_many_pairs_are_refused_before_any_work() -> None:
    with pytest.raises(ConfigError, match="There are 17"):
        find_circuit(CHECKPOINT, [PAIRS[0]] * 17)


def codes_of(edges: Iterable[TrueEdge]) -> set[str]:
    """The edges of a truth as codes of our graph, which counts from 1 and has one node for tokens and positions."""

    def code(name: str) -> str:
        first, *rest = name.split(".")
        if not rest:
            return "logits"
        if rest[0] in ("tokens", "positions"):
            return f"{first}.input"
        if rest[-1] == "feed_forward":
            return f"{first}.feed_forward.{int(rest[0]) + 1}"
        return ".".join((first, *(str(int(number) + 1) for number in rest)))

    return {f"{code(edge.sender)}>{code(edge.receiver)}.{edge.side}".rstrip(".") for edge in edges}


@pytest.mark.parametrize("name", ["dictionary", "previous-word", "either-head"])
def test_the_edges_of_a_known_model_have_the_largest_scores_and_effects(name: str, tmp_path: Path) -> None:
    truth = write_folder(name, tmp_path / name)
    found = find_circuit(open_checkpoint(tmp_path / name), [(one.text, one.donor) for one in truth.examples])
    # Positions are the same in a text and in its donor, so an edge that carries nothing else has no effect.
    true = codes_of(edge for edge in truth.edges if not edge.sender.endswith("positions"))
    unseen = codes_of(truth.edges) - true
    rows = [(re.sub(r"\w+\.logits", "logits", one.edge.code), one.score, one.effect) for one in found.edges]
    is_true = np.array([code in true for code, *_ in rows if code not in unseen])
    assert is_true.sum() == len(true)
    for which in (1, 2):
        strength = np.abs(np.array([row[which] or 0.0 for row in rows if row[0] not in unseen]))
        assert np.mean(strength[is_true][:, None] > strength[~is_true]) >= 0.95  # AUROC


def test_the_edges_of_a_backup_head_matter_only_without_the_head_that_it_replaces(tmp_path: Path) -> None:
    truth = write_folder("backup", tmp_path / "backup")
    found = find_circuit(open_checkpoint(tmp_path / "backup"), [(one.text, one.donor) for one in truth.examples])
    first = Head("decoder", 0, 1)
    taking_over = {one.edge.code: one for one in found.backups if one.silent == first}
    assert taking_over.keys() == {"decoder.input>decoder.2.3.value", "decoder.2.3>decoder.logits"}
    for one in taking_over.values():
        assert one.effect > 0.9
        assert abs(one.effect_before) < 0.01


def test_the_steps_double_until_the_scores_of_the_embeddings_account_for_the_change(tmp_path: Path) -> None:
    truth = write_folder("agreement", tmp_path / "agreement")
    checkpoint = open_checkpoint(tmp_path / "agreement")
    pair = wire(checkpoint, graph_of(checkpoint.model), truth.examples[1].text, truth.examples[1].donor)
    whole = pair.donor_difference - pair.own_difference
    assert abs(integrated(pair, 5)[1] / whole - 1) > 0.1
    assert abs(integrated(pair, 10)[1] / whole - 1) < 0.05
    np.testing.assert_array_equal(attribute(pair), integrated(pair, 10)[0])
