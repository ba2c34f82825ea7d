"""The reference of the benchmarks: `torch.nn.Transformer` with embeddings and an output layer, as in tutorials."""

import math
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from model.config.model import ModelConfig
from model.network.attention import MultiHeadAttention
from model.network.positional import sinusoidal_table
from model.network.transformer import Transformer

__all__ = ["Peer", "machine", "medians", "with_weights_of"]


class Peer(nn.Module):
    """The same sizes as a `Transformer` with post-norm, sinusoidal positions and three embedding matrices."""

    positions: Tensor

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.source = nn.Embedding(config.source_vocab_size, config.d_model, padding_idx=0)
        self.target = nn.Embedding(config.target_vocab_size, config.d_model, padding_idx=0)
        self.transformer = nn.Transformer(
            d_model=config.d_model,
            nhead=config.num_heads,
            num_encoder_layers=config.num_encoder_layers,
            num_decoder_layers=config.num_decoder_layers,
            dim_feedforward=config.d_ff,
            dropout=config.dropout,
            batch_first=True,
        )
        # nn.Transformer adds final norms. "Attention Is All You Need" and our post-norm model have none.
        self.transformer.encoder.norm = self.transformer.decoder.norm = None
        self.output = nn.Linear(config.d_model, config.target_vocab_size, bias=False)
        self.dropout = nn.Dropout(config.dropout)
        self.register_buffer("positions", sinusoidal_table(config.max_length, config.d_model))

    def embed(self, ids: Tensor, table: nn.Embedding) -> Tensor:
        vectors = table(ids) * math.sqrt(self.config.d_model) + self.positions[: ids.size(1)]
        return self.dropout(vectors)

    def encode(self, source: Tensor) -> Tensor:
        return self.transformer.encoder(self.embed(source, self.source), src_key_padding_mask=source == 0)

    def decode(self, target: Tensor, memory: Tensor, source: Tensor) -> Tensor:
        causal = nn.Transformer.generate_square_subsequent_mask(target.size(1), device=target.device)
        return self.transformer.decoder(
            self.embed(target, self.target),
            memory,
            tgt_mask=causal,
            tgt_is_causal=True,
            tgt_key_padding_mask=torch.zeros(target.shape, device=target.device).masked_fill_(
                target == 0, float("-inf")
            ),
            memory_key_padding_mask=source == 0,
        )

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        return self.output(self.decode(target, self.encode(source), source))


@torch.no_grad()
def with_weights_of(model: Transformer) -> Peer:
    """A reference that computes the same as `model` (`tie_embeddings = "none"`, post-norm, sinusoidal)."""
    peer = Peer(model.config).eval()
    peer.source.weight.copy_(model.encoder.embedding.tokens.weight)
    peer.target.weight.copy_(model.decoder.embedding.tokens.weight)
    peer.output.weight.copy_(model.output_projection.weight)

    def copy_attention(theirs: nn.MultiheadAttention, ours: MultiHeadAttention) -> None:
        projections = [ours.query_projection, ours.key_projection, ours.value_projection]
        theirs.in_proj_weight.copy_(torch.cat([p.weight for p in projections]))
        theirs.in_proj_bias.copy_(torch.cat([p.bias for p in projections]))
        theirs.out_proj.load_state_dict(ours.output_projection.state_dict())

    for stack in ("encoder", "decoder"):
        layers = zip(getattr(peer.transformer, stack).layers, getattr(model, stack).layers, strict=True)
        for theirs, ours in layers:
            norms = ["self_attention_residual", "feed_forward_residual"]
            copy_attention(theirs.self_attn, ours.self_attention)
            if stack == "decoder":
                copy_attention(theirs.multihead_attn, ours.cross_attention)
                norms.insert(1, "cross_attention_residual")
            for number, name in enumerate(norms, start=1):
                getattr(theirs, f"norm{number}").load_state_dict(getattr(ours, name).norm.state_dict())
            theirs.linear1.load_state_dict(ours.feed_forward.expand.state_dict())
            theirs.linear2.load_state_dict(ours.feed_forward.contract.state_dict())
    return peer


def medians(contestants: Mapping[str, Callable[[], object]], *, repeats: int, warm_up: int = 2) -> dict[str, float]:
    """Median seconds of each contestant. They run in turns, so a slow moment of the machine affects all of them."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(warm_up + repeats):
        for name, run in contestants.items():
            started = time.perf_counter()
            run()
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            if turn >= warm_up:
                times[name].append(time.perf_counter() - started)
    return {name: statistics.median(values) for name, values in times.items()}


def machine() -> str:
    processor = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
        processor = names[0] if names else processor
    except OSError:
        pass
    features = [name for name in ("amx_bf16", "avx512_bf16") if name in read_flags()]
    device = f", {torch.cuda.get_device_name()}" if torch.cuda.is_available() else ""
    return (
        f"{processor}{' with ' + ' and '.join(features) if features else ''}, {os.cpu_count()} cores{device}, "
        f"{torch.get_num_threads()} threads, torch {torch.__version__}"
    )


def read_flags() -> set[str]:
    try:
        with open("/proc/cpuinfo") as file:
            return {flag for line in file if line.startswith("flags") for flag in line.partition(":")[2].split()}
    except OSError:
        return set()
