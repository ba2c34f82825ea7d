"""Beam search as a tree: every hypothesis that it compared, whether it was kept or pruned, and which one won."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from model.checkpoints.checkpoint import Checkpoint
from model.config.search import SearchConfig
from model.decoding.search import NOTHING_FORCED, Branch, Fate, Step, finish
from model.inference.translate import decode_hypothesis, require_writing, search_input, start_search

__all__ = ["Node", "SearchTree", "search_tree"]


@dataclass(frozen=True, kw_only=True)
class Node:
    """A hypothesis that beam search compared: the one of its parent with one more token."""

    parent: int  # index of its parent in the tree; −1 at the start
    depth: int  # how many tokens it has, not counting a prompt
    id: int  # of its last token
    token: str  # its last token
    log_prob: float  # of all its tokens, without a prompt
    score: float  # ranks the hypotheses that ended; see `Hypothesis.score`
    fate: Fate
    best: bool  # it begins the hypothesis that won


@dataclass(frozen=True, kw_only=True)
class SearchTree:
    """All hypotheses: parents before children, siblings from best to worst."""

    nodes: tuple[Node, ...]
    text: str  # of the hypothesis that won
    prompt_length: int = 0  # tokens of the prompt, which every hypothesis begins with

    def path(self, index: int) -> tuple[int, ...]:
        """The ids of a node's hypothesis, without a prompt."""
        ids: list[int] = []
        while index >= 0:
            ids.append(self.nodes[index].id)
            index = self.nodes[index].parent
        return tuple(reversed(ids))


def search_tree(
    checkpoint: Checkpoint, text: str, *, search: SearchConfig, forced: Mapping[int, int] = NOTHING_FORCED
) -> SearchTree:
    """Run beam search over one text and keep its tree.

    Args:
        checkpoint: A loaded checkpoint; never changed.
        text: Any text.
        search: With the method "beam".
        forced: See `SearchInput`.

    Raises:
        ConfigError: the model writes nothing.
    """
    model, tokenizers = require_writing(checkpoint), checkpoint.tokenizers
    start = search_input(model, tokenizers, text, forced)
    steps, (winner, *_) = finish(start_search(model, start, search))
    branches = with_parents(steps)
    best = path_of_winner(branches, winner.ids)
    names = tokenizers.target.tokens([branch.token for _, _, branch in branches])
    # A prompt is a single path without choices; the tree starts after it.
    skipped = sum(depth <= start.prompt_length for _, depth, _ in branches)
    nodes = tuple(
        Node(
            parent=max(parent - skipped, -1),
            depth=depth - start.prompt_length,
            id=branch.token,
            token=name,
            log_prob=branch.log_prob,
            score=branch.total / (depth - start.prompt_length) ** search.length_penalty,
            fate=branch.fate,
            best=index in best,
        )
        for index, ((parent, depth, branch), name) in enumerate(zip(branches, names, strict=True))
        if index >= skipped
    )
    text = decode_hypothesis(model, tokenizers, start, winner)
    return SearchTree(nodes=nodes, text=text, prompt_length=start.prompt_length)


def path_of_winner(branches: Sequence[tuple[int, int, Branch]], ids: Sequence[int]) -> set[int]:
    """The indices of the branches that lead to the winner with these ids."""
    path = set[int]()
    index = -1
    for token in ids:
        index = next(i for i, (parent, _, b) in enumerate(branches) if parent == index and b.token == token)
        path.add(index)
    return path


def with_parents(steps: Sequence[Step]) -> list[tuple[int, int, Branch]]:
    """Every branch as (index of its parent, depth, branch). The kept branches of a pass are the rows of the next."""
    nodes: list[tuple[int, int, Branch]] = []
    rows = [-1]
    for depth, step in enumerate(steps, start=1):
        first = len(nodes)
        nodes += [(rows[branch.row], depth, branch) for branch in step.branches]
        rows = [first + i for i, branch in enumerate(step.branches) if branch.fate == "kept"]
    return nodes
