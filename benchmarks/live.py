"""The engine of Headlight Live in Node.js against PyTorch: loading, and greedy search with all maps.

    PYTHONPATH=. python benchmarks/live.py [--checkpoint everyday-en-de] [--repeats 15]

Both use one thread and run in turns. Prints the time on the clock; in brackets the time of the processor, which other
programs change less.
"""

import argparse
import json
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from benchmarks.reference import machine
from model.checkpoints.checkpoint import load_checkpoint
from model.inference.translate import translate
from tests.javascript.check import program

ROOT = Path(__file__).resolve().parent.parent
TEXTS = {
    "en": ("Where is the old train station?", "An old man and two children are playing with a red ball in the park."),
    "de": ("Wo ist der alte Bahnhof?", "Ein alter Mann und zwei Kinder spielen im Park mit einem roten Ball."),
    "zh": ("车站在哪里？", "一个老人和两个孩子在公园里玩红色的球。"),
}


def engine_times(folder: Path, texts: tuple[str, ...], repeats: int) -> dict[str, Any]:
    """What `live_engine.mjs` measures."""
    script = str(Path(__file__).with_name("live_engine.mjs"))
    command = [program("node"), "--disable-warning=MODULE_TYPELESS_PACKAGE_JSON", script]
    given = json.dumps({"folder": str(folder), "texts": texts, "repeats": repeats})
    result = subprocess.run(command, input=given, capture_output=True, text=True, encoding="utf-8", check=True)
    return dict(json.loads(result.stdout))


def median(repeats: int, call: Callable[[], object]) -> tuple[float, float]:
    """The median of the milliseconds that a call takes, on the clock and on the processor."""
    times = []
    for _ in range(repeats):
        clock, used = time.perf_counter(), time.process_time()
        call()
        times.append((1000 * (time.perf_counter() - clock), 1000 * (time.process_time() - used)))
    clocks, processor = zip(*times, strict=True)
    return statistics.median(clocks), statistics.median(processor)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--checkpoint", default="everyday-en-de")
    parser.add_argument("--repeats", type=int, default=15)
    given = parser.parse_args()
    torch.set_num_threads(1)
    folder = ROOT / "checkpoints" / given.checkpoint
    load, _ = median(3, lambda: load_checkpoint(folder))
    checkpoint = load_checkpoint(folder)
    texts = TEXTS[checkpoint.config.tokenizer.source_language]
    engine = engine_times(folder, texts, given.repeats)
    print(machine(), engine["node"])
    loading = f"load {engine['load']:.0f} ms, PyTorch {load:.0f} ms"
    print(f"{given.checkpoint}: {loading}; first sentence {engine['cold']:.0f} ms")
    for text, sentence in zip(texts, engine["sentences"], strict=True):
        clock, processor = sentence["times"]
        ours, ours_processor = median(given.repeats, lambda text=text: translate(checkpoint, text))  # type: ignore[misc]
        source, written = len(checkpoint.tokenizers.source.encode(text).ids) + 1, sentence["tokens"]
        print(
            f"{source} → {written} tokens: {clock:.0f} ms ({processor:.0f}), {clock / written:.1f} per token; "
            f"PyTorch {ours:.0f} ms ({ours_processor:.0f}), {ours / written:.1f} per token"
        )


if __name__ == "__main__":
    main()
