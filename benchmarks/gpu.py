"""All that is measured on a graphics card, as one command.

    PYTHONPATH=. python benchmarks/gpu.py --data-dir DATA [--out RUN] [--no-tests] [--set train.corpus=multi30k …]

It trains multi30k-en-de from its recipe (bf16, compiled), and prints minutes, tokens per second, the peak memory of the
card and BLEU; then a training step beside `torch.nn.Transformer` on the same card (`train_step.py`), the pass over one
more token with and without a CUDA graph, and the tests of `model/` on that machine (most of them use the processor).
`python -m weights distill everyday-en-de` writes the corpus of the recipe. Without a card all runs on the processor,
without a graph.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import torch

from benchmarks.reference import machine, medians
from model.checkpoints.checkpoint import ready
from model.cli.arguments import setting
from model.config.model import ModelConfig
from model.config.recipe import Recipe, load_recipe
from model.network.cache import DecoderCache
from model.network.own_model import direct
from model.network.transformer import Transformer
from model.training.train import train

ROOT = Path(__file__).resolve().parent.parent
WORDS, SOURCE, WRITTEN = 10_000, 15, 20
CONFIG = ModelConfig(source_vocab_size=WORDS, target_vocab_size=WORDS)


def python(*arguments: str) -> None:
    """Run a Python program of the project, and show what it prints."""
    print("\n$ python", *arguments, flush=True)
    subprocess.run([sys.executable, *arguments], cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=True)


def measure_training(recipe: Recipe, *, data_dir: Path, out: Path, device: str) -> None:
    """Train, and print what it took."""
    started = time.perf_counter()
    train(recipe, data_root=data_dir, out=out, device=device)
    minutes = (time.perf_counter() - started) / 60
    speed = pd.read_csv(out / "history.csv")["tokens_per_second"].median()
    peak = f"{torch.cuda.max_memory_allocated() / 1e9:.2f} GB of the card" if device == "cuda" else "no card"
    print(f"{recipe.name}: {minutes:.1f} min, {speed:,.0f} tokens/s, {peak}")


@torch.inference_mode()
def seconds_per_token(device: str, repeats: int = 50) -> dict[str, float]:
    """Seconds of the pass over one more token; on a card also as a CUDA graph, which starts all kernels at once."""
    model = direct(ready(Transformer(CONFIG), device))
    memory, _ = model.encode(torch.randint(4, CONFIG.source_vocab_size, (1, SOURCE), device=device))
    cache, newest = DecoderCache(CONFIG.num_decoder_layers), torch.full((1, 1), 5, device=device)
    for _ in range(WRITTEN):
        model.decode(newest, memory, None, cache=cache)

    def one_token() -> torch.Tensor:
        for kept in cache.self_attention:
            kept.length = WRITTEN  # the next token overwrites the last one, in the same memory
        return model.decode(newest, memory, None, cache=cache)

    contestants: dict[str, Callable[[], object]] = {"operation by operation": one_token}
    if device == "cuda":
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            expected = one_token()  # what is made once must not be part of the graph
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            found = one_token()
        graph.replay()
        torch.testing.assert_close(found, expected)
        contestants["as a CUDA graph"] = graph.replay
    return medians(contestants, repeats=repeats)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("recipe", nargs="?", default="multi30k-en-de")
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--corpus", default="multi30k", help="of the test")
    parser.add_argument("--split", default="test_2016_flickr", help="of the test")
    parser.add_argument("--out", type=Path, help="keep the checkpoint in this folder")
    parser.add_argument("--no-tests", action="store_true")
    parser.add_argument("--set", action="append", type=setting, default=[], help="as of `python -m model train`")
    given = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    print(machine())
    fast = {"train.precision": "bf16", "train.compile": True}
    with tempfile.TemporaryDirectory() as folder:
        out = given.out or Path(folder, given.recipe)
        recipe = load_recipe(given.recipe).with_settings(fast | dict(given.set))
        measure_training(recipe, data_dir=given.data_dir, out=out, device=device)
        test = ("--data-dir", str(given.data_dir.absolute()), "--corpus", given.corpus, "--split", given.split)
        python("-m", "model", "evaluate", str(out.absolute()), *test)
    python("benchmarks/train_step.py", "--compile")
    for name, seconds in seconds_per_token(device).items():
        print(f"a token, {name}: {1000 * seconds:.2f} ms")
    if not given.no_tests:
        python("-m", "pytest", "tests/model", "-q")


if __name__ == "__main__":
    main()
