"""From texts to hypotheses: prepares the input of a search and runs it. Nothing is recorded."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from model.checkpoints.checkpoint import CheckpointConfig, Loaded
from model.config.foreign import ForeignConfig
from model.config.search import SearchConfig
from model.config.section import ConfigError
from model.decoding.beam import beam
from model.decoding.sampling import sample
from model.decoding.search import NOTHING_FORCED, Hypothesis, Search, SearchInput, finish, greedy
from model.network.protocols import Reads, Writes
from model.text.pair import Text
from model.text.tokenizers import TokenizerPair

__all__ = [
    "GREEDY",
    "best_hypotheses",
    "forced_ids",
    "require_writing",
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
        forced: See `SearchInput`.
        limit: The most tokens to write, not counting a prompt; by default `length_limit`, or `Specials.new_tokens`.
    """
    max_length = model.config.max_length
    if model.task != "continuation":
        ids, dropped = source_ids(tokenizers, text, max_length)
        return SearchInput(sources=[ids], specials=tokenizers.specials, forced=forced, limit=limit, dropped=dropped)
    continuation_length = min(tokenizers.specials.new_tokens, max_length // 2)
    ids, dropped = source_ids(tokenizers, text, max_length - continuation_length)
    prompt = dict(enumerate(ids[1:]))
    return SearchInput(
        sources=[ids],
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


def start_search(model: Writes, start: SearchInput, search: SearchConfig) -> Search:
    """Create the search that the settings choose. It starts with the first `next`.

    Args:
        model: In evaluation mode.
        start: The input of the search.
        search: The method and its settings.
    """
    if search.method == "sample":
        return sample(model, start, search)
    return beam(model, start, search) if search.method == "beam" else greedy(model, start)


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
        batch = SearchInput(sources=[ids[i] for i in chosen], specials=tokenizers.specials)
        _, hypotheses = finish(start_search(model, batch, search), keep_steps=False)
        for i, hypothesis in zip(chosen, hypotheses, strict=True):
            done[i] = hypothesis
    return done


def written_ids(hypothesis: Hypothesis) -> tuple[int, ...]:
    """The ids of a hypothesis without its end token."""
    return hypothesis.ids[:-1] if hypothesis.finished else hypothesis.ids
