"""Peak memory of a translation with all its maps, against the arrays that it returns.

    PYTHONPATH=. python benchmarks/memory.py

Source and target lengths are 32, 128 and 512. Each length has a separate process. It first runs the model without a
trace at this length, to allocate the model's own memory, and with a trace of 8 tokens, to load the code. Prints the
peak above that, the size of the maps, and their ratio.
"""

import multiprocessing
import random
from pathlib import Path

import torch
from torch import Tensor

from benchmarks.reference import machine
from model.config.model import ModelConfig
from model.corpora.batch import pad
from model.decoding.search import SearchInput, finish, greedy
from model.inference.run import AttentionMaps, attention_maps
from model.network.transformer import Transformer
from model.text.vocab import Specials
from model.trace import tracing

LENGTHS, WORDS = (32, 128, 512), 5000
SPECIALS = Specials(bos=2, eos=3, banned=(0, 1, 2, 3))


def high_water() -> int:
    """Peak memory of this process since `reset`, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def reset() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def measure(length: int) -> tuple[int, int]:
    """Peak above the start, and bytes of the maps."""
    torch.manual_seed(0)
    config = ModelConfig(source_vocab_size=WORDS, target_vocab_size=WORDS, max_length=length + 1)
    model = Transformer(config).eval()
    rng = random.Random(0)
    source = pad([[rng.randrange(4, WORDS) for _ in range(length)]])
    finish(greedy(model, given(source, length)), keep_steps=False)
    traced(model, source[:, :8], 8)
    reset()
    before = high_water()
    maps = traced(model, source, length)
    return high_water() - before, sum(array.nbytes for array in maps.values())


def given(source: Tensor, length: int) -> SearchInput:
    return SearchInput(sources=source.tolist(), specials=SPECIALS, limit=length)


def traced(model: Transformer, source: Tensor, length: int) -> AttentionMaps:
    with tracing(record=("*.weights",)) as trace:
        _, hypotheses = finish(greedy(model, given(source, length)), keep_steps=False)
    return attention_maps(trace, model, hypotheses[0].rows)


def main() -> None:
    print(machine())
    context = multiprocessing.get_context("spawn")
    for length in LENGTHS:
        with context.Pool(1) as pool:
            peak, held = pool.apply(measure, (length,))
        print(f"{length:4} × {length:<4} maps {held / 1e6:7.2f} MB   peak {peak / 1e6:7.2f} MB   {peak / held:.2f} ×")


if __name__ == "__main__":
    main()
