"""A training step against `torch.nn.Transformer` of the same sizes, in the same process, in turns.

    PYTHONPATH=. python benchmarks/train_step.py [--repeats 15] [--compile]

Forward, loss, backward and optimizer: d_model 256, 3 + 3 layers, 8 heads, feed-forward 512, 10,000 words for each
language, 64 × 25 tokens, dropout 0.1, label smoothing 0.1. Prints the ratios of the medians, the time of each part of
our step, and the speed of its matrix products compared with large matrices on the same machine.
"""

import argparse
import time
from collections import defaultdict
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile

from benchmarks.reference import Peer, machine, medians
from model.config.model import ModelConfig
from model.corpora.batch import TranslationBatch
from model.network.transformer import Transformer
from model.training.tasks import TranslationLoss

BATCH, LENGTH, WORDS, SMOOTHING = 64, 25, 10_000, 0.1
LARGE = 2048  # rows and columns of the matrices that show the speed of the machine
CONFIG = ModelConfig(source_vocab_size=WORDS, target_vocab_size=WORDS, dropout=0.1, tie_embeddings="none")
GROUPS = {
    "matrix products": ("mm", "addmm", "bmm", "baddbmm", "linear"),
    "copies and casts": ("copy_", "clone", "contiguous", "cat", "fill_", "zero_", "zeros"),
    "random numbers": ("random_", "bernoulli_", "ge_", "native_dropout"),
    "softmax, exponentials and sums": (
        "_softmax",
        "_softmax_backward_data",
        "exp_",
        "sum",
        "amax",
        "logsumexp",
        "mean",
    ),
    "norms": ("native_layer_norm", "native_layer_norm_backward"),
    "optimizer": ("_fused_adam_", "_foreach_addcdiv_", "_foreach_mul_", "_foreach_addcmul_"),
}


class PeerLoss(nn.Module):
    def __init__(self, model: Peer) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: TranslationBatch) -> Tensor:
        logits = self.model(batch.source, batch.target[:, :-1])
        labels = batch.target[:, 1:].flatten()
        return F.cross_entropy(logits.flatten(0, 1), labels, ignore_index=0, label_smoothing=SMOOTHING, reduction="sum")


def step_of(
    loss: Callable[[TranslationBatch], Tensor],
    optimizer: torch.optim.Optimizer,
    dtype: torch.dtype,
    batch: TranslationBatch,
) -> Callable[[], None]:
    device = batch.source.device.type

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype, enabled=dtype != torch.float32):
            total = loss(batch)
        (total / (BATCH * LENGTH)).backward()
        optimizer.step()

    return step


def where_the_time_goes(step: Callable[[], None], repeats: int = 5) -> dict[str, float]:
    """Share of each group of operators in the processor time of a step."""
    with profile(activities=[ProfilerActivity.CPU]) as record:
        for _ in range(repeats):
            step()
    shares: dict[str, float] = defaultdict(float)
    for event in record.key_averages():
        name = event.key.removeprefix("aten::")
        group = next((group for group, names in GROUPS.items() if name in names), "all else")
        shares[group] += event.self_cpu_time_total
    total = sum(shares.values())
    return {group: share / total for group, share in sorted(shares.items(), key=lambda item: -item[1])}


def gemm_speed(dtype: torch.dtype, device: str, size: int) -> float:
    """Floating-point operations per second in products of large square matrices."""
    left, right = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
    seconds = medians({"mm": lambda: left @ right}, repeats=9)["mm"]
    return 2 * size**3 / seconds


def matrix_operations() -> float:
    """Floating-point operations of the matrix products of one step: two for each weight and token, three times over."""
    d, ff, layers = CONFIG.d_model, CONFIG.d_ff, CONFIG.num_encoder_layers
    weights = layers * (4 * d * d + 2 * d * ff) + layers * (8 * d * d + 2 * d * ff) + d * WORDS
    attention = 3 * layers * 2 * LENGTH * d  # QKᵀ and the weighted sum, for each token and attention
    return 6.0 * BATCH * LENGTH * (weights + attention)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--compile", action="store_true", help="our step through torch.compile too")
    repeats = parser.parse_args().repeats
    compiled = parser.parse_args().compile
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    source = torch.randint(4, WORDS, (BATCH, LENGTH), device=device)
    target = torch.randint(4, WORDS, (BATCH, LENGTH + 1), device=device)
    batch = TranslationBatch(source=source, target=target, items=BATCH * LENGTH)
    steps = {}
    for name, dtype in (("fp32", torch.float32), ("bf16", torch.bfloat16)):
        peer, ours = Peer(CONFIG).to(device), Transformer(CONFIG).to(device)
        peer_optimizer = torch.optim.Adam(peer.parameters(), lr=1e-4)
        our_optimizer = torch.optim.Adam(ours.parameters(), lr=1e-4, fused=True)
        steps[f"torch.nn.Transformer {name}"] = step_of(PeerLoss(peer), peer_optimizer, dtype, batch)
        loss = TranslationLoss(ours, SMOOTHING)
        steps[f"Headlight {name}"] = step_of(loss, our_optimizer, dtype, batch)
        if compiled:
            steps[f"Headlight {name}, compiled"] = step_of(torch.compile(loss), our_optimizer, dtype, batch)
    print(machine())
    seconds = medians(steps, repeats=repeats, warm_up=3)
    base = seconds["torch.nn.Transformer fp32"]
    for name, value in seconds.items():
        speed = BATCH * LENGTH / value
        print(f"{name:28} {1000 * value:7.1f} ms   {value / base:5.2f} × fp32 peer   {speed:9,.0f} tokens/s")
    for name in ("fp32", "bf16"):
        print(f"ratio {name}: {seconds[f'Headlight {name}'] / seconds[f'torch.nn.Transformer {name}']:.2f}")
    for name, dtype in (("fp32", torch.float32), ("bf16", torch.bfloat16)):
        shares = where_the_time_goes(steps[f"Headlight {name}"])
        listed = ", ".join(f"{group} {share:.0%}" for group, share in shares.items())
        gemm = gemm_speed(dtype, device, LARGE)
        within = matrix_operations() / (shares["matrix products"] * seconds[f"Headlight {name}"])
        print(f"{name}: {listed}")
        print(
            f"{name}: large matrices {gemm / 1e9:,.0f} GFLOP/s; "
            f"ours {within / 1e9:,.0f} GFLOP/s, {within / gemm:.0%} of it"
        )


if __name__ == "__main__":
    started = time.perf_counter()
    main()
    print(f"{time.perf_counter() - started:.0f} s in all")
