"""From texts to hypotheses: prepares the input of a search and runs it. Nothing is recorded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from model.checkpoints.checkpoint import CheckpointConfig, Loaded
from model.config.foreign import ForeignConfig
from model.config.search import SearchConfig
from model.config.section import ConfigError
from model.decoding.beam import beam
from model.decoding.decoder_state import NOTHING_FORCED
from model.decoding.greedy import greedy
from model.decoding.sampling import sample
from model.decoding.search import Hypothesis, Search, finish
from model.inference.padding import padded_for
from model.network.protocols import Reads, Writes
from model.text.pair import Text
from model.text.tokenizers import TokenizerPair
from model.text.vocab import OURS, Specials

__all__ = [
    "GREEDY",
    "SearchInput",
    "best_hypotheses",
    "forced_ids",
    "greedy_ids",
    "require_writing",
    "search_from",
    "search_input",
    "source_ids",
    "start_search",
    "with_model_settings",
    "written_ids",
]

GREEDY = SearchConfig()


def source_ids(tokenizers: TokenizerPair, text: Text, max_length: int) -> tuple[list[int], int]:
    """Encode a source with its special tokens, cut to the positions of the model.

    Returns:
        The ids, and how many tokens of the text were cut off.
    """
    encoding, specials = tokenizers.encode(text, max_length), tokenizers.specials
    ids = encoding.ids
    kept = ids[: max_length - len(specials.before) - len(specials.after)]
    whole = [*specials.before, *kept, *specials.after]
    # Without special tokens, an empty text would have no ids.
    return [*whole, *specials.fill[len(whole) :]] or [specials.bos], encoding.dropped + len(ids) - len(kept)


@dataclass(frozen=True, kw_only=True)
class SearchInput:
    """The input of a search over one text."""

    source: Sequence[int]  # token ids
    specials: Specials
    forced: Mapping[int, int]  # position → token
    limit: int | None  # the most tokens to write; None for the default of the search
    dropped: int  # tokens of the text that did not fit into the model's positions
    prompt_length: int = 0  # how many of the first written tokens are the prompt


def search_input(
    model: Writes,
    tokenizers: TokenizerPair,
    text: str,
    forced: Mapping[int, int] = NOTHING_FORCED,
    *,
    limit: int | None = None,
) -> SearchInput:
    """Prepare a search over one text.

    For a language model, the typed text is a prompt. The decoder reads its first token, and all others are forced.

    Args:
        model: In evaluation mode.
        tokenizers: Of the model.
        text: Any text.
        forced: See `greedy`.
        limit: The most tokens to write, not counting a prompt; by default `length_limit`, or `Specials.new_tokens`.
    """
    max_length = model.config.max_length
    if model.task != "continuation":
        ids, dropped = source_ids(tokenizers, text, max_length)
        return SearchInput(source=ids, specials=tokenizers.specials, forced=forced, limit=limit, dropped=dropped)
    continuation_length = min(tokenizers.specials.new_tokens, max_length // 2)
    ids, dropped = source_ids(tokenizers, text, max_length - continuation_length)
    prompt = dict(enumerate(ids[1:]))
    return SearchInput(
        source=ids,
        specials=replace(tokenizers.specials, bos=ids[0]),
        forced={**forced, **prompt},
        limit=len(prompt) + (limit or continuation_length),
        dropped=dropped,
        prompt_length=len(prompt),
    )


def require_writing(checkpoint: Loaded) -> Writes:
    """The model of a checkpoint, if it writes. A model that only reads has no search and no log-probabilities.

    Raises:
        ConfigError: the model writes nothing.
    """
    if not isinstance(checkpoint.model, Writes):
        raise ConfigError(
            "{checkpoint} reads a text and writes nothing. Choose a model that writes.", checkpoint=checkpoint.name
        )
    return checkpoint.model


def forced_ids(tokenizers: TokenizerPair, text: str) -> dict[int, int]:
    """The tokens to force, position → id, so that the model writes exactly this text."""
    specials = tokenizers.specials
    first = () if specials.first is None else (specials.first,)
    return dict(enumerate((*first, *tokenizers.target.encode(text).ids, specials.eos)))


def start_search(
    model: Writes,
    ids: Sequence[Sequence[int]],
    search: SearchConfig,
    forced: Mapping[int, int] = NOTHING_FORCED,
    *,
    specials: Specials = OURS,
    limit: int | None = None,
    prompt_length: int = 0,
) -> Search:
    """Create the search that the settings choose, over a batch of source ids. It starts with the first `next`.

    Args:
        model: In evaluation mode.
        ids: The token ids of each source.
        search: The method and its settings.
        forced: See `greedy`.
        specials: The ids that start, end or never appear.
        limit: See `greedy`.
        prompt_length: See `greedy`.
    """
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
            early_stopping=search.early_stopping,
            forced=forced,
            limit=limit,
            prompt_length=prompt_length,
        )
    return greedy(model, source, specials=specials, forced=forced, limit=limit, prompt_length=prompt_length)


def with_model_settings(search: SearchConfig, config: CheckpointConfig | ForeignConfig) -> SearchConfig:
    """A beam search with the `length_penalty` and `early_stopping` in the model's files; other searches unchanged.

    Args:
        search: The method and its settings.
        config: Of the loaded checkpoint.
    """
    if search.method != "beam" or not isinstance(config, ForeignConfig):
        return search
    found = config.generation
    return replace(search, length_penalty=found.length_penalty, early_stopping=found.early_stopping)


def search_from(start: SearchInput, model: Writes, search: SearchConfig) -> Search:
    """Create the search that the settings choose, over one prepared text. It starts with the first `next`."""
    return start_search(
        model,
        [start.source],
        search,
        start.forced,
        specials=start.specials,
        limit=start.limit,
        prompt_length=start.prompt_length,
    )


def best_hypotheses(
    model: Reads,
    tokenizers: TokenizerPair,
    lines: Sequence[str],
    *,
    search: SearchConfig = GREEDY,
    batch_size: int = 64,
) -> list[Hypothesis | None]:
    """Search translations of many texts, in batches of similar length.

    Args:
        model: In evaluation mode.
        tokenizers: Of the model.
        lines: The texts.
        search: The method and its settings.
        batch_size: How many texts one batch holds.

    Returns:
        For each text its best hypothesis, in the order of the texts; None for an empty text.

    Raises:
        ConfigError: the model does not translate.
    """
    if not isinstance(model, Writes):
        raise ConfigError("This model reads a text and writes nothing. Only a translator takes many texts at once.")
    if model.task != "translation":
        raise ConfigError("This model continues a text. Only a translator takes many texts at once.")
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
    """The ids of a hypothesis without its end token."""
    return hypothesis.ids[:-1] if hypothesis.finished else hypothesis.ids


def greedy_ids(model: Writes, sources: Sequence[Sequence[int]], *, specials: Specials = OURS) -> list[tuple[int, ...]]:
    """The ids that greedy search writes for each source, with `</s>` where the model reached it.

    Args:
        model: In evaluation mode.
        sources: The token ids of each source.
        specials: The ids that start, end or never appear.
    """
    if not sources:
        return []
    _, hypotheses = finish(start_search(model, sources, GREEDY, specials=specials), keep_steps=False)
    return [hypothesis.ids for hypothesis in hypotheses]
