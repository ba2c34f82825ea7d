"""Recognises the Transformers of well-known tutorials by the names and shapes of their tensors."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from model.checkpoints.description_file import UNKNOWN
from model.checkpoints.layouts import LAYOUTS, Names, NormForm
from model.checkpoints.saved_positions import POSITIONS, guessed_tables, is_table
from model.config.section import ConfigError
from model.safety.torch_files import SavedFile

__all__ = ["TUTORIALS", "Tutorial", "recognise_tutorial", "setting_in"]

MAX_LENGTH = 256  # of a model without a table of positions
LONGEST = 4096
HEADS = ("num_heads", "n_heads", "nhead", "n_head", "heads", "attn_heads", "num_attention_heads")
LOSSES = ("criterion", "loss", "loss_fn", "loss_function")  # modules that a training loop keeps beside the model
EMBEDDINGS = ("encoder.embedding.tokens", "decoder.embedding.tokens")
NORM = "encoder.layers.0.self_attention_residual.norm.weight"
QUERIES = "encoder.layers.0.self_attn.in_proj_weight"  # of torch.nn.Transformer
TARGET = re.compile(r"(^|[._])(tgt|trg|target|dec|decoder|out|output)")


@dataclass(frozen=True, kw_only=True)
class Tutorial:
    """What the code of a tutorial fixes, so that nobody has to be asked. An option of its code is `UNKNOWN`."""

    layout: str
    embeddings: tuple[str, str]
    output: str
    model: Mapping[str, object]  # settings of the table [model]
    around_source: bool = True  # a source begins with bos
    prefix: str = ""  # before the names of layers


FIXED = {"norm": "pre", "activation": "relu", "scale_embeddings": True}
OPTIONS = {"norm": UNKNOWN, "activation": UNKNOWN}  # of torch.nn.Transformer
TUTORIALS = (
    Tutorial(
        layout="annotated",
        embeddings=("src_embed.0.lut", "tgt_embed.0.lut"),
        output="generator.proj",
        model=FIXED,
    ),
    Tutorial(
        layout="hkproj",
        embeddings=("src_embed.embedding", "tgt_embed.embedding"),
        output="projection_layer.proj",
        model=FIXED,
    ),
    Tutorial(
        layout="hyunwoongko",
        embeddings=("encoder.emb.tok_emb", "decoder.emb.tok_emb"),
        output="decoder.linear",
        model=FIXED | {"norm": "post", "scale_embeddings": False, "positional": "sinusoidal"},
    ),
    Tutorial(
        layout="bentrevett",
        embeddings=("encoder.tok_embedding", "decoder.tok_embedding"),
        output="decoder.fc_out",
        model=FIXED | {"norm": "post", "positional": "learned"},
    ),
    Tutorial(
        layout="joeynmt",
        embeddings=("src_embed.lut", "trg_embed.lut"),
        output="decoder.output_layer",
        model={"activation": UNKNOWN, "scale_embeddings": UNKNOWN},  # the last norm shows where norms are
        around_source=False,
    ),
    Tutorial(  # PyTorch's tutorial "Language Translation with nn.Transformer"
        layout="torch",
        embeddings=("src_tok_emb.embedding", "tgt_tok_emb.embedding"),
        output="generator",
        model=OPTIONS | {"scale_embeddings": True},
        prefix="transformer.",
    ),
    Tutorial(  # pytorch/examples, language_translation
        layout="torch",
        embeddings=("src_embedding", "tgt_embedding"),
        output="ff",
        model=OPTIONS | {"scale_embeddings": False},
        prefix="transformer.",
    ),
)


@dataclass(frozen=True, kw_only=True)
class Found:
    """A layout in a file."""

    saved: SavedFile
    names: Names

    def shape(self, parameter: str) -> tuple[int, ...]:
        """The shape of one of our parameters in the file; () if the file does not have it."""
        tensor = self.saved.tensors.get(self.names.of(parameter).tensor)
        return () if tensor is None else tuple(tensor.shape)

    def layers(self, stack: str) -> int:
        """How many layers a stack has."""
        count = 0
        while self.shape(f"{stack}.layers.{count}.feed_forward.expand.weight"):
            count += 1
        return count


def recognise_tutorial(saved: SavedFile) -> Mapping[str, Any] | None:
    """The values of a `headlight.toml` for an encoder-decoder Transformer, or None."""
    for tutorial in (*TUTORIALS, *torch_models(saved)):
        for prefix in ("", "model.", "net."):
            found = Found(saved=saved, names=names_in(saved, tutorial, prefix))
            if (values := values_of(found, tutorial)) is not None:
                return values
    return None


def names_in(saved: SavedFile, tutorial: Tutorial, prefix: str) -> Names:
    """The names of a tutorial after a prefix, with the norms that the file has."""
    source, target = tutorial.embeddings
    names = Names(
        layout=tutorial.layout,
        prefix=prefix + tutorial.prefix,
        source_embedding=prefix + source,
        target_embedding=prefix + target,
        output=prefix + tutorial.output,
        modules={},
        norm=LAYOUTS[tutorial.layout].norm,
    )
    plain = Names(**vars(names) | {"norm": NormForm()})
    has_plain = plain.of(NORM).tensor in saved.tensors
    return plain if has_plain and names.of(NORM).tensor not in saved.tensors else names


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
            embeddings=(source[0], target[0]),
            output=outputs[0],
            model=OPTIONS | {"scale_embeddings": UNKNOWN, "positional": UNKNOWN},
            prefix=queries.removesuffix(QUERIES),
        )


def values_of(found: Found, tutorial: Tutorial) -> Mapping[str, Any] | None:
    """The values of a `headlight.toml`, or None if the file does not have these names."""
    layers = {stack: found.layers(stack) for stack in ("encoder", "decoder")}
    ends = [found.shape(f"{name}.weight") for name in (*EMBEDDINGS, "output_projection")]
    if not all(layers.values()) or not all(len(shape) == 2 for shape in ends):
        return None
    final = [bool(found.shape(f"{stack}.norm.weight")) for stack in layers]
    if final[0] != final[1]:
        return None
    width = ends[0][1]
    model = {
        "d_model": width,
        "num_heads": heads_in(found.saved, width),
        "d_ff": found.shape("encoder.layers.0.feed_forward.expand.weight")[0],
        **{f"num_{stack}_layers": count for stack, count in layers.items()},
        "norm": "pre" if final[0] else "post",
        **tutorial.model,
        "final_norm": final[0],
        "output_bias": bool(found.shape("output_projection.bias")),
    }
    tables = tables_in(found, width, any_name=tutorial.model.get("positional") == UNKNOWN)
    if tables:
        rows = min(found.saved.tensors[name].numel() // width for name in tables.values())
        model |= {"max_length": min(rows, LONGEST)}
        if model.get("positional") == UNKNOWN:
            del model["positional"]  # the file has them
    else:
        model |= {"max_length": MAX_LENGTH}
    values: dict[str, Any] = {"model": model, "specials": {"around_source": tutorial.around_source}}
    return values | {"names": names_table(found.names)} | rest_of(found, tables, tutorial)


def names_table(names: Names) -> dict[str, str]:
    """The table [names]."""
    keys = ("layout", "prefix", "source_embedding", "target_embedding", "output")
    return {key: getattr(names, key) for key in keys if getattr(names, key)}


def rest_of(found: Found, tables: Mapping[str, str], tutorial: Tutorial) -> dict[str, Any]:
    """The tables [positions] and [norm], and the modules of a training loop to ignore."""
    rest: dict[str, Any] = {}
    if tables:
        both = len(set(tables.values())) == 1
        sides = {"encoder": "source_table", "decoder": "target_table"}
        rest["positions"] = {"table" if both else sides[stack]: name for stack, name in tables.items()}
    if found.names.norm != LAYOUTS[tutorial.layout].norm:
        rest["norm"] = found.names.norm.to_dict()
    losses = dict.fromkeys(name.partition(".")[0] for name in found.saved.tensors)
    if ignored := [f"{name}.*" for name in losses if name in LOSSES]:
        rest["ignore"] = ignored
    return rest


def tables_in(found: Found, width: int, *, any_name: bool) -> dict[str, str]:
    """Stack → its table of positions; nothing where that is not clear, so that the user is asked when it is opened.

    Args:
        found: The layout in the file.
        width: D.
        any_name: The only unused tensor with the shape of a table is the table of both stacks, whatever its name is.
    """
    ends = (found.names.source_embedding, found.names.target_embedding, found.names.output)
    used = {f"{name}.weight" for name in ends}
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
    return dict.fromkeys(("encoder", "decoder"), shaped[0]) if any_name and len(shaped) == 1 and not tables else tables


def heads_in(saved: SavedFile, width: int) -> int | str:
    """The number of heads, if the file has it among its settings."""
    found = setting_in(saved.settings, HEADS)
    return found if type(found) is int and found > 0 and width % found == 0 else UNKNOWN


def setting_in(settings: object, names: tuple[str, ...]) -> object:
    """The first setting with one of these names in nested dictionaries; None without one."""
    if not isinstance(settings, dict):
        return None
    own = next((settings[name] for name in names if name in settings), None)
    inner = (setting_in(value, names) for value in settings.values())
    return own if own is not None else next((value for value in inner if value is not None), None)
