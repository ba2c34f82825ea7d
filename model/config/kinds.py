"""The kinds of attention. Each is described once: its place in the model, its rows and columns, and its names.

An encoder-decoder Transformer has all three. A model that only reads, or only continues a text, has one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from model.messages import N_

__all__ = ["KINDS", "Kind", "Sizes"]

Tokens = Literal["source", "read", "written"]  # see `Result`


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of attention."""

    name: str  # in code, files and links
    stack: Literal["encoder", "decoder"]  # the stack that has it in every layer
    module: str  # its name in a layer
    queries: Tokens  # the tokens that label the rows of its maps
    keys: Tokens  # the tokens that label the columns
    title: str  # a short label
    full_name: str  # the name inside a sentence
    query: str  # what a row is
    key: str  # what a column is
    shows: str  # what its maps show, as a sentence

    @property
    def aligned(self) -> bool:
        """Row t and column t are the same token."""
        return self.queries == self.keys

    @property
    def causal(self) -> bool:
        """A query may attend only to its own position and the positions before it."""
        return self.aligned and self.stack == "decoder"


CROSS = Kind(
    name="cross",
    stack="decoder",
    module="cross_attention",
    queries="written",
    keys="source",
    title=N_("cross"),
    full_name=N_("cross-attention"),
    query=N_("target token being written"),
    key=N_("source token"),
    shows=N_("Each cell shows how much the decoder attends to one source token (column) when it writes a token (row)."),
)
ENCODER = Kind(
    name="encoder",
    stack="encoder",
    module="self_attention",
    queries="source",
    keys="source",
    title=N_("encoder self"),
    full_name=N_("encoder self-attention"),
    query=N_("source token being encoded"),
    key=N_("source token"),
    shows=N_(
        "Each cell shows how much the encoder attends to one source token (column) when it encodes another (row)."
    ),
)
DECODER = Kind(
    name="decoder",
    stack="decoder",
    module="self_attention",
    queries="read",
    keys="read",
    title=N_("decoder self, masked"),
    full_name=N_("decoder self-attention"),
    query=N_("target token just read"),
    key=N_("target token read so far"),
    shows=N_(
        "Each cell shows how much the decoder attends to the same or an earlier token (column) after it has read a "
        "token (row)."
    ),
)
KINDS: Mapping[str, Kind] = {kind.name: kind for kind in (CROSS, ENCODER, DECODER)}  # in the order on the screen


class Sizes:
    """The sizes that every model has."""

    d_model: int
    num_heads: int
    max_length: int  # the largest number of tokens in a text
    attention: str  # how scores are computed, such as "scaled_dot_product"
    positional: str  # how the model distinguishes positions, such as "learned"

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of attention that the model has."""
        return tuple(kind for kind in KINDS if self.num_layers(kind))

    @property
    def attention_layers(self) -> tuple[tuple[str, int], ...]:
        """The kind and the number of every attention layer."""
        return tuple((kind, layer) for kind in self.kinds for layer in range(self.num_layers(kind)))

    def num_layers(self, kind: str) -> int:
        """How many layers have a kind of attention, one of `KINDS`."""
        raise NotImplementedError
