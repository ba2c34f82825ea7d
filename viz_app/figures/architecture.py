"""The architecture of a Transformer as boxes and arrows: their places, labels and notes."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from viz_app.content.numbers import decimal
from viz_app.content.translation import t

__all__ = ["Arrow", "Box", "Drawing", "Outline", "architecture"]

WIDTH, GAP_X = 180, 52  # of a stack; between the two stacks
HEIGHT, GAP, PAD = 22, 4, 6  # of a block; between two blocks; inside the frame of a layer
MARGIN, BELOW = 12, 26  # around the drawing; below the embeddings, for the names of the inputs
Point = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Outline:
    """The sizes of a model with an encoder and a decoder."""

    encoder_layers: int
    decoder_layers: int
    d_model: int
    d_ff: int
    heads: int
    source_vocabulary: int
    target_vocabulary: int
    pre_norm: bool


@dataclass(frozen=True, kw_only=True)
class Box:
    """One part of the model. A box with a layer can be opened."""

    x: float
    y: float
    width: float
    height: float
    label: str
    note: str  # for the hover
    stack: str = ""
    layer: int = -1  # counted from 0
    frame: bool = False  # contains other boxes
    reads_memory: bool = False  # cross-attention


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
class Block:
    """A part of a layer."""

    label: str
    note: str
    reads_memory: bool = False


@dataclass(frozen=True, kw_only=True)
class Stack:
    """The encoder or the decoder in the drawing; y grows downwards, and the model runs upwards."""

    name: str  # "encoder" or "decoder"
    left: float
    layers: int
    blocks: tuple[Block, ...]  # of a layer, from the top
    embedding: float = 0  # y of the embedding

    @property
    def middle(self) -> float:
        return self.left + WIDTH / 2

    @property
    def layer_height(self) -> float:
        return len(self.blocks) * (HEIGHT + GAP) - GAP + 2 * PAD

    @property
    def top(self) -> float:
        """The y of the highest layer."""
        return self.top_of(self.layers - 1)

    def top_of(self, layer: int) -> float:
        """The y of a layer, counted from 0."""
        return self.embedding - 2 * GAP - (layer + 1) * (self.layer_height + GAP) + GAP


def architecture(outline: Outline) -> Drawing:
    """Lay out a model as in "Attention Is All You Need", figure 1: encoder left, decoder right, from bottom to top."""
    encoder, decoder = stacks(outline)
    boxes = [
        *stack_boxes(encoder, vocabulary=outline.source_vocabulary, d_model=outline.d_model),
        *stack_boxes(decoder, vocabulary=outline.target_vocabulary, d_model=outline.d_model),
        *output_boxes(decoder, outline),
    ]
    crossings = [box.y + HEIGHT / 2 for box in boxes if box.reads_memory]
    end = (decoder.middle, MARGIN + 2 * HEIGHT + GAP)
    arrows = [
        *input_arrows(encoder, t("{n} tokens", n="S")),
        *input_arrows(decoder, t("{n} tokens", n="T")),
        *memory_arrows(encoder, decoder, crossings, label=f"S × {outline.d_model}"),
        Arrow(points=((decoder.middle, decoder.top), end), label=f"T × {outline.d_model}"),
    ]
    return Drawing(
        width=decoder.left + WIDTH + MARGIN,
        height=decoder.embedding + HEIGHT + BELOW + MARGIN,
        boxes=tuple(boxes),
        arrows=tuple(arrows),
    )


def stacks(outline: Outline) -> tuple[Stack, Stack]:
    """Place the encoder and the decoder so that their embeddings are on one line."""
    norm = t("LayerNorm before") if outline.pre_norm else t("LayerNorm after the residual")
    widths = f"{outline.d_model} → {outline.d_ff} → {outline.d_model}"
    feed_forward = Block(label=t("feed-forward"), note=f"{widths}, {norm}")
    size = outline.d_model // outline.heads
    heads = t("{n} heads of {size} dimensions, {norm}", n=outline.heads, size=size, norm=norm)
    encoder_blocks = (feed_forward, Block(label=t("self-attention"), note=heads))
    decoder_blocks = (
        feed_forward,
        Block(label=t("cross-attention"), note=heads, reads_memory=True),
        Block(label=t("masked self-attention"), note=heads),
    )
    encoder = Stack(name="encoder", left=MARGIN, layers=outline.encoder_layers, blocks=encoder_blocks)
    decoder = Stack(name="decoder", left=MARGIN + WIDTH + GAP_X, layers=outline.decoder_layers, blocks=decoder_blocks)
    # Above the highest layer are the projection, the softmax and the label of a shape.
    highest = MARGIN + 2 * (HEIGHT + GAP) + 3 * GAP
    embedding = highest - min(encoder.top, decoder.top) + GAP
    return replace(encoder, embedding=embedding), replace(decoder, embedding=embedding)


def stack_boxes(stack: Stack, *, vocabulary: int, d_model: int) -> Iterator[Box]:
    """The layers of a stack and the embedding below them."""
    for layer in range(stack.layers):
        yield from layer_boxes(stack, layer)
    yield Box(
        x=stack.left,
        y=stack.embedding,
        width=WIDTH,
        height=HEIGHT,
        label=t("embedding + position"),
        note=t("one row of {rows} × {columns}, times √{columns}", rows=decimal(vocabulary), columns=d_model),
    )


def layer_name(stack: str, number: int) -> str:
    """The name of a layer, counted from 1."""
    return t("encoder, layer {n}", n=number) if stack == "encoder" else t("decoder, layer {n}", n=number)


def layer_boxes(stack: Stack, layer: int) -> Iterator[Box]:
    """The frame of a layer and its blocks."""
    name, y = layer_name(stack.name, layer + 1), stack.top_of(layer)
    yield Box(
        x=stack.left,
        y=y,
        width=WIDTH,
        height=stack.layer_height,
        label=name,
        note=name,
        stack=stack.name,
        layer=layer,
        frame=True,
    )
    for i, block in enumerate(stack.blocks):
        yield Box(
            x=stack.left + PAD,
            y=y + PAD + i * (HEIGHT + GAP),
            width=WIDTH - 2 * PAD,
            height=HEIGHT,
            label=block.label,
            note=t("{name}: {value}", name=name, value=block.note),
            stack=stack.name,
            layer=layer,
            reads_memory=block.reads_memory,
        )


def output_boxes(decoder: Stack, outline: Outline) -> Iterator[Box]:
    """The projection to the vocabulary and the softmax above it."""
    words = decimal(outline.target_vocabulary)
    steps = (
        (t("softmax"), t("{n} probabilities at each position", n=words)),
        (t("projection"), t("{n} → {logits} logits", n=outline.d_model, logits=words)),
    )
    for i, (label, note) in enumerate(steps):
        y = MARGIN + i * (HEIGHT + GAP)
        yield Box(x=decoder.left, y=y, width=WIDTH, height=HEIGHT, label=label, note=note)


def input_arrows(stack: Stack, label: str) -> Iterator[Arrow]:
    """The arrow from the tokens to the embedding, and one below each layer."""
    for layer in range(stack.layers):
        bottom = stack.top_of(layer) + stack.layer_height
        yield Arrow(points=((stack.middle, bottom + GAP), (stack.middle, bottom)))
    bottom = stack.embedding + HEIGHT
    yield Arrow(points=((stack.middle, bottom + BELOW - 8), (stack.middle, bottom)), label=label)


def memory_arrows(encoder: Stack, decoder: Stack, crossings: list[float], *, label: str) -> Iterator[Arrow]:
    """The encoder's output on its way to the cross-attention of every layer; only the first arrow has the label."""
    between, high = decoder.left - GAP_X / 2, encoder.top
    for i, y in enumerate(crossings):
        path = ((encoder.middle, high), (encoder.middle, high - GAP), (between, high - GAP), (between, y))
        yield Arrow(points=(*path, (decoder.left + PAD, y)), label="" if i else label)
