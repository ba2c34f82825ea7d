"""The architecture of a Transformer as boxes and arrows: their places, labels and notes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from viz_app.content.numbers import decimal
from viz_app.content.translation import t

__all__ = ["Arrow", "Box", "Drawing", "architecture"]

WIDTH, GAP_X = 180, 52  # of a stack; between the two stacks
HEIGHT, GAP, PAD = 22, 4, 6  # of a block; between two blocks; inside the frame of a layer
MARGIN, BELOW = 12, 26  # around the drawing; below the embeddings, for the names of the inputs
ABOVE = MARGIN + 2 * (HEIGHT + GAP) + 3 * GAP  # the projection, the softmax and the label of a shape
Point = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Box:
    """One part of the model. A box with a layer can be opened."""

    x: float
    y: float
    width: float = WIDTH
    height: float = HEIGHT
    label: str
    note: str  # for the hover
    stack: str = ""
    layer: int = -1  # counted from 0
    frame: bool = False  # contains other boxes


@dataclass(frozen=True, kw_only=True)
class Arrow:
    """A line through points, with the shape of the tensor that flows along it."""

    points: tuple[Point, ...]
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """All boxes and arrows."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]


@dataclass(frozen=True, kw_only=True)
class Stack:
    """The encoder or the decoder in the drawing; y grows downwards, and the model runs upwards."""

    name: str  # "encoder" or "decoder"
    left: float
    layers: int
    blocks: Sequence[tuple[str, str]]  # of a layer, from the top: label, note
    bottom: float  # y of the embedding

    @property
    def middle(self) -> float:
        return self.left + WIDTH / 2

    @property
    def top(self) -> float:
        """The y of the highest layer."""
        return self.top_of(self.layers - 1)

    def top_of(self, layer: int) -> float:
        """The y of a layer, counted from 0."""
        return self.bottom - GAP - (layer + 1) * step(len(self.blocks))

    def boxes(self) -> Iterator[Box]:
        """The frame of each layer and its blocks."""
        for layer in range(self.layers):
            n, y = layer + 1, self.top_of(layer)
            name = t("encoder, layer {n}", n=n) if self.name == "encoder" else t("decoder, layer {n}", n=n)
            whole = Box(x=self.left, y=y, label=name, note=name, stack=self.name, layer=layer)
            yield replace(whole, height=step(len(self.blocks)) - GAP, frame=True)
            for i, (label, note) in enumerate(self.blocks):
                block = replace(whole, label=label, note=t("{name}: {value}", name=name, value=note))
                yield replace(block, x=self.left + PAD, y=y + PAD + i * (HEIGHT + GAP), width=WIDTH - 2 * PAD)

    def arrows(self, tokens: str) -> Iterator[Arrow]:
        """The arrow from the tokens to the embedding, and one below each layer."""
        for layer in range(self.layers):
            y = self.top_of(layer) + step(len(self.blocks)) - GAP
            yield Arrow(points=((self.middle, y + GAP), (self.middle, y)))
        y = self.bottom + HEIGHT
        yield Arrow(points=((self.middle, y + BELOW - 8), (self.middle, y)), label=t("{n} tokens", n=tokens))


def step(blocks: int) -> float:
    """From the top of a layer with so many blocks to that of the layer below."""
    return blocks * (HEIGHT + GAP) + 2 * PAD


def architecture(
    *,
    encoder_layers: int,
    decoder_layers: int,
    d_model: int,
    d_ff: int,
    heads: int,
    source_vocabulary: int,
    target_vocabulary: int,
    pre_norm: bool,
) -> Drawing:
    """Lay out a model as in "Attention Is All You Need", figure 1: encoder left, decoder right, from bottom to top."""
    norm = t("LayerNorm before") if pre_norm else t("LayerNorm after the residual")
    note = t("{n} heads of {size} dimensions, {norm}", n=heads, size=d_model // heads, norm=norm)
    feed_forward = t("feed-forward"), f"{d_model} → {d_ff} → {d_model}, {norm}"
    blocks = feed_forward, (t("self-attention"), note)
    more = feed_forward, (t("cross-attention"), note), (t("masked self-attention"), note)
    # The embeddings are on one line.
    bottom = ABOVE + max(encoder_layers * step(len(blocks)), decoder_layers * step(len(more))) + 2 * GAP
    encoder = Stack(name="encoder", left=MARGIN, layers=encoder_layers, blocks=blocks, bottom=bottom)
    right = MARGIN + WIDTH + GAP_X
    decoder = Stack(name="decoder", left=right, layers=decoder_layers, blocks=more, bottom=bottom)
    words = decimal(target_vocabulary)
    outside = [
        *(
            (
                stack.left,
                bottom,
                t("embedding + position"),
                t("one row of {rows} × {columns}, times √{columns}", rows=decimal(rows), columns=d_model),
            )
            for stack, rows in ((encoder, source_vocabulary), (decoder, target_vocabulary))
        ),
        (right, MARGIN, t("softmax"), t("{n} probabilities at each position", n=words)),
        (right, MARGIN + HEIGHT + GAP, t("projection"), t("{n} → {logits} logits", n=d_model, logits=words)),
    ]
    end = (decoder.middle, MARGIN + 2 * HEIGHT + GAP)
    return Drawing(
        width=right + WIDTH + MARGIN,
        height=bottom + HEIGHT + BELOW + MARGIN,
        boxes=(
            *encoder.boxes(),
            *decoder.boxes(),
            *(Box(x=x, y=y, label=label, note=about) for x, y, label, about in outside),
        ),
        arrows=(
            *encoder.arrows("S"),
            *decoder.arrows("T"),
            *memory_arrows(encoder, decoder, label=f"S × {d_model}"),
            Arrow(points=((decoder.middle, decoder.top), end), label=f"T × {d_model}"),
        ),
    )


def memory_arrows(encoder: Stack, decoder: Stack, *, label: str) -> Iterator[Arrow]:
    """The encoder's output on its way to the cross-attention of every layer; only the first arrow has the label."""
    between, high = decoder.left - GAP_X / 2, encoder.top
    for layer in range(decoder.layers):
        y = decoder.top_of(layer) + PAD + 1.5 * HEIGHT + GAP  # the middle of the second block
        path = ((encoder.middle, high), (encoder.middle, high - GAP), (between, high - GAP), (between, y))
        yield Arrow(points=(*path, (decoder.left + PAD, y)), label="" if layer else label)
