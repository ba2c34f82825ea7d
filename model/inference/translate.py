"""Translate a text, with or without the attention maps of the run. The app and the command line start here."""

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from model.checkpoints.checkpoint import Checkpoint
from model.checkpoints.languages import tag
from model.config.search import SearchConfig
from model.config.section import ConfigError
from model.decoding.search import NOTHING_FORCED, Hypothesis, Search, SearchInput, finish, forced_prefix, length_limit
from model.inference.reading import record_reading
from model.inference.result import Recording, Result, attention_maps, attention_masks
from model.inference.searching import GREEDY, best_hypotheses, search_input, start_search, written_ids
from model.inference.tokens import mark, source_tokens, written_tokens
from model.network.protocols import Reads, Writes
from model.text.pair import Text, TextPair, paired
from model.text.tokenizers import TokenizerPair
from model.trace import ATTENTION, Edit, tracing

__all__ = ["greedy_text", "record_translation", "translate", "translate_lines"]

Report = Callable[[int, int], object]  # (tokens written, the most tokens)


def translate_lines(
    model: Reads,
    tokenizers: TokenizerPair,
    lines: Sequence[str],
    *,
    search: SearchConfig = GREEDY,
    batch_size: int = 64,
) -> list[str]:
    """Translate many texts.

    A language model continues each line. Its result begins with the line, as with `translate`.

    Args:
        model: In evaluation mode.
        tokenizers: Of the model.
        lines: The texts.
        search: Greedy search, beam search or sampling, with its settings.
        batch_size: How many texts are translated together.

    Returns:
        One translation per text, in the order of the texts; an empty text stays empty.

    Raises:
        ConfigError: the model only reads.
    """
    if isinstance(model, Writes) and model.task == "continuation":
        return [search_text(model, tokenizers, line, search=search)[0] if line.strip() else "" for line in lines]
    hypotheses = best_hypotheses(model, tokenizers, lines, search=search, batch_size=batch_size)
    return ["" if best is None else tokenizers.target.decode(written_ids(best)) for best in hypotheses]


def translate(
    checkpoint: Checkpoint,
    text: Text,
    *,
    second: str = "",
    search: SearchConfig = GREEDY,
    forced: Mapping[int, int] = NOTHING_FORCED,
    edits: Mapping[str, Edit] | None = None,
    report: Report = lambda done, tokens: None,
) -> Result:
    """Translate one text, and keep the attention maps of the passes that wrote the translation.

    Args:
        checkpoint: A loaded checkpoint; never changed.
        text: Any text; it may be empty.
        second: The second text of a pair, for an encoder that reads pairs.
        search: Greedy search, beam search or sampling, with its settings.
        forced: Position → target id that is written there, whatever its probability.
        edits: See `tracing`.
        report: Called before each token that the model writes, with the number of tokens written and the limit. An
            exception ends the work.

    Raises:
        ConfigError: the model does not read pairs.
    """
    return record_translation(
        checkpoint, text, second=second, search=search, forced=forced, edits=edits, report=report
    )[0]


def greedy_text(
    checkpoint: Checkpoint, text: str, *, forced: Mapping[int, int] = NOTHING_FORCED, limit: int | None = None
) -> tuple[str, bool]:
    """Translate one text with greedy search, without recording anything.

    Args:
        checkpoint: A loaded checkpoint; never changed.
        text: Any text; it may be empty.
        forced: Position → target id that is written there, whatever its probability.
        limit: The most tokens to write, not counting a prompt; see `search_input`.

    Returns:
        The translation, and whether it ended by itself.
    """
    model = checkpoint.model
    if not isinstance(model, Writes):
        return record_reading(checkpoint, text)[0].text, True
    return search_text(model, checkpoint.tokenizers, text, forced=forced, limit=limit)


def search_text(
    model: Writes,
    tokenizers: TokenizerPair,
    text: str,
    *,
    search: SearchConfig = GREEDY,
    forced: Mapping[int, int] = NOTHING_FORCED,
    limit: int | None = None,
) -> tuple[str, bool]:
    """As `greedy_text`, with any search and without a checkpoint."""
    start = search_input(model, tokenizers, text, forced, limit=limit)
    _, (hypothesis, *_) = finish(start_search(model, start, search), keep_steps=False)
    return decode_hypothesis(model, tokenizers, start, hypothesis), hypothesis.finished


def decode_hypothesis(model: Writes, tokenizers: TokenizerPair, start: SearchInput, hypothesis: Hypothesis) -> str:
    """The text of a hypothesis. For a language model it begins with the prompt."""
    ids = written_ids(hypothesis)
    return tokenizers.target.decode([start.specials.bos, *ids] if model.task == "continuation" else ids)


def record_translation(
    checkpoint: Checkpoint,
    text: Text,
    *,
    second: str = "",
    record: Sequence[str] = (),
    search: SearchConfig = GREEDY,
    forced: Mapping[int, int] = NOTHING_FORCED,
    edits: Mapping[str, Edit] | None = None,
    report: Report = lambda done, tokens: None,
) -> tuple[Result, Recording]:
    """As `translate`, with its arguments, and record other hook points too.

    The patterns in `record` name hook points to record, in addition to the weights and masks.

    Returns:
        The translation, and what passed the other hook points.
    """
    model, tokenizers, text = checkpoint.model, checkpoint.tokenizers, paired(text, second)
    if not isinstance(model, Writes):
        return record_reading(checkpoint, text, record=record, edits=edits)
    if isinstance(text, TextPair):
        raise ConfigError(
            "{checkpoint} writes a text and reads a single one. Leave the second text out.", checkpoint=checkpoint.name
        )
    start = search_input(model, tokenizers, text, forced)
    with tracing(record=(*ATTENTION, *record), edits=edits) as trace:
        steps, (hypothesis, *_) = finish(reported(start_search(model, start, search), start, model, report))
    written = written_tokens(tokenizers, hypothesis, steps)
    rows = row_per_pass(model, start, hypothesis)
    source = source_tokens(tokenizers, tokenizers.source.encode(text), start.sources[0])
    continues = model.task == "continuation"
    translation = Result(
        text=decode_hypothesis(model, tokenizers, start, hypothesis),
        source=() if continues else source,
        read=(source[0] if continues and source else mark(tokenizers.target, start.specials.bos), *written[:-1]),
        written=written,
        maps=attention_maps(trace, model, rows),
        masks=attention_masks(trace, model, rows),
        finished=hypothesis.finished,
        dropped=start.dropped,
        prompt_length=start.prompt_length,
        first_token_fixed=start.specials.first is not None,
        languages=(tag(checkpoint.config.tokenizer.source_language), tag(checkpoint.config.tokenizer.target_language)),
    )
    return translation, Recording(trace=trace, rows=rows)


def reported(search: Search, start: SearchInput, model: Writes, report: Report) -> Search:
    """The same search, which reports each token after the prompt."""
    usual = length_limit(len(start.sources[0]), model.config.max_length, fewest=start.specials.fewest)
    most = (start.limit or usual) - start.prompt_length
    done = -start.prompt_length
    while True:
        report(max(done, 0), most)
        try:
            yield next(search)
        except StopIteration as stop:
            return cast(list[Hypothesis], stop.value)
        done += 1


def row_per_pass(model: Writes, start: SearchInput, hypothesis: Hypothesis) -> tuple[int, ...]:
    """For each pass of the decoder, the batch row of the hypothesis. The first pass reads a whole prefix."""
    prefix_length = len(forced_prefix(model, start))
    return (*hypothesis.rows[:1], *hypothesis.rows[max(prefix_length, 1) :])
