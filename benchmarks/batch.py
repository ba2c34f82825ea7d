"""A file of sentences translated by beam search, against CTranslate2 with the same weights.

    pip install ctranslate2==4.8.5
    PYTHONPATH=. python benchmarks/batch.py CHECKPOINT [--corpus multi30k] [--split test_2016_flickr] [--threads 1]

Both return token ids and use fp32, the same beam, length penalty and batch size. Each sorts the sentences by length in
its usual way. Headlight also tokenizes the texts; CTranslate2 receives tokens. Prints the ratio of the medians of
runs in turns, and the number of translations that agree.
"""

import argparse
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from benchmarks.reference import machine, medians
from model.checkpoints.checkpoint import Checkpoint, load_checkpoint
from model.config.search import SearchConfig
from model.corpora.corpora import read_pairs
from model.inference.translate import best_hypotheses
from model.network.attention import MultiHeadAttention
from model.network.layers import DecoderLayer, EncoderLayer
from model.network.transformer import Decoder, Encoder, Transformer
from model.text.vocab import BOS_ID, EOS_ID, UNK_ID

try:
    import ctranslate2
    from ctranslate2.specs import TransformerSpec
    from ctranslate2.specs.attention_spec import MultiHeadAttentionSpec
    from ctranslate2.specs.common_spec import LayerNormSpec, LinearSpec
    from ctranslate2.specs.transformer_spec import TransformerDecoderSpec, TransformerEncoderSpec
except ModuleNotFoundError as error:
    raise SystemExit("This benchmark needs CTranslate2; install it with pip install ctranslate2==4.8.5.") from error

SPECIAL = {UNK_ID: "<unk>", BOS_ID: "<s>", EOS_ID: "</s>"}
BATCH = 64


def linear(spec: LinearSpec, *modules: nn.Linear) -> None:
    """Copy one or more of our matrices into one of theirs, one below the other."""
    spec.weight = torch.cat(tuple(module.weight for module in modules)).numpy()
    biases = tuple(module.bias for module in modules if module.bias is not None)
    if biases:
        spec.bias = torch.cat(biases).numpy()


def norm(spec: LayerNormSpec, module: nn.Module) -> None:
    assert isinstance(module, nn.LayerNorm)
    spec.gamma, spec.beta = module.weight.numpy(), module.bias.numpy()


def attention(spec: MultiHeadAttentionSpec, module: MultiHeadAttention) -> None:
    projections = [module.query_projection, module.key_projection, module.value_projection]
    if len(spec.linear) == 2:  # self-attention
        linear(spec.linear[0], *projections)
    else:
        linear(spec.linear[0], projections[0])
        linear(spec.linear[1], *projections[1:])
    linear(spec.linear[-1], module.output_projection)


def stack(spec: TransformerEncoderSpec | TransformerDecoderSpec, module: Encoder | Decoder, tokens: Tensor) -> None:
    embeddings = spec.embeddings
    (embeddings[0] if isinstance(embeddings, list) else embeddings).weight = tokens.numpy()
    assert module.embedding.positions is not None, "only models with positional encodings are converted"
    spec.position_encodings.encodings = module.embedding.positions.table.numpy()
    for theirs, ours in zip(spec.layer, module.layers, strict=True):
        assert isinstance(ours, EncoderLayer | DecoderLayer)
        attention(theirs.self_attention, ours.self_attention)
        norm(theirs.self_attention.layer_norm, ours.self_attention_residual.norm)
        if isinstance(ours, DecoderLayer):
            attention(theirs.attention, ours.cross_attention)
            norm(theirs.attention.layer_norm, ours.cross_attention_residual.norm)
        linear(theirs.ffn.linear_0, ours.feed_forward.expand)
        linear(theirs.ffn.linear_1, ours.feed_forward.contract)
        norm(theirs.ffn.layer_norm, ours.feed_forward_residual.norm)
    if hasattr(spec, "layer_norm"):
        norm(spec.layer_norm, module.norm)


@torch.no_grad()
def convert(model: Transformer, folder: str) -> None:
    """Write a model in the format of CTranslate2. The tokens of its vocabularies are our ids."""
    config = model.config
    layers = config.num_encoder_layers, config.num_decoder_layers
    spec = TransformerSpec.from_config(layers, config.num_heads, pre_norm=config.norm == "pre")
    stack(spec.encoder, model.encoder, model.encoder.embedding.tokens.weight)
    stack(spec.decoder, model.decoder, model.decoder.embedding.tokens.weight)
    linear(spec.decoder.projection, model.output_projection)
    spec.register_source_vocabulary(names(config.source_vocab_size))
    spec.register_target_vocabulary(names(config.target_vocab_size))
    spec.config.add_source_eos = False
    spec.validate()
    spec.save(folder)


def names(count: int) -> list[str]:
    return [SPECIAL.get(token, str(token)) for token in range(count)]


def theirs(translator: ctranslate2.Translator, sources: Sequence[list[str]], search: SearchConfig) -> list[list[str]]:
    found = translator.translate_batch(
        sources,
        max_batch_size=BATCH,
        beam_size=search.beam_size,
        length_penalty=search.length_penalty,
        max_decoding_length=256,
        disable_unk=True,
    )
    return [result.hypotheses[0] for result in found]


def ours(checkpoint: Checkpoint, lines: Sequence[str], search: SearchConfig) -> list[list[str]]:
    found = best_hypotheses(checkpoint.model, checkpoint.tokenizers, lines, search=search, batch_size=BATCH)
    return [[str(token) for token in best.written] if best else [] for best in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--data-dir", type=Path, default=Path(os.environ.get("HEADLIGHT_DATA", "data")))
    parser.add_argument("--corpus", default="multi30k")
    parser.add_argument("--split", default="test_2016_flickr")
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    checkpoint = load_checkpoint(given.checkpoint)
    model = checkpoint.model
    assert isinstance(model, Transformer)
    if (model.config.activation, model.config.attention) != ("relu", "scaled_dot_product"):
        parser.error("Only models with ReLU and scaled dot products are converted.")
    languages, tokenizers = checkpoint.config.tokenizer, checkpoint.tokenizers
    pairs = read_pairs(given.data_dir, given.corpus, given.split, languages.source_language, languages.target_language)
    lines = [source for source, _ in pairs]
    search = SearchConfig(method="beam", beam_size=given.beam)
    vocabulary = names(model.config.source_vocab_size)
    limit = model.config.max_length
    sources = [[vocabulary[token] for token in tokenizers.source_ids(line, limit)[0]] for line in lines]
    with tempfile.TemporaryDirectory() as folder:
        convert(model, folder)
        translator = ctranslate2.Translator(folder, intra_threads=given.threads, compute_type="float32")
    pairs_of = zip(ours(checkpoint, lines, search), theirs(translator, sources, search), strict=True)
    same = sum(mine == yours for mine, yours in pairs_of)
    print(f"{machine()}, CTranslate2 {ctranslate2.__version__}")
    seconds = medians(
        {
            "CTranslate2": lambda: theirs(translator, sources, search),
            "Headlight": lambda: ours(checkpoint, lines, search),
        },
        repeats=given.repeats,
        warm_up=0,  # both have just run
    )
    for name, value in seconds.items():
        print(f"{name:12} {value:6.1f} s for {len(lines)} sentences, beam {given.beam}, {given.threads} threads")
    print(
        f"{seconds['Headlight'] / seconds['CTranslate2']:.2f} × CTranslate2; {same} of {len(lines)} translations agree"
    )


if __name__ == "__main__":
    main()
