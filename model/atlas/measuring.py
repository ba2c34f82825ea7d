"""Measure the blocks of a corpus: each is a `Tally` that follows from the model, the lines and the seed alone."""

from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from math import exp, factorial

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from model.atlas.corpus import Corpus
from model.atlas.places import PLACE, Places, kept, places_of
from model.atlas.reading import BatchFound, batches, read_batch
from model.atlas.settings import Settings
from model.atlas.syntax import NO_SYNTAX, Syntax, parsed
from model.atlas.tally import IntArray, KindTally, Tally, rounded, weighted_sums
from model.atlas.texts import TextTokens, read_texts
from model.atlas.token_classes import CLASSES
from model.checkpoints.checkpoint import Loaded
from model.config.kinds import KINDS
from model.corpora.hashing import uniform_bits

__all__ = ["measured_blocks", "poisson_weights", "tally_of"]


def tally_of(
    checkpoint: Loaded,
    corpus: Corpus,
    index: int,
    settings: Settings,
    syntax: Syntax = NO_SYNTAX,
) -> Tally:
    """Measure one block.

    Args:
        checkpoint: Of any task with attention; never changed.
        corpus: Its texts.
        index: Of the block.
        settings: Of the atlas.
        syntax: For the numbers of syntax, where the settings have them.

    Raises:
        ConfigError: weights are not numbers.
        CorpusError: the file cannot be read any more.
    """
    lines = corpus.block(index)
    done = np.zeros(corpus.blocks, bool)
    done[index] = True
    if not lines:
        return Tally(**{**vars(Tally.nothing(corpus.blocks)), "done": done})
    texts = parsed(read_texts(checkpoint, lines), syntax)
    parts: dict[str, list[BatchSums]] = {kind: [] for kind in checkpoint.model.config.kinds}
    places: list[Places] = [np.zeros(0, PLACE)]
    numbers: list[int] = []  # of the lines, in the order of the batches
    for batch in batches(checkpoint.model, texts):
        numbers += [text.line for text in batch]
        first = 0
        for kind, found in read_batch(checkpoint, batch, settings.means).items():
            written = KINDS[kind].queries == "written"
            parts[kind].append(batch_sums(checkpoint, kind, found, batch))
            places.append(places_of(found, batch, first_head=first, written=written, seed=settings.seed))
            first += checkpoint.model.config.num_layers(kind) * checkpoint.model.config.num_heads
    weights = poisson_weights(settings.seed, numbers, settings.replicates)
    left = kept(np.concatenate(places))
    with_places = set(left["line"].tolist())
    cut = [text.cut for text in texts]
    facts = (len(texts), sum(0 < text.forced == len(text.written) for text in texts), sum(n > 0 for n in cut), sum(cut))
    return Tally(
        done=done,
        facts=np.array(facts, np.int64),
        kinds={kind: kind_tally(some, weights) for kind, some in parts.items()},
        places=left,
        texts={text.line: text for text in texts if text.line in with_places},
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class BatchSums:
    """Of one kind of attention in the B texts of a batch; see `KindTally`."""

    values: IntArray  # (B, L, H, N)
    counts: IntArray  # (B, N)
    profile: IntArray
    writes: IntArray
    rows: IntArray


def batch_sums(checkpoint: Loaded, kind: str, found: BatchFound, texts: Sequence[TextTokens]) -> BatchSums:
    """The sums of each text of a batch, as whole numbers."""
    numbers, counts = found.numbers()
    layout = found.layout
    real, special = layout.rows.cpu().numpy(), layout.row_classes[..., 0].sum().item()
    forced = sum(text.forced for text in texts) if KINDS[kind].queries == "written" else 0
    return BatchSums(
        values=rounded(numbers),
        counts=counts,
        profile=rounded(np.stack(found.profiles, axis=1)).sum(axis=0),
        writes=rounded(written_vectors(checkpoint, kind, found)),
        rows=np.array([real.sum(), special, forced, (~real).sum()], np.int64),
    )


def kind_tally(parts: Sequence[BatchSums], weights: IntArray) -> KindTally:
    """The sums of a block, with the bootstrap weights (R, N) of its texts in the order of the batches."""
    values, counts = (np.concatenate([getattr(part, name) for part in parts]) for name in ("values", "counts"))
    every = np.concatenate([np.ones((1, len(values)), np.int64), weights])  # (1 + R, N)
    sums = weighted_sums(every, values.reshape(len(values), -1)).reshape(len(every), *values.shape[1:])
    profile, writes, rows = (sum(getattr(part, name) for part in parts) for name in ("profile", "writes", "rows"))
    return KindTally(
        sums=sums, counts=every @ counts, texts=(counts > 0).sum(axis=0), profile=profile, writes=writes, rows=rows
    )


def written_vectors(checkpoint: Loaded, kind: str, found: BatchFound) -> NDArray[np.float64]:
    """What each head adds to the residual stream before a norm, summed over the rows of a class, (L, H, C, D)."""
    model = checkpoint.model
    layers, heads = model.config.num_layers(kind), model.config.num_heads
    if not found.outputs:
        return np.zeros((layers, heads, len(CLASSES), 0))
    matrices = (model.mixing(kind, layer).matrix.detach().double().cpu().numpy() for layer in range(layers))
    return np.stack(
        [found.outputs[layer] @ matrix.reshape(heads, -1, matrix.shape[1]) for layer, matrix in enumerate(matrices)]
    )


def measured_blocks(
    checkpoint: Loaded,
    corpus: Corpus,
    indices: Iterable[int],
    settings: Settings,
    syntax: Syntax,
) -> Generator[Tally]:
    """Measure blocks, several at once: each on one core, so that the number of cores changes no bit.

    The order is that of the indices. The arguments are those of `tally_of`.
    """
    waiting = iter(indices)
    measure = partial(tally_of, checkpoint, corpus, settings=settings, syntax=syntax)
    cores = torch.get_num_threads()
    with ThreadPoolExecutor(cores, initializer=torch.set_num_threads, initargs=(1,)) as pool:

        def start(count: int) -> list[Future[Tally]]:
            return [pool.submit(measure, i) for i in islice(waiting, count)]

        running = start(cores)
        try:
            while running:
                yield running.pop(0).result()
                running += start(1)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
            torch.set_num_threads(cores)


MOST = 20  # no weight is above; P(more) = 2 · 10⁻²⁰
LIMITS = np.array(
    [min(round(2.0**64 * sum(exp(-1) / factorial(j) for j in range(k + 1))), 2**64 - 1) for k in range(MOST)], np.uint64
)


def poisson_weights(seed: int, lines: ArrayLike, replicates: int) -> NDArray[np.int64]:
    """How often each sentence counts in each bootstrap replicate: Poisson with mean 1 (Hanley and MacGibbon 2006).

    It depends only on the seed and on the lines.

    Args:
        seed: Of the atlas.
        lines: The line numbers of N sentences.
        replicates: R.

    Returns:
        (R, N).
    """
    bits = uniform_bits(seed, np.asarray(lines)[None, :], np.arange(replicates)[:, None])
    return np.searchsorted(LIMITS, bits, side="right").astype(np.int64)
