"""Decoders alone with random weights, with the names and the mathematics of tutorials, written with plain tensors."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor, nn

WORDS = (
    "<unk>",
    "The",
    "dog",
    "snow",
    "likes",
    "mat",
    "brother",
    "it",
    "because",
    "Hund",
    "station",
    "sat",
    "on",
    "the",
)
TEXT = "The dog sat on the mat"
SIZE, WIDTH, HEADS, LAYERS, UNITS, LENGTH = len(WORDS), 24, 4, 2, 40, 64
Tensors = dict[str, Tensor]
Found = tuple[Tensor, Tensor]  # logits (B, T, V) and maps (L, H, T, T)


@dataclass(frozen=True, kw_only=True)
class Tutorial:
    """A file of weights, and what the tutorial's code computes with it."""

    tensors: Tensors
    compute: Callable[[Tensor], Found]
    positions: str
    settings: Mapping[str, object] = field(default_factory=dict)
    heads: bool = True  # the file tells their number


def random(*shape: int, scale: float = 0.3, around: float = 0.0) -> Tensor:
    return torch.randn(shape) * scale + around


def attended(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """The heads' outputs (T, D) and their weights (H, T, T), from vectors (H, T, K)."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    weights = scores.masked_fill(later, -math.inf).softmax(dim=-1)
    return (weights @ v).transpose(0, 1).flatten(1), weights


def split(x: Tensor, heads: int = HEADS) -> Tensor:
    return x.unflatten(-1, (heads, -1)).transpose(0, 1)  # (T, D) → (H, T, K)


def gpt(*, bias: bool = True, mingpt: bool = False, compiled: bool = False) -> Tutorial:
    """nanoGPT, or minGPT with an output matrix of its own, buffers with masks, and another GELU."""
    t = {"transformer.wte.weight": random(SIZE, WIDTH), "transformer.wpe.weight": random(LENGTH, WIDTH)}
    linear = {"attn.c_attn": 3 * WIDTH, "attn.c_proj": WIDTH, "mlp.c_fc": UNITS}
    for layer in range(LAYERS):
        h = f"transformer.h.{layer}."
        t |= {f"{h}{name}.weight": random(rows, WIDTH) for name, rows in linear.items()}
        t |= {f"{h}mlp.c_proj.weight": random(WIDTH, UNITS)}
        t |= {f"{h}{name}.weight": random(WIDTH, around=1.0) for name in ("ln_1", "ln_2")}
        if mingpt:
            t[f"{h}attn.bias"] = torch.ones(LENGTH, LENGTH).tril()[None, None]
    t["transformer.ln_f.weight"] = random(WIDTH, around=1.0)
    if bias:
        t |= {
            f"{name[:-7]}.bias": random(len(w)) for name, w in t.items() if ".h." in name and name.endswith(".weight")
        }
    t["lm_head.weight"] = random(SIZE, WIDTH) if mingpt else t["transformer.wte.weight"]

    def linear_of(x: Tensor, name: str) -> Tensor:
        return F.linear(x, t[f"{name}.weight"], t.get(f"{name}.bias"))

    def normed(x: Tensor, name: str) -> Tensor:
        return F.layer_norm(x, (WIDTH,), t[f"{name}.weight"], t.get(f"{name}.bias"))

    def compute(ids: Tensor) -> Found:
        x, maps = t["transformer.wte.weight"][ids] + t["transformer.wpe.weight"][: len(ids)], []
        for layer in range(LAYERS):
            h = f"transformer.h.{layer}."
            parts = linear_of(normed(x, f"{h}ln_1"), f"{h}attn.c_attn").chunk(3, dim=-1)
            heads, weights = attended(*map(split, parts))
            x = x + linear_of(heads, f"{h}attn.c_proj")
            units = F.gelu(linear_of(normed(x, f"{h}ln_2"), f"{h}mlp.c_fc"), approximate="tanh" if mingpt else "none")
            x = x + linear_of(units, f"{h}mlp.c_proj")
            maps.append(weights)
        return normed(x, "transformer.ln_f") @ t["lm_head.weight"].T, torch.stack(maps)

    saved = {f"_orig_mod.{name}": tensor for name, tensor in t.items()} if compiled else t
    beside = {} if mingpt else {"model_args": {"n_head": HEADS, "block_size": LENGTH, "bias": bias}}
    return Tutorial(tensors=saved, compute=compute, positions="learned", settings=beside, heads=not mingpt)


def llama(*, shared: int = 2, stored: bool = False) -> Tutorial:
    """llama2.c: RMSNorm, a gate, rotary positions of neighbours. Old files store the angles."""
    t = {"tok_embeddings.weight": random(SIZE, WIDTH), "norm.weight": random(WIDTH, around=1.0)}
    narrow = WIDTH // HEADS * shared
    matrices = {"attention.wq": (WIDTH, WIDTH), "attention.wk": (narrow, WIDTH), "attention.wv": (narrow, WIDTH)}
    matrices |= {"attention.wo": (WIDTH, WIDTH), "feed_forward.w2": (WIDTH, UNITS)}
    matrices |= {f"feed_forward.w{k}": (UNITS, WIDTH) for k in (1, 3)}
    for layer in range(LAYERS):
        t |= {f"layers.{layer}.{name}.weight": random(*shape) for name, shape in matrices.items()}
        t |= {f"layers.{layer}.{name}.weight": random(WIDTH, around=1.0) for name in ("attention_norm", "ffn_norm")}
    t["output.weight"] = t["tok_embeddings.weight"]
    rates = 10_000.0 ** (-torch.arange(0, WIDTH // HEADS, 2) / (WIDTH // HEADS))
    angles = torch.arange(LENGTH)[:, None] * rates  # (T, K / 2)
    if stored:
        t |= {"freqs_cos": angles.cos(), "freqs_sin": angles.sin()}

    def normed(x: Tensor, name: str) -> Tensor:
        return x * (x.square().mean(dim=-1, keepdim=True) + 1e-5).rsqrt() * t[f"{name}.weight"]

    def turned(x: Tensor) -> Tensor:  # (H, T, K), two neighbours are one complex number
        unit = torch.polar(torch.ones_like(angles), angles)[: x.size(1)]
        return torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous()) * unit).flatten(-2)

    def compute(ids: Tensor) -> Found:
        x, maps = t["tok_embeddings.weight"][ids], []
        for layer in range(LAYERS):
            n = f"layers.{layer}."
            q, k, v = (normed(x, f"{n}attention_norm") @ t[f"{n}attention.w{p}.weight"].T for p in "qkv")
            k, v = (split(one, shared).repeat_interleave(HEADS // shared, dim=0) for one in (k, v))
            heads, weights = attended(turned(split(q)), turned(k), v)
            x = x + heads @ t[f"{n}attention.wo.weight"].T
            read = normed(x, f"{n}ffn_norm")
            gate, up = (read @ t[f"{n}feed_forward.w{k}.weight"].T for k in (1, 3))
            x = x + (F.silu(gate) * up) @ t[f"{n}feed_forward.w2.weight"].T
            maps.append(weights)
        return normed(x, "norm") @ t["output.weight"].T, torch.stack(maps)

    beside = {"model_args": {"n_heads": HEADS, "n_kv_heads": shared, "max_seq_len": LENGTH, "multiple_of": 8}}
    return Tutorial(tensors=t, compute=compute, positions="rotary", settings=beside)


def as_lecture() -> Tutorial:
    """One matrix for each head, and an output layer with a bias; otherwise as minGPT with ReLU."""
    t = {"token_embedding_table.weight": random(SIZE, WIDTH), "position_embedding_table.weight": random(LENGTH, WIDTH)}
    for layer in range(LAYERS):
        b = f"blocks.{layer}."
        for head in range(HEADS):
            parts = ("query", "key", "value")
            t |= {f"{b}sa.heads.{head}.{part}.weight": random(WIDTH // HEADS, WIDTH) for part in parts}
            t[f"{b}sa.heads.{head}.tril"] = torch.ones(LENGTH, LENGTH).tril()
        shapes = {"sa.proj": (WIDTH, WIDTH), "ffwd.net.0": (UNITS, WIDTH), "ffwd.net.2": (WIDTH, UNITS)}
        t |= {f"{b}{name}.weight": random(*shape) for name, shape in shapes.items()}
        t |= {f"{b}{name}.bias": random(shape[0]) for name, shape in shapes.items()}
        t |= {f"{b}{name}.weight": random(WIDTH, around=1.0) for name in ("ln1", "ln2")}
        t |= {f"{b}{name}.bias": random(WIDTH) for name in ("ln1", "ln2")}
    t |= {"ln_f.weight": random(WIDTH, around=1.0), "ln_f.bias": random(WIDTH)}
    t |= {"lm_head.weight": random(SIZE, WIDTH), "lm_head.bias": random(SIZE)}

    def compute(ids: Tensor) -> Found:
        x, maps = t["token_embedding_table.weight"][ids] + t["position_embedding_table.weight"][: len(ids)], []
        for layer in range(LAYERS):
            b = f"blocks.{layer}."
            read = F.layer_norm(x, (WIDTH,), t[f"{b}ln1.weight"], t[f"{b}ln1.bias"])
            own = [
                [read @ t[f"{b}sa.heads.{h}.{part}.weight"].T for h in range(HEADS)]
                for part in ("query", "key", "value")
            ]
            heads, weights = attended(*(torch.stack(part) for part in own))
            x = x + F.linear(heads, t[f"{b}sa.proj.weight"], t[f"{b}sa.proj.bias"])
            read = F.layer_norm(x, (WIDTH,), t[f"{b}ln2.weight"], t[f"{b}ln2.bias"])
            units = F.linear(read, t[f"{b}ffwd.net.0.weight"], t[f"{b}ffwd.net.0.bias"]).relu()
            x = x + F.linear(units, t[f"{b}ffwd.net.2.weight"], t[f"{b}ffwd.net.2.bias"])
            maps.append(weights)
        states = F.layer_norm(x, (WIDTH,), t["ln_f.weight"], t["ln_f.bias"])
        return F.linear(states, t["lm_head.weight"], t["lm_head.bias"]), torch.stack(maps)

    return Tutorial(tensors=t, compute=compute, positions="learned")


def scratch() -> Tutorial:
    """The names of "Build a Large Language Model (From Scratch)": the mathematics of minGPT."""
    model = gpt(mingpt=True)
    renamed: Tensors = {}
    names = {"transformer.wte": "tok_emb", "transformer.wpe": "pos_emb", "lm_head": "out_head"}
    names |= {"transformer.ln_f": "final_norm"}
    for layer in range(LAYERS):
        ours, theirs = f"transformer.h.{layer}.", f"trf_blocks.{layer}."
        names |= {f"{ours}ln_{k}": f"{theirs}norm{k}" for k in (1, 2)}
        names |= {f"{ours}attn.c_proj": f"{theirs}att.out_proj"}
        names |= {f"{ours}mlp.c_fc": f"{theirs}ff.layers.0", f"{ours}mlp.c_proj": f"{theirs}ff.layers.2"}
        for part in ("weight", "bias"):
            thirds = model.tensors[f"{ours}attn.c_attn.{part}"].chunk(3)
            renamed |= {f"{theirs}att.W_{w}.{part}": x for w, x in zip(("query", "key", "value"), thirds, strict=True)}
        renamed[f"{theirs}att.mask"] = torch.ones(LENGTH, LENGTH).triu(1)
    for name, theirs in names.items():
        norm = "norm" in theirs
        for part, other in (("weight", "scale"), ("bias", "shift")):
            if (tensor := model.tensors.get(f"{name}.{part}")) is not None:
                renamed[f"{theirs}.{other if norm else part}"] = tensor
    renamed["final_norm.shift"] = torch.zeros(WIDTH)
    beside = {"cfg": {"n_heads": HEADS}}
    return Tutorial(tensors=renamed, compute=model.compute, positions="learned", settings=beside)


class TorchModel(nn.Module):
    """An `nn.TransformerEncoder` with a causal mask, scaled embeddings and a table of sinusoids."""

    def __init__(self, names: tuple[str, str, str], *, final_norm: bool) -> None:
        super().__init__()
        self.names = names
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, UNITS, dropout=0.0, batch_first=True)
        norm = nn.LayerNorm(WIDTH) if final_norm else None
        for name, module in zip(
            names,
            (nn.Embedding(SIZE, WIDTH), nn.TransformerEncoder(layer, LAYERS, norm), nn.Linear(WIDTH, SIZE)),
            strict=True,
        ):
            self.add_module(name, module)
        rates = torch.exp(torch.arange(0, WIDTH, 2) * (-math.log(10_000.0) / WIDTH))
        angles = torch.arange(LENGTH)[:, None] * rates
        self.pos_encoder = nn.Module()
        self.pos_encoder.register_buffer("pe", torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, None])

    def compute(self, ids: Tensor) -> Found:
        tokens, stack, output = (getattr(self, name) for name in self.names)
        x = tokens(ids) * math.sqrt(WIDTH) + self.pos_encoder.get_buffer("pe")[: len(ids), 0]
        mask = nn.Transformer.generate_square_subsequent_mask(len(ids))
        x, maps = x[None], []
        for layer in stack.layers:
            maps.append(layer.self_attn(x, x, x, attn_mask=mask, average_attn_weights=False)[1][0])
            x = layer(x, src_mask=mask)
        return output(x if stack.norm is None else stack.norm(x))[0], torch.stack(maps)


def torch_model(*names: str, final_norm: bool = False) -> Tutorial:
    model = TorchModel((names[0], names[1], names[2]), final_norm=final_norm).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(random(*parameter.shape, around=float(parameter.dim() == 1)))
    return Tutorial(tensors=model.state_dict(), compute=model.compute, positions="sinusoidal", heads=False)


TUTORIALS: Mapping[str, Callable[[], Tutorial]] = {
    "nanoGPT": gpt,
    "nanoGPT without biases, compiled": lambda: gpt(bias=False, compiled=True),
    "minGPT": lambda: gpt(mingpt=True),
    "llama2.c": llama,
    "llama2.c with stored angles": lambda: llama(shared=HEADS, stored=True),
    "PyTorch's tutorial": lambda: torch_model("embedding", "transformer_encoder", "linear"),
    "PyTorch's older tutorial": lambda: torch_model("encoder", "transformer_encoder", "decoder"),
    "PyTorch's examples": lambda: torch_model("input_emb", "encoder", "decoder", final_norm=True),
    "a lecture on GPT": as_lecture,
    "a book on language models": scratch,
}


def tutorial(name: str) -> Tutorial:
    torch.manual_seed(0)
    return TUTORIALS[name]()
