"""The kinds of attention, each said once: where it lies, what its rows and columns are, and what it is called.

A Transformer has some of them: an encoder-decoder all three, a model that only reads or only writes a single one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

__all__ = ["KINDS", "Kind"]

Tokens = Literal["source", "read", "written"]  # see `Translation`


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of attention."""

    name: str  # in code, files and links
    stack: Literal["encoder", "decoder"]  # whose layers have it
    module: str  # of such a layer
    queries: Tokens  # which tokens label the rows of its maps
    keys: Tokens  # which tokens label the columns
    title: str  # as a person reads it
    query: str  # what a row is
    key: str  # what a column is
    shows: str  # what its maps show, a sentence

    @property
    def aligned(self) -> bool:
        """Row t and column t are the same token."""
        return self.queries == self.keys

    @property
    def causal(self) -> bool:
        """A query may attend only to keys that do not come after it."""
        return self.aligned and self.stack == "decoder"


CROSS = Kind(
    name="cross",
    stack="decoder",
    module="cross_attention",
    queries="written",
    keys="source",
    title="cross",
    query="target token being written",
    key="source token looked at",
    shows="For every token it writes (row), how much the decoder looks at each source token (column).",
)
ENCODER = Kind(
    name="encoder",
    stack="encoder",
    module="self_attention",
    queries="source",
    keys="source",
    title="encoder self",
    query="source token being encoded",
    key="source token looked at",
    shows="For every source token (row), how much the encoder mixes in each source token (column).",
)
DECODER = Kind(
    name="decoder",
    stack="decoder",
    module="self_attention",
    queries="read",
    keys="read",
    title="decoder self, masked",
    query="target token just read",
    key="target token read so far",
    shows="For every token it has read (row), how much the decoder looks at that token and the earlier ones (column).",
)
KINDS: Mapping[str, Kind] = {kind.name: kind for kind in (CROSS, ENCODER, DECODER)}  # in the order of the screen
