import pytest

from model.checkpoints.checkpoint import Checkpoint
from model.config.search import SearchConfig
from model.inference.search_tree import search_tree
from model.inference.translate import translate

SENTENCE = "the small dog sees a red house ."
BEAM = SearchConfig(method="beam", beam_size=3)


def test_the_best_path_is_the_translation_of_beam_search(toy: Checkpoint) -> None:
    tree, expected = search_tree(toy, SENTENCE, search=BEAM), translate(toy, SENTENCE, search=BEAM)
    assert tree.text == expected.text
    best = [i for i, node in enumerate(tree.nodes) if node.best]
    assert tree.path(best[-1]) == tuple(token.id for token in expected.written)
    assert tree.nodes[best[-1]].fate in ("ended", "cut")


def test_every_node_has_a_parent_and_log_probabilities_only_fall(toy: Checkpoint) -> None:
    nodes = search_tree(toy, SENTENCE, search=BEAM).nodes
    for index, node in enumerate(nodes):
        assert node.parent < index
        if node.parent >= 0:
            parent = nodes[node.parent]
            assert parent.fate == "kept"
            assert (node.depth, node.log_prob <= parent.log_prob) == (parent.depth + 1, True)
        assert node.score == pytest.approx(node.log_prob / node.depth)
    for depth in range(1, nodes[-1].depth + 1):
        assert sum(node.fate == "kept" for node in nodes if node.depth == depth) <= 3


def test_every_hypothesis_begins_with_the_forced_tokens(toy: Checkpoint) -> None:
    free = search_tree(toy, SENTENCE, search=BEAM)
    second = next(i for i, node in enumerate(free.nodes) if node.depth == 2 and not node.best)
    path = free.path(second)
    forced = search_tree(toy, SENTENCE, search=BEAM, forced=dict(enumerate(path)))
    assert {node.id for node in forced.nodes if node.depth == 1} == {path[0]}
    assert {node.id for node in forced.nodes if node.depth == 2} == {path[1]}
