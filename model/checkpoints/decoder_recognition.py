"""Recognises the decoders alone of tutorials by the names and shapes of their tensors."""

from collections.abc import Mapping
from itertools import count, takewhile
from typing import Any

import torch

from model.checkpoints.decoder_layouts import DECODER_LAYOUTS, TOKENS, arranged
from model.checkpoints.description_file import UNKNOWN
from model.checkpoints.tutorials import heads_in, setting_in
from model.config.section import ConfigError
from model.safety.torch_files import SavedFile

__all__ = ["DECODER_RECOGNISERS"]

POST = {"norm": "post", "activation": "relu", "positional": "sinusoidal", "scale_embeddings": True}
PRE = {"norm": "pre", "final_norm": True, "scale_embeddings": False}
GPT = PRE | {"positional": "learned"}
# The names in two versions of PyTorch's tutorial, and in `word_language_model` of its examples.
TORCH: tuple[dict[str, str], ...] = (
    {},
    {"target_embedding": "encoder", "output": "decoder"},
    {"target_embedding": "input_emb", "output": "decoder", "prefix": "encoder."},
)


def recognise_gpt(saved: SavedFile) -> dict[str, Any] | None:
    """nanoGPT, which ties its output layer to its embedding, or minGPT, which does not."""
    sizes = sizes_in(saved, "gpt")
    if sizes is None:
        return None
    tied = torch.equal(saved.tensors["lm_head.weight"], saved.tensors["transformer.wte.weight"])
    return values_of("gpt", sizes | GPT | {"activation": "gelu" if tied else "gelu_tanh"})


def recognise_llama(saved: SavedFile) -> dict[str, Any] | None:
    """llama2.c. Files of Llama's own code have the same names, and nothing beside the tensors."""
    sizes = sizes_in(saved, "llama")
    if sizes is None:
        return None
    heads, length = sizes["num_heads"], setting_in(saved.settings, ("max_seq_len",))
    shared, width = len(saved.tensors["layers.0.attention.wk.weight"]), sizes["d_model"]
    bare = UNKNOWN in (heads, length or UNKNOWN)
    model = {
        **sizes,
        "num_kv_heads": 0 if shared == width else UNKNOWN if heads == UNKNOWN else shared * heads // width,
        "max_length": length or UNKNOWN,
        **PRE,
        **{"rms_norm": True, "activation": "silu", "gated": True},
        **{"positional": "rotary", "rotary_base": UNKNOWN if bare else 10_000.0},
    }
    found = values_of("llama", model) | ({"norm": {"epsilon": UNKNOWN}} if bare else {})
    # In the training data of llama2.c, <s> stands before each text, and no token ends it.
    return found | {"specials": {"bos": "<s>", "eos": "<s>", "unknown": "<unk>"}}


def recognise_torch(saved: SavedFile) -> dict[str, Any] | None:
    """PyTorch's tutorial on language models. Only its names tell that the mask is causal."""
    tops = {name.partition(".")[0] for name in saved.tensors}
    for names in TORCH:
        stack = names.get("prefix", DECODER_LAYOUTS["torch"].prefix)
        ends = names.get("target_embedding", "embedding"), names.get("output", "linear")
        if tops == {*ends, stack.rstrip("."), "pos_encoder"} and (sizes := sizes_in(saved, "torch", names)):
            return values_of("torch", sizes | POST | {"final_norm": f"{stack}norm.weight" in saved.tensors}, names)
    return None


def recognise_lecture(saved: SavedFile) -> dict[str, Any] | None:
    """gpt.py of the lecture "Let's build GPT", which has a matrix for each head."""
    sizes = sizes_in(saved, "lecture")
    if sizes is None:
        return None
    key = saved.tensors["blocks.0.sa.heads.0.key.weight"]
    return values_of("lecture", sizes | GPT | {"num_heads": sizes["d_model"] // len(key), "activation": "relu"})


def recognise_scratch(saved: SavedFile) -> dict[str, Any] | None:
    """The GPT of "Build a Large Language Model (From Scratch)"."""
    sizes = sizes_in(saved, "scratch")
    return None if sizes is None else values_of("scratch", sizes | GPT | {"activation": "gelu_tanh"})


DECODER_RECOGNISERS = (recognise_gpt, recognise_llama, recognise_torch, recognise_lecture, recognise_scratch)


def sizes_in(saved: SavedFile, layout: str, names: Mapping[str, str] | None = None) -> dict[str, Any] | None:
    """The sizes that the shapes tell; None if the file does not have this layout.

    Args:
        saved: The file.
        layout: One of `DECODER_LAYOUTS`.
        names: The table [names], where it differs from the layout.
    """
    known = DECODER_LAYOUTS[layout]
    modules = known.modules_in(names or {})
    try:
        found = arranged(saved.tensors, modules, 1, known.norm).tensors
    except ConfigError:  # such as the transposed matrices of `transformers`
        return None
    needed = {f"{ours.replace('{i}', '0')}.weight" for ours in modules} - {"decoder.norm.weight"}
    table = saved.tensors.get(known.positions)
    if not needed <= set(found) or (known.positions and table is None):
        return None
    vocab_size, d_model = found[f"{TOKENS}.weight"].shape
    if found["decoder.layers.0.self_attention.query_projection.weight"].shape != (d_model, d_model):
        return None
    expand = modules["decoder.layers.{i}.feed_forward.expand"]
    layers = takewhile(lambda i: f"{expand.replace('{i}', str(i))}.weight" in saved.tensors, count())
    sizes = {
        "d_model": d_model,
        "num_heads": heads_in(saved, d_model),
        "d_ff": len(found["decoder.layers.0.feed_forward.expand.weight"]),
        "num_decoder_layers": len(list(layers)),
        "vocab_size": vocab_size,
    }
    return sizes if table is None else sizes | {"max_length": table.numel() // d_model}


def values_of(layout: str, model: Mapping[str, Any], names: Mapping[str, str] | None = None) -> dict[str, Any]:
    return {"task": "continuation", "model": dict(model), "names": {"layout": layout, **(names or {})}}
