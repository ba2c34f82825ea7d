"""A Transformer's own architecture as boxes and arrows: where they stand, what they say, what is read on the way."""

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Arrow", "Box", "Drawing", "Outline", "architecture"]

WIDTH, GAP_X = 180, 52  # of a stack; between the two
HEIGHT, GAP, PAD = 22, 4, 6  # of a block; between blocks; inside a layer
MARGIN, BELOW = 12, 26  # around all; for the names of what is read


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
    """One part; those with a layer can be opened."""

    x: float
    y: float
    width: float
    height: float
    label: str
    note: str  # for the hover
    stack: str = ""
    layer: int = -1  # counted from 0
    frame: bool = False  # stands around others


@dataclass(frozen=True, kw_only=True)
class Arrow:
    """A line through points, with the shape of what goes along it."""

    points: tuple[tuple[float, float], ...]
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """All of it, from the bottom, where tokens are read, to the top."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]


def architecture(outline: Outline) -> Drawing:
    """Lay out a model as in "Attention Is All You Need", figure 1: encoder left, decoder right, upwards."""
    blocks = {"encoder": encoder_blocks(outline), "decoder": decoder_blocks(outline)}
    layers = {"encoder": outline.encoder_layers, "decoder": outline.decoder_layers}
    tall = {name: len(parts) * (HEIGHT + GAP) - GAP + 2 * PAD for name, parts in blocks.items()}
    top = MARGIN + 2 * (HEIGHT + GAP) + 3 * GAP  # of the layers; the decoder's last steps and a shape stand above
    stack_height = max(layers[name] * (tall[name] + GAP) for name in layers)
    floor = top + stack_height + 2 * GAP  # of the embeddings
    boxes: list[Box] = []
    arrows: list[Arrow] = []
    left: dict[str, float] = {"encoder": MARGIN, "decoder": MARGIN + WIDTH + GAP_X}
    vocabulary = {"encoder": outline.source_vocabulary, "decoder": outline.target_vocabulary}
    crossings: list[float] = []
    for name, x in left.items():
        middle = x + WIDTH / 2
        for layer in range(layers[name]):
            y = floor - 2 * GAP - (layer + 1) * (tall[name] + GAP) + GAP
            made = list(layer_boxes(name, layer, x, y, tall[name], blocks[name]))
            boxes += made
            crossings += [box.y + HEIGHT / 2 for box in made if box.label.startswith("cross")]
            arrows.append(Arrow(points=((middle, y + tall[name] + GAP), (middle, y + tall[name]))))
        boxes.append(
            Box(
                x=x,
                y=floor,
                width=WIDTH,
                height=HEIGHT,
                label="embedding + position",
                note=f"a row of {vocabulary[name]:,} × {outline.d_model}, times √{outline.d_model}",
            )
        )
        shape = f"{'S' if name == 'encoder' else 'T'} tokens"
        arrows.append(Arrow(points=((middle, floor + HEIGHT + BELOW - 8), (middle, floor + HEIGHT)), label=shape))
    # The memory goes up and into every layer of the decoder.
    high = floor - 2 * GAP - outline.encoder_layers * (tall["encoder"] + GAP) + GAP
    between = left["decoder"] - GAP_X / 2
    start = (left["encoder"] + WIDTH / 2, high)
    for i, at in enumerate(crossings):
        arrows.append(
            Arrow(
                points=(
                    start,
                    (start[0], high - GAP),
                    (between, high - GAP),
                    (between, at),
                    (left["decoder"] + PAD, at),
                ),
                label=f"S × {outline.d_model}" if not i else "",
            )
        )
    x, middle = left["decoder"], left["decoder"] + WIDTH / 2
    for i, (label, note) in enumerate(
        (
            ("softmax", f"{outline.target_vocabulary:,} probabilities for each place"),
            ("projection", f"{outline.d_model} → {outline.target_vocabulary:,} logits"),
        )
    ):
        boxes.append(Box(x=x, y=MARGIN + i * (HEIGHT + GAP), width=WIDTH, height=HEIGHT, label=label, note=note))
    end = floor - 2 * GAP - outline.decoder_layers * (tall["decoder"] + GAP) + GAP
    arrows.append(Arrow(points=((middle, end), (middle, MARGIN + 2 * HEIGHT + GAP)), label=f"T × {outline.d_model}"))
    return Drawing(
        width=left["decoder"] + WIDTH + MARGIN,
        height=floor + HEIGHT + BELOW + MARGIN,
        boxes=tuple(boxes),
        arrows=tuple(arrows),
    )


def encoder_blocks(outline: Outline) -> list[tuple[str, str]]:
    """Label and note of the blocks of a layer, top first."""
    where = "LayerNorm before" if outline.pre_norm else "LayerNorm after the residual"
    return [
        ("feed-forward", f"{outline.d_model} → {outline.d_ff} → {outline.d_model}, {where}"),
        ("self-attention", f"{outline.heads} heads of {outline.d_model // outline.heads}, {where}"),
    ]


def decoder_blocks(outline: Outline) -> list[tuple[str, str]]:
    feed_forward, attention = encoder_blocks(outline)
    return [feed_forward, ("cross-attention", attention[1]), ("masked self-attention", attention[1])]


def layer_boxes(
    stack: str, layer: int, x: float, y: float, height: float, blocks: list[tuple[str, str]]
) -> Iterator[Box]:
    name = f"{stack}, layer {layer + 1}"
    yield Box(x=x, y=y, width=WIDTH, height=height, label=name, note=name, stack=stack, layer=layer, frame=True)
    for i, (label, note) in enumerate(blocks):
        yield Box(
            x=x + PAD,
            y=y + PAD + i * (HEIGHT + GAP),
            width=WIDTH - 2 * PAD,
            height=HEIGHT,
            label=label,
            note=f"{name}: {note}",
            stack=stack,
            layer=layer,
        )
