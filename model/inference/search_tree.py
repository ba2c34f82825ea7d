"""Beam search as a tree: every hypothesis that it compared, whether it was kept or pruned, and which one won."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from model.checkpoints.checkpoint import Checkpoint
from model.config.search import SearchConfig
from model.decoding.search import NOTHING_FORCED, Continuation, Fate, Step, finish
from model.inference.translate import decode_hypothesis, require_writing, search_input, start_search

__all__ = ["Node", "SearchTree", "search_tree"]

Branch = tuple[int, Continuation, Fate]  # index of its parent, what was compared, and its fate


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
    longer = [found.extended() for _, found, _ in branches]
    names = tokenizers.target.tokens([found.token for _, found, _ in branches])
    # A prompt is a single path without choices; the tree starts after it.
    skipped = sum(len(one.ids) <= start.prompt_length for one in longer)
    nodes = tuple(
        Node(
            parent=max(parent - skipped, -1),
            depth=len(one.ids) - start.prompt_length,
            id=one.ids[-1],
            token=name,
            log_prob=one.log_prob,
            score=one.score(search.length_penalty),
            fate=fate,
            best=index in best,
        )
        for index, ((parent, _, fate), one, name) in enumerate(zip(branches, longer, names, strict=True))
        if index >= skipped
    )
    text = decode_hypothesis(model, tokenizers, start, winner)
    return SearchTree(nodes=nodes, text=text, prompt_length=start.prompt_length)


def path_of_winner(branches: Sequence[Branch], ids: Sequence[int]) -> set[int]:
    """The indices of the branches that lead to the winner with these ids."""
    path = set[int]()
    index = -1
    for token in ids:
        index = next(i for i, (parent, found, _) in enumerate(branches) if parent == index and found.token == token)
        path.add(index)
    return path


def with_parents(steps: Sequence[Step]) -> list[Branch]:
    """Everything that the search compared. The kept continuations of a pass are the rows of the next."""
    nodes: list[Branch] = []
    rows = [-1]
    for step in steps:
        first = len(nodes)
        nodes += [(rows[found.row], found, fate) for _, found, fate in step.compared]
        rows = [first + i for i, (*_, fate) in enumerate(step.compared) if fate == "kept"]
    return nodes
