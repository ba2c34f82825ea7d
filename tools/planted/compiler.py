"""Writes the weights of a plan into one of our models.

The norms are pre-norms. A pair of large constants in the residual stream makes their scale constant, and the dimension
`BALANCE` makes the mean of each vector 0. So a norm copies each feature, within 0.5 %, and the model is nearly linear
between its softmaxes and its activations. All other heads and units are distractors: they look somewhere, and write a
little of everything.
"""

from collections.abc import Iterator, Mapping
from math import sqrt
from zlib import crc32

import torch
from torch import Tensor, nn

from model.checkpoints.layouts import NormForm
from model.checkpoints.tutorial_model import CausalStack, TutorialDecoder
from model.config.kinds import KINDS
from model.config.model import ClassifierConfig, DecoderSizes, ModelConfig
from model.network.attention import MultiHeadAttention
from model.network.classifier import Classifier
from model.network.layers import DecoderLayer, EncoderLayer
from model.network.transformer import Decoder, Encoder, Transformer
from model.text.vocab import PAD_ID, SPECIAL_TOKENS
from tools.planted.parts import Plan, PlantedHead, Unit, at, word

__all__ = ["AnyModel", "build", "settings_of"]

WIDTH, UNITS = 64, 64
ONE, MINUS_ONE, BALANCE, FREE = 0, 1, 2, 3  # dimensions; features begin at FREE
LOUD = 64 * sqrt(2.0)  # of the constant pair; then the scale of a norm is 16, which half precision has
LOOKS, WRITES = 0.5, 0.025  # sizes of the random weights of distractors

AnyModel = Transformer | Classifier | TutorialDecoder
Stream = Mapping[str, int]  # feature → dimension


def settings_of(plan: Plan) -> dict[str, object]:
    """The sizes of the model, without those of its vocabularies."""
    sizes: dict[str, object] = {"d_model": plan.width, "num_heads": plan.num_heads, "d_ff": UNITS, "norm": "pre"}
    sizes |= {"positional": "learned", "max_length": plan.positions}
    if plan.task == "continuation":
        vocabulary = len(SPECIAL_TOKENS) + len(plan.words)
        return sizes | {"num_decoder_layers": plan.layers, "vocab_size": vocabulary, "final_norm": True}
    sizes |= {"num_encoder_layers": plan.layers, "dropout": 0.0}
    if plan.task == "classification":
        return sizes | {"labels": plan.writes, "pooling": "mean"}
    return sizes | {"num_decoder_layers": plan.layers_of("decoder"), "tie_embeddings": "none"}


def empty(plan: Plan) -> AnyModel:
    source, target = (len(SPECIAL_TOKENS) + len(words) for words in (plan.words, plan.writes or plan.words))
    settings = settings_of(plan)
    if plan.task == "continuation":
        return TutorialDecoder(DecoderSizes.from_dict(settings), NormForm())
    if plan.task == "classification":
        return Classifier(ClassifierConfig.from_dict(settings | {"vocab_size": source}), pad_id=PAD_ID)
    sizes = {"source_vocab_size": source, "target_vocab_size": target}
    return Transformer(ModelConfig.from_dict(settings | sizes), pad_id=PAD_ID)


@torch.no_grad()
def build(plan: Plan) -> AnyModel:
    """A model with the weights of a plan.

    Raises:
        ValueError: the plan has more features than the model has dimensions, or a head compares too many.
    """
    model = empty(plan)
    for parameter in model.parameters():
        parameter.zero_()
    draws = torch.Generator().manual_seed(crc32(plan.name.encode()))
    stacks = {name: getattr(model, name) for name in ("encoder", "decoder") if hasattr(model, name)}
    streams = {name: stream_of(plan, name) for name in stacks}
    for name, stack in stacks.items():
        words = plan.writes if name == "decoder" and plan.writes else plan.words
        fill_stack(stack, streams[name], [*SPECIAL_TOKENS, *words])
        for place, attention, keys in attentions(stack, name):
            planted = [head for head in plan.heads if (head.place.kind, head.place.layer) == place]
            fill_attention(attention, planted, streams[name], streams[keys], draws, plan.noise)
        for layer, block in enumerate(stack.layers):
            units = [unit for unit in plan.units if (unit.stack, unit.layer) == (name, layer)]
            fill_units(block.feed_forward, units, streams[name], draws, plan.noise)
    last = streams.get("decoder", streams.get("encoder", {}))
    tokens = plan.writes if plan.task == "classification" else [*SPECIAL_TOKENS, *(plan.writes or plan.words)]
    for token, weights in plan.reads.items():
        model.output_projection.weight[list(tokens).index(token)] = reader(weights, last)
    return model.eval()


def stream_of(plan: Plan, stack: str) -> Stream:
    """The dimensions of one stack: for its tokens and positions, and for what its heads and units write."""
    target = plan.task == "translation" and stack == "decoder"
    words = plan.writes if target and plan.writes else plan.words
    features = [*map(word, (*SPECIAL_TOKENS[1:], *words)), *map(at, range(plan.positions))]
    features += [to for head in plan.heads if KINDS[head.place.kind].stack == stack for _, to, _ in head.moves]
    features += [to for unit in plan.units if unit.stack == stack for to in unit.writes]
    if (count := len(dict.fromkeys(features))) > WIDTH - FREE:
        raise ValueError(f"{plan.name} has {count} features in the {stack}; the limit is {WIDTH - FREE}.")
    return {"one": ONE} | {feature: i for i, feature in enumerate(dict.fromkeys(features), start=FREE)}


def attentions(stack: nn.Module, name: str) -> Iterator[tuple[tuple[str, int], MultiHeadAttention, str]]:
    """(kind, layer), the module, and the stack of its keys, for each attention layer of a stack."""
    for layer, block in enumerate(stack.get_submodule("layers").children()):
        assert isinstance(block, EncoderLayer | DecoderLayer)
        yield (name, layer), block.self_attention, name
        if isinstance(block, DecoderLayer):
            yield ("cross", layer), block.cross_attention, "encoder"


def reader(weights: Mapping[str, float], stream: Stream) -> Tensor:
    row = torch.zeros(WIDTH)
    for feature, weight in weights.items():
        row[stream[feature]] += weight
    return row


def writer(weights: Mapping[str, float], stream: Stream) -> Tensor:
    """What is added to the stream: these features, and a number that makes the mean 0."""
    column = reader(weights, stream)
    column[BALANCE] = -column.sum()
    return column


def fill_stack(stack: Encoder | Decoder | CausalStack, stream: Stream, tokens: list[str]) -> None:
    norms = [module for module in stack.modules() if isinstance(module, nn.LayerNorm)]
    for norm in norms:
        norm.weight.fill_(LOUD * sqrt(2.0 / WIDTH))
        norm.weight[[ONE, MINUS_ONE]] /= LOUD
    vectors, positions = stack.embedding.tokens.weight, stack.embedding.positions
    for row, token in zip(vectors, tokens, strict=True):
        row.copy_(writer({word(token): 1.0} if word(token) in stream else {}, stream))
        row[ONE], row[MINUS_ONE] = LOUD, -LOUD
    vectors /= stack.embedding.scale
    assert positions is not None
    for i, row in enumerate(positions.table):
        row.copy_(writer({at(i): 1.0}, stream))


def fill_attention(
    attention: MultiHeadAttention,
    planted: list[PlantedHead],
    own: Stream,
    keys: Stream,
    draws: torch.Generator,
    noise: float,
) -> None:
    width = attention.width
    heads = {head.place.head: head for head in planted}
    for number in range(attention.num_heads):
        rows = slice(number * width, (number + 1) * width)
        matrices = [getattr(attention, f"{name}_projection").weight for name in ("query", "key", "value", "output")]
        query, key, value, output = *(matrix[rows] for matrix in matrices[:3]), matrices[3][:, rows]
        if number in heads:
            fill_head(heads[number], query, key, value, output, own, keys)
            continue
        for matrix, size in ((query, LOOKS), (key, LOOKS), (value, WRITES), (output.T, noise * WRITES)):
            matrix[:, FREE:] = size * torch.randn(width, WIDTH - FREE, generator=draws)
        output[BALANCE] = -output[FREE:].sum(dim=0)


def fill_head(
    head: PlantedHead, query: Tensor, key: Tensor, value: Tensor, output: Tensor, own: Stream, keys: Stream
) -> None:
    """Each key feature has a number of the head's query and key of its own, and so has each value feature."""
    width = len(query)
    compared = list(dict.fromkeys(feature for _, feature, _ in head.looks))
    moved = list(dict.fromkeys(feature for feature, _, _ in head.moves))
    if max(len(compared), len(moved)) > width:
        raise ValueError(f"{head.place} compares {len(compared)} features and moves {len(moved)}; it has {width}.")
    for channel, feature in enumerate(compared):
        key[channel, keys[feature]] = 1.0
    for asks, feature, nats in head.looks:
        query[compared.index(feature), own[asks]] += nats * sqrt(width)
    for channel, feature in enumerate(moved):
        value[channel, keys[feature]] = 1.0
    for feature, to, gain in head.moves:
        output[:, moved.index(feature)] += writer({to: gain}, own)


def fill_units(
    feed_forward: nn.Module, units: list[Unit], stream: Stream, draws: torch.Generator, noise: float
) -> None:
    expand, contract = (feed_forward.get_submodule(name) for name in ("expand", "contract"))
    assert isinstance(expand, nn.Linear)
    assert isinstance(contract, nn.Linear)
    expand.weight[:, FREE:] = LOOKS * torch.randn(UNITS, WIDTH - FREE, generator=draws)
    contract.weight[FREE:] = noise * WRITES / UNITS * torch.randn(WIDTH - FREE, UNITS, generator=draws)
    contract.weight[BALANCE] = -contract.weight[FREE:].sum(dim=0)
    for i, unit in enumerate(units):
        expand.weight[i], expand.bias[i] = reader(unit.reads, stream), unit.bias
        contract.weight[:, i] = writer(unit.writes, stream)
