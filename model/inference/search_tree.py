"""Beam search as a tree: every hypothesis that was weighed, which were kept, which were pruned, and which one won."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from model.checkpoints.checkpoint import Checkpoint
from model.config.search import SearchConfig
from model.decoding.decoder_state import NOTHING_FORCED
from model.decoding.search import Branch, Fate, Step, finish
from model.inference.searching import beginning, require_writing, search_from, written_ids

__all__ = ["Node", "SearchTree", "search_tree"]


@dataclass(frozen=True, kw_only=True)
class Node:
    """A prefix that beam search weighed: that of its parent and one more token."""

    parent: int  # index of its parent in the tree, −1 for those that begin
    depth: int  # how many tokens the prefix has, those of a prompt not counted
    id: int
    token: str
    log_prob: float  # of the whole prefix, without a prompt
    score: float  # by which ended hypotheses are ranked, see `Hypothesis.score`
    fate: Fate
    best: bool  # on the way to the hypothesis that won


@dataclass(frozen=True, kw_only=True)
class SearchTree:
    """All prefixes, parents before children, siblings best first."""

    nodes: tuple[Node, ...]
    text: str  # of the hypothesis that won
    prompt_length: int = 0  # tokens of a prompt, which stand before every prefix

    def path(self, index: int) -> tuple[int, ...]:
        """The ids of a node's prefix, without those of a prompt."""
        ids: list[int] = []
        while index >= 0:
            ids.append(self.nodes[index].id)
            index = self.nodes[index].parent
        return tuple(reversed(ids))


def search_tree(
    checkpoint: Checkpoint, text: str, *, search: SearchConfig, forced: Mapping[int, int] = NOTHING_FORCED
) -> SearchTree:
    """Run a beam search over one text and keep its tree.

    Args:
        checkpoint: A loaded checkpoint; never changed.
        text: Anything.
        search: Of method "beam".
        forced: See `greedy`.

    Raises:
        ConfigError: the model writes nothing.
    """
    require_writing(checkpoint)
    model, tokenizers = checkpoint.model, checkpoint.tokenizers
    begin = beginning(checkpoint, text, forced)
    steps, (winner, *_) = finish(search_from(begin, model, search))
    branches = linked(steps)
    best = set()
    at = -1
    for token in winner.ids:
        at = next(i for i, (parent, _, b) in enumerate(branches) if parent == at and b.token == token)
        best.add(at)
    names = tokenizers.target.tokens([branch.token for _, _, branch in branches])
    # A prompt is a single path, which nobody weighed; the tree begins behind it.
    start = sum(depth <= begin.prompt_length for _, depth, _ in branches)
    nodes = tuple(
        Node(
            parent=max(parent - start, -1),
            depth=depth - begin.prompt_length,
            id=branch.token,
            token=name,
            log_prob=branch.log_prob,
            score=branch.log_prob / (depth - begin.prompt_length) ** search.length_penalty,
            fate=branch.fate,
            best=index in best,
        )
        for index, ((parent, depth, branch), name) in enumerate(zip(branches, names, strict=True))
        if index >= start
    )
    ids = written_ids(winner)
    whole = [begin.specials.bos, *ids] if checkpoint.config.task == "continuation" else ids
    return SearchTree(nodes=nodes, text=tokenizers.target.decode(whole), prompt_length=begin.prompt_length)


def linked(steps: Sequence[Step]) -> list[tuple[int, int, Branch]]:
    """(index of the parent, depth, branch) of every branch: the kept ones of a pass are the rows of the next."""
    nodes: list[tuple[int, int, Branch]] = []
    rows = [-1]
    for depth, step in enumerate(steps, start=1):
        first = len(nodes)
        nodes += [(rows[branch.row], depth, branch) for branch in step.branches]
        rows = [first + i for i, branch in enumerate(step.branches) if branch.fate == "kept"]
    return nodes
