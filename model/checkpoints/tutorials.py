"""Recognises the Transformers of well-known tutorials by the names and shapes of their tensors."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from model.checkpoints.description import UNKNOWN
from model.checkpoints.layouts import ENDS, LAYOUTS, Layout, Names, NormForm, TutorialTask
from model.checkpoints.saved_positions import POSITIONS, guessed_tables, is_table
from model.config.section import ConfigError
from model.safety.torch_files import SavedFile

__all__ = ["recognise"]

MAX_LENGTH = 256  # of a model without a table of positions
LONGEST = 4096
HEADS = ("num_heads", "n_heads", "nhead", "n_head", "heads", "attn_heads", "num_attention_heads")
LOSSES = ("criterion", "loss", "loss_fn", "loss_function")  # modules that a training loop keeps beside the model
NORM = "decoder.layers.0.self_attention_residual.norm"
QUERIES = "encoder.layers.0.self_attn.in_proj_weight"  # of torch.nn.Transformer
TARGET = re.compile(r"(^|[._])(tgt|trg|target|dec|decoder|out|output)")


@dataclass(frozen=True, kw_only=True)
class Found:
    """A layout in a file."""

    saved: SavedFile
    layout: Layout
    names: Names

    def tensor(self, ours: str) -> Tensor | None:
        """One of our parameters in the file, if it is there."""
        try:
            return self.names.find(ours, self.saved).tensor
        except ConfigError:  # such as the transposed matrices of `transformers`
            return None

    def shape(self, ours: str) -> tuple[int, ...]:
        """The shape of one of our parameters; () if the file does not have it."""
        found = self.tensor(ours)
        return () if found is None else tuple(found.shape)

    def layers(self, stack: str) -> int:
        """How many layers a stack has."""
        count = 0
        while self.shape(f"{stack}.layers.{count}.feed_forward.expand.weight"):
            count += 1
        return count


Sizes = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Tutorial:
    """What the code of a tutorial fixes, so that nobody has to be asked. An option of its code is `UNKNOWN`."""

    layout: str
    task: TutorialTask = "translation"
    names: Mapping[str, str] = field(default_factory=dict)  # of the table [names], where the layout does not fix them
    model: Mapping[str, object]  # settings of the table [model]
    # Other settings, from what is in the file and the sizes; None if it is not from this tutorial.
    read: Callable[[Found, Sizes], Sizes | None] = lambda found, sizes: {}
    specials: Mapping[str, str] = field(default_factory=dict)  # of a decoder alone
    around_source: bool = True  # a source begins with bos


def ends(source: str, target: str, output: str, prefix: str = "") -> dict[str, str]:
    """The table [names] of a translator."""
    return {"prefix": prefix, "source_embedding": source, "target_embedding": target, "output": output}


def activation_of_gpt(found: Found, sizes: Sizes) -> Sizes:
    """NanoGPT ties its output layer to its embedding. minGPT does not, and has another GELU."""
    output, tokens = (found.tensor(f"{ENDS[end]}.weight") for end in ("output", "target_embedding"))
    assert output is not None
    assert tokens is not None
    return {"activation": "gelu" if torch.equal(output, tokens) else "gelu_tanh"}


def settings_of_llama(found: Found, sizes: Sizes) -> Sizes:
    """Files of Llama's own code have the names of llama2.c, and nothing beside the tensors."""
    heads, length = sizes["num_heads"], setting_in(found.saved.settings, ("max_seq_len",)) or UNKNOWN
    shared, width = found.shape("decoder.layers.0.self_attention.key_projection.weight")[0], sizes["d_model"]
    return {
        "num_kv_heads": 0 if shared == width else UNKNOWN if heads == UNKNOWN else shared * heads // width,
        "max_length": length,
        "rotary_base": UNKNOWN if UNKNOWN in (heads, length) else 10_000.0,
    }


def final_norm_of_torch(found: Found, sizes: Sizes) -> Sizes | None:
    """Only the names of the whole model tell that the mask is causal."""
    used = {name.partition(".")[0] for ours, name in found.names.modules.items() if ours != "decoder.norm"}
    if {name.partition(".")[0] for name in found.saved.tensors} != used | {"pos_encoder"}:
        return None
    return {"final_norm": bool(found.shape("decoder.norm.weight"))}


def heads_of_lecture(found: Found, sizes: Sizes) -> Sizes:
    """Each head has a matrix of its own."""
    place = found.names.find("decoder.layers.0.self_attention.key_projection.weight", found.saved)
    return {"num_heads": len(place.used)}


FIXED = {"norm": "pre", "activation": "relu", "scale_embeddings": True}
OPTIONS = {"norm": UNKNOWN, "activation": UNKNOWN}  # of torch.nn.Transformer
ALONE = {"norm": "pre", "final_norm": True, "scale_embeddings": False}
# In the training data of llama2.c, <s> stands before each text, and no token ends it.
LLAMA = {"bos": "<s>", "eos": "<s>", "unknown": "<unk>"}
TUTORIALS = (
    Tutorial(layout="annotated", names=ends("src_embed.0.lut", "tgt_embed.0.lut", "generator.proj"), model=FIXED),
    Tutorial(
        layout="hkproj", names=ends("src_embed.embedding", "tgt_embed.embedding", "projection_layer.proj"), model=FIXED
    ),
    Tutorial(
        layout="hyunwoongko",
        names=ends("encoder.emb.tok_emb", "decoder.emb.tok_emb", "decoder.linear"),
        model=FIXED | {"norm": "post", "scale_embeddings": False, "positional": "sinusoidal"},
    ),
    Tutorial(
        layout="bentrevett",
        names=ends("encoder.tok_embedding", "decoder.tok_embedding", "decoder.fc_out"),
        model=FIXED | {"norm": "post", "positional": "learned"},
    ),
    Tutorial(
        layout="joeynmt",
        names=ends("src_embed.lut", "trg_embed.lut", "decoder.output_layer"),
        model={"activation": UNKNOWN, "scale_embeddings": UNKNOWN},  # the last norm shows where norms are
        around_source=False,
    ),
    Tutorial(  # PyTorch's tutorial "Language Translation with nn.Transformer"
        layout="torch",
        names=ends("src_tok_emb.embedding", "tgt_tok_emb.embedding", "generator", "transformer."),
        model=OPTIONS | {"scale_embeddings": True},
    ),
    Tutorial(  # pytorch/examples, language_translation
        layout="torch",
        names=ends("src_embedding", "tgt_embedding", "ff", "transformer."),
        model=OPTIONS | {"scale_embeddings": False},
    ),
)
DECODERS = (
    Tutorial(layout="gpt", task="continuation", model=ALONE | {"positional": "learned"}, read=activation_of_gpt),
    Tutorial(
        layout="llama",
        task="continuation",
        model=ALONE | {"rms_norm": True, "activation": "silu", "gated": True, "positional": "rotary"},
        read=settings_of_llama,
        specials=LLAMA,
    ),
    *(
        Tutorial(
            layout="torch",
            task="continuation",
            names=names,
            model={"norm": "post", "activation": "relu", "positional": "sinusoidal", "scale_embeddings": True},
            read=final_norm_of_torch,
        )
        for names in (  # in two versions of PyTorch's tutorial, and in `word_language_model` of its examples
            {},
            {"target_embedding": "encoder", "output": "decoder"},
            {"target_embedding": "input_emb", "output": "decoder", "prefix": "encoder."},
        )
    ),
    Tutorial(
        layout="lecture",
        task="continuation",
        model=ALONE | {"positional": "learned", "activation": "relu"},
        read=heads_of_lecture,
    ),
    Tutorial(layout="scratch", task="continuation", model=ALONE | {"positional": "learned", "activation": "gelu_tanh"}),
)


def recognise(saved: SavedFile) -> dict[str, Any] | None:
    """The values of a `headlight.toml` for a file, or None. What the tensors cannot tell is `UNKNOWN`."""
    for tutorial in (*TUTORIALS, *torch_models(saved), *DECODERS):
        for before in ("", "model.", "net.") if tutorial.task == "translation" else ("",):
            names = {key: before + name for key, name in tutorial.names.items() if before + name}
            found = found_in(saved, tutorial, names)
            read = translator_in if tutorial.task == "translation" else decoder_in
            if (sizes := sizes_in(found)) and (values := read(found, tutorial, sizes)):
                norm = {} if found.names.norm == found.layout.norm else {"norm": found.names.norm.to_dict()}
                return {**values, "names": {"layout": tutorial.layout, **names}, **norm}
    return None


def found_in(saved: SavedFile, tutorial: Tutorial, names: Mapping[str, str]) -> Found:
    """A layout with the norms that the file has: many replace those of a tutorial by `nn.LayerNorm`."""
    layout = LAYOUTS[tutorial.task][tutorial.layout]
    own = Found(saved=saved, layout=layout, names=Names.of(tutorial.layout, layout, names))
    plain, norm = replace(own, names=replace(own.names, norm=NormForm())), f"{NORM}.weight"
    return plain if plain.shape(norm) and not own.shape(norm) else own


def torch_models(saved: SavedFile) -> Iterator[Tutorial]:
    """Any model with a `torch.nn.Transformer`: its embeddings and its output layer are found by their shapes."""
    queries = next((name for name in saved.tensors if name.endswith(QUERIES)), "")
    width = saved.tensors[queries].size(-1) if queries else 0
    matrices = {
        name.removesuffix(".weight"): tensor
        for name, tensor in saved.tensors.items()
        if name.endswith(".weight") and tensor.dim() == 2 and tensor.size(1) == width
        if not re.search(r"\.layers\.\d", name) and not POSITIONS.search(name)
    }
    outputs = [name for name in matrices if f"{name}.bias" in saved.tensors]
    embeddings = [name for name in matrices if name not in outputs]
    target = [name for name in embeddings if TARGET.search(name)]
    source = [name for name in embeddings if name not in target]
    if len(embeddings) == 1:
        source = target = embeddings
    if len(outputs) == len(source) == len(target) == 1:
        yield Tutorial(
            layout="torch",
            names=ends(source[0], target[0], outputs[0], queries.removesuffix(QUERIES)),
            model=OPTIONS | {"scale_embeddings": UNKNOWN, "positional": UNKNOWN},
        )


def sizes_in(found: Found) -> Sizes | None:
    """The sizes that the shapes tell; None if the file does not have these names."""
    layers = {stack: found.layers(stack) for stack in found.layout.stacks}
    shapes = [found.shape(f"{end}.weight") for end in ENDS.values() if end in found.names.modules]
    if not all(layers.values()) or not all(len(shape) == 2 for shape in shapes):
        return None
    heads = setting_in(found.saved.settings, HEADS)
    width = shapes[-1][1]
    return {
        "d_model": width,
        "num_heads": heads if type(heads) is int and heads > 0 and width % heads == 0 else UNKNOWN,
        "d_ff": found.shape("decoder.layers.0.feed_forward.expand.weight")[0],
        **{f"num_{stack}_layers": count for stack, count in layers.items()},
    }


def decoder_in(found: Found, tutorial: Tutorial, sizes: Sizes) -> dict[str, Any] | None:
    """The values for a decoder alone; None if the file does not have all its tensors."""
    width, modules = sizes["d_model"], [ours.replace("{i}", "0") for ours in found.names.modules]
    table = found.saved.tensors.get(found.layout.positions)
    if not all(found.shape(f"{ours}.weight") for ours in modules if ours != "decoder.norm"):
        return None
    queries = found.shape("decoder.layers.0.self_attention.query_projection.weight")
    if queries != (width, width) or (found.layout.positions and table is None):
        return None
    sizes["vocab_size"] = found.shape("decoder.embedding.tokens.weight")[0]
    if table is not None:
        sizes["max_length"] = table.numel() // width
    if (own := tutorial.read(found, sizes)) is None:
        return None
    values = {"task": tutorial.task, "model": {**sizes, **tutorial.model, **own}, "specials": dict(tutorial.specials)}
    return values | ({"norm": {"epsilon": UNKNOWN}} if own.get("rotary_base") == UNKNOWN else {})


def translator_in(found: Found, tutorial: Tutorial, sizes: Sizes) -> dict[str, Any] | None:
    """The values for an encoder-decoder; None if only one of its stacks has a last norm."""
    final = {bool(found.shape(f"{stack}.norm.weight")) for stack in found.layout.stacks}
    if len(final) > 1:
        return None
    model = {
        **sizes,
        "norm": "pre" if True in final else "post",
        **tutorial.model,
        "final_norm": True in final,
        "output_bias": bool(found.shape("output_projection.bias")),
    }
    values: dict[str, Any] = {"model": model, "specials": {"around_source": tutorial.around_source}}
    tables = tables_in(found, model["d_model"], any_name=model.get("positional") == UNKNOWN)
    rows = (found.saved.tensors[name].numel() // model["d_model"] for name in tables.values())
    model["max_length"] = min(*rows, LONGEST) if tables else MAX_LENGTH
    if tables:
        if model.get("positional") == UNKNOWN:
            del model["positional"]  # the file has them
        both = len(set(tables.values())) == 1
        sides = {"encoder": "source_table", "decoder": "target_table"}
        values["positions"] = {"table" if both else sides[stack]: name for stack, name in tables.items()}
    losses = dict.fromkeys(name.partition(".")[0] for name in found.saved.tensors)
    ignored = [f"{name}.*" for name in losses if name in LOSSES]
    return values | ({"ignore": ignored} if ignored else {})


def tables_in(found: Found, width: int, *, any_name: bool) -> dict[str, str]:
    """Stack → its table of positions; nothing where that is not clear, so that the user is asked when it is opened.

    Args:
        found: The layout in the file.
        width: D.
        any_name: The only unused tensor with the shape of a table is the table of both stacks, whatever its name is.
    """
    used = {f"{found.names.modules[ours]}.weight" for ours in ENDS.values()}
    rest = {
        name: tensor
        for name, tensor in found.saved.tensors.items()
        if name not in used and not re.search(r"layers\.\d", name)
    }
    try:
        tables = guessed_tables(rest, width)
    except ConfigError:
        return {}
    shaped = [name for name, tensor in rest.items() if is_table(tensor, width) and tensor.numel() > width]
    return dict.fromkeys(found.layout.stacks, shaped[0]) if any_name and len(shaped) == 1 and not tables else tables


def setting_in(settings: object, names: tuple[str, ...]) -> object:
    """The first setting with one of these names in nested dictionaries; None without one."""
    if not isinstance(settings, dict):
        return None
    own = next((settings[name] for name in names if name in settings), None)
    inner = (setting_in(value, names) for value in settings.values())
    return own if own is not None else next((value for value in inner if value is not None), None)
