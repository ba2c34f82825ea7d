"""Greedy decoding with a key/value cache against `torch.nn.Transformer` that runs the whole prefix again at each step.

    PYTHONPATH=. python benchmarks/decode.py [--repeats 15] [--threads 2]

Both have the same weights. One sentence has 15 source tokens and 20 or 100 target tokens. Threads and the layout of the
weights are those of the app. Prints the ratios of the medians, the time of an early and a late token, and the time for
recording a full trace.
"""

import argparse
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from benchmarks.reference import Peer, machine, medians, with_weights_of
from model.checkpoints.checkpoint import ready
from model.config.model import ModelConfig
from model.decoding.search import SearchInput, finish, greedy
from model.network.transformer import Transformer
from model.text.vocab import Specials
from model.trace import tracing
from viz_app.server.resources import threads

SOURCE, LENGTHS, WORDS = 15, (20, 100), 10_000
CONFIG = ModelConfig(source_vocab_size=WORDS, target_vocab_size=WORDS, tie_embeddings="none")
BANNED = (0, 1, 2, 3)  # with the end token, so that all runs write the same number of tokens


@torch.inference_mode()
def rerun(peer: Peer, source: Tensor, length: int) -> list[int]:
    """Greedy search as in tutorials."""
    memory = peer.encode(source)
    ids = torch.tensor([[2]])
    for _ in range(length):
        logits = peer.output(peer.decode(ids, memory, source)[:, -1])
        logits[:, BANNED] = float("-inf")
        ids = torch.cat([ids, logits.argmax(-1, keepdim=True)], dim=1)
    return ids[0, 1:].tolist()


def cached(model: Transformer, source: Tensor, length: int) -> list[int]:
    specials = Specials(bos=2, eos=3, banned=BANNED)
    _, hypotheses = finish(greedy(model, SearchInput(sources=source.tolist(), specials=specials, limit=length)))
    return list(hypotheses[0].ids)


def traced(model: Transformer, source: Tensor, length: int) -> None:
    with tracing():
        cached(model, source, length)


def maps_traced(model: Transformer, source: Tensor, length: int) -> None:
    with tracing(record=("*.weights",)):
        cached(model, source, length)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--threads", type=int, default=threads())
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    torch.manual_seed(0)
    # The weights of a loaded checkpoint have this layout.
    model = ready(Transformer(CONFIG), "cpu")
    peer = with_weights_of(model)
    source = torch.randint(4, WORDS, (1, SOURCE))
    assert cached(model, source, 20) == rerun(peer, source, 20), "the two do not compute the same"
    contestants: dict[str, Callable[[], object]] = {}
    for n in LENGTHS:
        contestants[f"torch.nn.Transformer, {n}"] = partial(rerun, peer, source, n)
        contestants[f"Headlight, {n}"] = partial(cached, model, source, n)
        contestants[f"Headlight with all maps, {n}"] = partial(maps_traced, model, source, n)
        contestants[f"Headlight with a full trace, {n}"] = partial(traced, model, source, n)
    print(machine())
    seconds = medians(contestants, repeats=given.repeats)
    for name, value in seconds.items():
        print(f"{name:34} {1000 * value:7.1f} ms")
    for n in LENGTHS:
        ours = seconds[f"Headlight, {n}"]
        print(
            f"{n} target tokens: {ours / seconds[f'torch.nn.Transformer, {n}']:.2f} of the peer's time; "
            f"all maps {seconds[f'Headlight with all maps, {n}'] / ours:.2f} ×, "
            f"full trace {seconds[f'Headlight with a full trace, {n}'] / ours:.2f} × the decode without"
        )
    short, long = LENGTHS
    early = seconds[f"Headlight, {short}"] / short
    late = (seconds[f"Headlight, {long}"] - seconds[f"Headlight, {short}"]) / (long - short)
    costs = f"{1000 * early:.2f} ms in the first {short} and {1000 * late:.2f} ms after: {late / early:.2f} ×"
    print(f"a token costs {costs}")


if __name__ == "__main__":
    main()
