"""Memory and time that a large training corpus takes in each process of a run.

    PYTHONPATH=. python benchmarks/corpus.py [pairs]

Writes generated sentence pairs (2,000,000 by default, about 25 tokens on each side) into a temporary folder. A separate
process builds a recipe's task from them, as `train` does: it learns the vocabulary, then encodes all pairs. Prints its
memory after that, its peak, and the memory of the token ids; then the time for the order of one epoch's batches and for
some batches.
"""

import multiprocessing
import random
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

import torch

from benchmarks.memory import high_water
from benchmarks.reference import machine
from model.config.recipe import Recipe
from model.config.run import TrainConfig
from model.config.tokenizer import TokenizerConfig
from model.corpora.examples import Examples
from model.training.tasks import TranslationTask

PAIRS, WORDS, BATCHES = 2_000_000, 20_000, 200


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


def held() -> int:
    """Memory of this process now, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def measure(root: Path, pairs: int) -> None:
    recipe = Recipe(
        name="large",
        tokenizer=TokenizerConfig(kind="bpe", source_language="en", target_language="de", vocab_size=8000),
        train=TrainConfig(corpus="large"),
        model={},
    )
    before, started = held(), time.perf_counter()
    task = TranslationTask(recipe, data_root=root, folder=None, device=torch.device("cpu"))
    taken = time.perf_counter() - started
    batches = task.batches_of(1)
    examples = batches.examples
    assert isinstance(examples, Examples)
    tokens = len(examples.source.values) + len(examples.target.values)
    print(f"{len(examples):,} pairs of {tokens / 2 / len(examples):.1f} tokens a side in {taken:.0f} s")
    print(f"ids {examples.nbytes / len(examples):.0f} bytes a pair, {examples.nbytes / 1e6:.0f} MB")
    print(f"process {before / 1e6:.0f} MB before, {held() / 1e6:.0f} MB after, peak {high_water() / 1e6:.0f} MB")
    started = time.perf_counter()
    order = list(batches.epoch(seed=1, number=1))
    print(f"order of an epoch, {len(order):,} batches: {time.perf_counter() - started:.1f} s")
    started = time.perf_counter()
    for rows in order[:BATCHES]:
        batches.load(rows)
    print(f"one batch: {1000 * (time.perf_counter() - started) / BATCHES:.2f} ms")
    print(f"process {held() / 1e6:.0f} MB, peak {high_water() / 1e6:.0f} MB")


def main() -> None:
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else PAIRS
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        write_corpus(Path(folder) / "large", pairs)
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            pool.apply(measure, (Path(folder), pairs))


if __name__ == "__main__":
    main()
