"""From texts to what a search found for them: ids only, no trace."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from model.checkpoints.checkpoint import Checkpoint
from model.config.search import SearchConfig
from model.config.section import ConfigError
from model.decoding.beam import beam
from model.decoding.decoder_state import NOTHING_FORCED
from model.decoding.greedy import greedy
from model.decoding.sampling import sample
from model.decoding.search import Hypothesis, Search, finish
from model.inference.padding import padded_for
from model.network.translator import Translator
from model.text.tokenizers import TokenizerPair
from model.text.vocab import OURS, Specials

__all__ = [
    "GREEDY",
    "Beginning",
    "beginning",
    "beginning_of",
    "best_hypotheses",
    "forced_ids",
    "greedy_ids",
    "require_writing",
    "search_from",
    "source_ids",
    "start_search",
    "written_ids",
]

GREEDY = SearchConfig()
CONTINUED = 40  # tokens that are written after a prompt


def source_ids(tokenizers: TokenizerPair, text: str, max_length: int) -> tuple[list[int], int]:
    """Ids of a source between its special tokens, cut to what there are positions for, and how many were cut off."""
    ids, specials = tokenizers.source.encode(text).ids, tokenizers.specials
    kept = ids[: max_length - len(specials.before) - len(specials.after)]
    whole = [*specials.before, *kept, *specials.after]
    # A tokenizer without special tokens leaves nothing of an empty text.
    return [*whole, *specials.fill[len(whole) :]] or [specials.bos], len(ids) - len(kept)


@dataclass(frozen=True, kw_only=True)
class Beginning:
    """What a search over one text starts from."""

    source: Sequence[int]
    specials: Specials
    forced: Mapping[int, int]
    limit: int | None  # the most tokens to write; None leaves it to the search
    dropped: int  # tokens of the text for which there were no positions
    prompt_length: int = 0  # how many of the tokens that are written are those of the prompt


def beginning(
    checkpoint: Checkpoint, text: str, forced: Mapping[int, int] = NOTHING_FORCED, *, limit: int | None = None
) -> Beginning:
    """As `beginning_of`, with a loaded checkpoint."""
    return beginning_of(checkpoint.model, checkpoint.tokenizers, text, forced, limit=limit)


def beginning_of(
    model: Translator,
    tokenizers: TokenizerPair,
    text: str,
    forced: Mapping[int, int] = NOTHING_FORCED,
    *,
    limit: int | None = None,
) -> Beginning:
    """Where to start with a text.

    A model that continues a text writes it from its second token on; what is typed is forced, the rest is free.

    Args:
        model: In evaluation mode.
        tokenizers: Of the model.
        text: Anything.
        forced: See `greedy`.
        limit: The most tokens to write, or to write after a prompt; by default what is usual.
    """
    length = model.config.max_length
    if model.task != "continuation":
        ids, dropped = source_ids(tokenizers, text, length)
        return Beginning(source=ids, specials=tokenizers.specials, forced=forced, limit=limit, dropped=dropped)
    room = min(CONTINUED, length // 2)
    ids, dropped = source_ids(tokenizers, text, length - room)
    prompt = dict(enumerate(ids[1:]))
    return Beginning(
        source=ids,
        specials=replace(tokenizers.specials, bos=ids[0]),
        forced={**forced, **prompt},
        limit=len(prompt) + (limit or room),
        dropped=dropped,
        prompt_length=len(prompt),
    )


def require_writing(checkpoint: Checkpoint) -> None:
    """Raises ConfigError for a model that writes nothing, so that there is no search and no log-probability."""
    if checkpoint.config.task == "reading":
        raise ConfigError(f"{checkpoint.name} reads a text and writes nothing. Choose a model that writes.")


def forced_ids(tokenizers: TokenizerPair, text: str) -> dict[int, int]:
    """What to force so that a text, and nothing else, is written."""
    specials = tokenizers.specials
    first = () if specials.first is None else (specials.first,)
    return dict(enumerate((*first, *tokenizers.target.encode(text).ids, specials.eos)))


def start_search(
    model: Translator,
    ids: Sequence[Sequence[int]],
    search: SearchConfig,
    forced: Mapping[int, int] = NOTHING_FORCED,
    *,
    specials: Specials = OURS,
    limit: int | None = None,
    prompt_length: int = 0,
) -> Search:
    """The search that the settings name, over source ids, not yet begun; see `finish`."""
    source = padded_for(model, ids)
    if search.method == "sample":
        return sample(
            model,
            source,
            specials=specials,
            seed=search.seed,
            temperature=search.temperature,
            top_k=search.top_k,
            top_p=search.top_p,
            forced=forced,
            limit=limit,
            prompt_length=prompt_length,
        )
    if search.method == "beam":
        return beam(
            model,
            source,
            specials=specials,
            size=search.beam_size,
            length_penalty=search.length_penalty,
            forced=forced,
            limit=limit,
            prompt_length=prompt_length,
        )
    return greedy(model, source, specials=specials, forced=forced, limit=limit, prompt_length=prompt_length)


def search_from(begin: Beginning, model: Translator, search: SearchConfig) -> Search:
    """The search that the settings name, over one text, not yet begun; see `finish`."""
    return start_search(
        model,
        [begin.source],
        search,
        begin.forced,
        specials=begin.specials,
        limit=begin.limit,
        prompt_length=begin.prompt_length,
    )


def best_hypotheses(
    model: Translator,
    tokenizers: TokenizerPair,
    lines: Sequence[str],
    *,
    search: SearchConfig = GREEDY,
    batch_size: int = 64,
) -> list[Hypothesis | None]:
    """What a search finds for many texts, one for one and in their order; None for an empty text.

    Raises:
        ConfigError: the model does not translate.
    """
    if model.task != "translation":
        raise ConfigError(f"The task of this model is {model.task}. Only a translator takes many texts at once.")
    ids = [source_ids(tokenizers, line, model.config.max_length)[0] for line in lines]
    todo = sorted((i for i, line in enumerate(lines) if line.strip()), key=lambda i: len(ids[i]))
    done: list[Hypothesis | None] = [None] * len(lines)
    for start in range(0, len(todo), batch_size):
        chosen = todo[start : start + batch_size]
        _, hypotheses = finish(
            start_search(model, [ids[i] for i in chosen], search, specials=tokenizers.specials), keep_steps=False
        )
        for i, hypothesis in zip(chosen, hypotheses, strict=True):
            done[i] = hypothesis
    return done


def written_ids(hypothesis: Hypothesis) -> tuple[int, ...]:
    return hypothesis.ids[:-1] if hypothesis.finished else hypothesis.ids


def greedy_ids(
    model: Translator, sources: Sequence[Sequence[int]], *, specials: Specials = OURS
) -> list[tuple[int, ...]]:
    """What greedy search writes for each source, `</s>` included where it was reached."""
    if not sources:
        return []
    _, hypotheses = finish(start_search(model, sources, GREEDY, specials=specials), keep_steps=False)
    return [hypothesis.ids for hypothesis in hypotheses]
