"""Memory and time that a large training corpus takes in each process of a run.

    PYTHONPATH=. python benchmarks/corpus.py [pairs]

Writes generated sentence pairs (3,000,000 by default, about 25 tokens on each side) into a temporary folder. A separate
process builds a recipe's task from them, as `train` does: it learns the vocabulary, writes the ids of all pairs and
maps them. Prints its memory after each part, the size of the ids, and the time for the order of an epoch. At last it
trains a small model on the same batches from mapped files and from memory, in turns.
"""

import multiprocessing
import random
import sys
import tempfile
import time
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import median

import numpy as np
import torch

from benchmarks.memory import high_water
from benchmarks.reference import machine
from model.config.recipe import Recipe
from model.config.run import TrainConfig
from model.config.tokenizer import TokenizerConfig
from model.corpora.batch import TranslationBatch
from model.training.tasks import TranslationTask

PAIRS, WORDS, STEPS = 3_000_000, 20_000, 150


def write_corpus(folder: Path, pairs: int) -> None:
    """Sentences of 8 to 30 words. The frequencies of the words follow Zipf's law."""
    rng = random.Random(0)
    letters = "enrisatdhulgocmbfwkzvp"
    words = ["".join(rng.choices(letters, k=rng.randint(2, 9))) for _ in range(WORDS)]
    weights = [1 / rank for rank in range(1, WORDS + 1)]
    folder.mkdir()
    for language in ("en", "de"):
        drawn = iter(rng.choices(words, weights, k=1_000_000))
        sentences = []
        while words_now := list(islice(drawn, rng.randint(8, 30))):
            sentences.append(" ".join(words_now) + " .")
        for split, count in (("train", pairs), ("val", 100)):
            with (folder / f"{split}.{language}").open("w", encoding="utf-8") as file:
                file.writelines(f"{sentences[i % len(sentences)]}\n" for i in range(count))


def held(kind: str = "VmRSS") -> int:
    """Memory of this process now, in bytes: all, or with "RssAnon" without the parts of files that are mapped."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(kind))


def memory() -> str:
    return (
        f"{held() / 1e6:.0f} MB, {held('RssAnon') / 1e6:.0f} MB without mapped files, peak {high_water() / 1e6:.0f} MB"
    )


def measure(root: Path, steps: int = STEPS) -> None:
    recipe = Recipe(
        name="large",
        tokenizer=TokenizerConfig(kind="bpe", source_language="en", target_language="de", vocab_size=8000),
        train=TrainConfig(corpus="large"),
        model={"d_model": 64, "num_heads": 4, "d_ff": 128, "num_encoder_layers": 1, "num_decoder_layers": 1},
    )
    print(f"process {memory()}")
    started = time.perf_counter()
    task = TranslationTask(recipe, data_root=root, folder=None, device=torch.device("cpu"))
    print(f"vocabulary in {time.perf_counter() - started:.0f} s: process {memory()}")
    started = time.perf_counter()
    task.open_training(root)
    batches = task.batches_of(1)
    examples = batches.examples
    tokens = sum(int(examples.index[side].sum()) for side in ("source", "target"))
    taken, count = time.perf_counter() - started, len(examples)
    print(f"{count:,} pairs of {tokens / 2 / count:.1f} tokens a side in {taken:.0f} s: process {memory()}")
    size = examples.index.nbytes + examples.values.nbytes
    print(f"ids {size / count:.0f} bytes a pair, {size / 1e6:.0f} MB on disk")
    started = time.perf_counter()
    print(f"order of an epoch, {sum(1 for _ in batches.epoch(seed=1, number=1)):,} batches: ", end="")
    print(f"{time.perf_counter() - started:.1f} s: process {memory()}")
    compare(task, steps)


def compare(task: TranslationTask, steps: int) -> None:
    """Train on the same batches from mapped files and from memory, in turns."""
    mapped = task.batches_of(1)
    kept = replace(mapped.examples, index=np.array(mapped.examples.index), values=np.array(mapped.examples.values))
    sources = {"mapped files": mapped, "memory": task.batches(kept, TranslationBatch.of)}
    torch.manual_seed(0)
    model = task.new_model().train()
    loss, optimizer = task.loss(model, 0.1), torch.optim.Adam(model.parameters(), fused=True)
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in sources}
    for step, rows in enumerate(islice(mapped.epoch(seed=1, number=1), steps)):
        for name in sorted(sources, reverse=bool(step % 2)):
            started = time.perf_counter()
            batch = sources[name].load(rows)
            loaded = time.perf_counter()
            optimizer.zero_grad(set_to_none=True)
            (loss(batch) / batch.items).backward()
            optimizer.step()
            seconds[name].append((loaded - started, time.perf_counter() - started))
    for name, times in seconds.items():
        load, whole = (1000 * median(column) for column in zip(*times, strict=True))
        print(f"{name:12} {whole:.2f} ms a step, of this {load:.2f} ms to load the batch")
    ratios = [ours / theirs for (_, ours), (_, theirs) in zip(*seconds.values(), strict=True)]
    print(f"mapped files / memory, median of {len(ratios)} steps on the same batch: {median(ratios):.3f}")


def main() -> None:
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else PAIRS
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        write_corpus(Path(folder) / "large", pairs)
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            pool.apply(measure, (Path(folder),))


if __name__ == "__main__":
    main()
