"""Compute a run: translate, continue, read or classify a text. The app and the command line start here.

A translation without attention maps is the same search: from a text to ids, to a hypothesis, and to a text.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeGuard, cast

from model.checkpoints.checkpoint import Checkpoint, CheckpointConfig, ClassifierCheckpoint, Loaded
from model.checkpoints.languages import tag
from model.config.foreign import ForeignConfig
from model.config.kinds import KINDS
from model.config.search import GREEDY, SearchConfig
from model.config.section import ConfigError
from model.decoding.beam import beam
from model.decoding.sampling import sample
from model.decoding.search import (
    NOTHING_FORCED,
    Hypothesis,
    Search,
    SearchInput,
    Step,
    finish,
    forced_prefix,
    greedy,
    length_limit,
)
from model.inference.classify import record_classification
from model.inference.reading import record_reading
from model.inference.run import (
    AttentionMaps,
    BoolArray,
    Recording,
    Result,
    Run,
    attention_maps,
    attention_masks,
    mark,
    source_tokens,
    written_tokens,
)
from model.network.own_model import Translator, direct
from model.network.protocols import Reads, Writes
from model.text.pair import Text, TextPair, paired
from model.text.tokenizers import TokenizerPair
from model.trace import ATTENTION, EVERY_ROW, Edit, tracing

__all__ = [
    *(
        "best_hypotheses",
        "compute",
        "decode_hypothesis",
        "forced_ids",
        "record_run",
        "record_translation",
        "require_writing",
    ),
    *("search_input", "search_text", "start_search", "translate", "translate_lines", "translate_together"),
    *("translates_together", "with_model_settings"),
]

Report = Callable[[int, int], object]  # (tokens written, the most tokens)


def record_run(
    checkpoint: Loaded,
    run: Run,
    *,
    record: Sequence[str] = (),
    edits: Mapping[str, Edit] | None = None,
    report: Report = lambda done, tokens: None,
) -> tuple[Result, Recording]:
    """Translate, continue, read or classify a text, and record hook points.

    Args:
        checkpoint: A loaded checkpoint of any task; never changed.
        run: What to compute.
        record: Patterns for the names of hook points to record, in addition to the weights and masks.
        edits: See `tracing`; they replace changes of the run at the same hook points.
        report: See `translate`.

    Returns:
        The result, a `Classification` of a classifier; and what passed the other hook points.

    Raises:
        ConfigError: the model does not read pairs.
    """
    changes = {**run.changes.edits(), **(edits or {})}
    if isinstance(checkpoint, ClassifierCheckpoint):
        return record_classification(checkpoint, run.text, record=record, edits=changes)
    assert isinstance(checkpoint, Checkpoint)
    return record_translation(
        checkpoint,
        run.text,
        record=record,
        search=run.search,
        forced=dict(run.forced),
        edits=changes,
        report=report,
    )


def compute(
    checkpoint: Loaded,
    run: Run,
    *,
    edits: Mapping[str, Edit] | None = None,
    report: Report = lambda done, tokens: None,
) -> Result:
    """As `record_run`, without a recording."""
    return record_run(checkpoint, run, edits=edits, report=report)[0]


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
    rows = row_per_pass(model, start, hypothesis)
    maps, masks = attention_maps(trace, model, rows), attention_masks(trace, model, rows)
    found = result_of_search(checkpoint, text, start, hypothesis, steps, maps=maps, masks=masks)
    return found, Recording(trace=trace, rows=rows)


def result_of_search(
    checkpoint: Checkpoint,
    text: str,
    start: SearchInput,
    hypothesis: Hypothesis,
    steps: Sequence[Step],
    *,
    maps: AttentionMaps,
    masks: Mapping[str, BoolArray],
) -> Result:
    """What a search over one text found.

    Args:
        checkpoint: That searched.
        text: The text.
        start: The input of the search over this text.
        hypothesis: Its best hypothesis.
        steps: Of the search, which may have had other texts in its batch.
        maps: See `Result`.
        masks: See `Result`.
    """
    model, tokenizers = require_writing(checkpoint), checkpoint.tokenizers
    written = written_tokens(tokenizers, hypothesis, steps)
    source = source_tokens(tokenizers, tokenizers.source.encode(text), start.sources[0])
    continues = model.task == "continuation"
    return Result(
        text=decode_hypothesis(model, tokenizers, start, hypothesis),
        source=() if continues else source,
        read=(source[0] if continues and source else mark(tokenizers.target, start.specials.bos), *written[:-1]),
        written=written,
        maps=maps,
        masks=masks,
        finished=hypothesis.finished,
        dropped=start.dropped,
        prompt_length=start.prompt_length,
        first_token_fixed=start.specials.first is not None,
        languages=(tag(checkpoint.config.tokenizer.source_language), tag(checkpoint.config.tokenizer.target_language)),
    )


def translate_together(checkpoint: Checkpoint, texts: Sequence[str]) -> list[Result]:
    """Translate a few texts by greedy search in one batch, and keep the attention maps of the passes.

    It reads the weights of the model once for all texts, so sixteen short texts take about twice as long as one. Each
    result equals that of `translate`, to rounding.

    Args:
        checkpoint: See `translates_together`.
        texts: At least one. The longest decides how long the work takes.
    """
    model = require_writing(checkpoint)
    starts = [search_input(model, checkpoint.tokenizers, text) for text in texts]
    batch = SearchInput(sources=[start.sources[0] for start in starts], specials=checkpoint.tokenizers.specials)
    with tracing(record=ATTENTION) as trace:
        steps, hypotheses = finish(greedy(model, batch))
    # kind → (L, B, H, queries, keys)
    maps = attention_maps(trace, model, [EVERY_ROW] * len(steps), encoder_row=EVERY_ROW)
    results = []
    for row, (text, start, hypothesis) in enumerate(zip(texts, starts, hypotheses, strict=True)):
        reads, writes = len(start.sources[0]), len(hypothesis.ids)
        lengths = {"source": reads, "read": writes, "written": writes}
        own = {
            kind: whole[:, row, :, : lengths[KINDS[kind].queries], : lengths[KINDS[kind].keys]]
            for kind, whole in maps.items()
        }
        results.append(result_of_search(checkpoint, text, start, hypothesis, steps, maps=own, masks={}))
    return results


def translates_together(checkpoint: Loaded) -> TypeGuard[Checkpoint]:
    """Whether `translate_together` can use this checkpoint: a translator of ours."""
    return isinstance(checkpoint.model, Translator)


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
    return ["" if best is None else tokenizers.target.decode(best.written) for best in hypotheses]


def search_text(
    model: Writes,
    tokenizers: TokenizerPair,
    text: str,
    *,
    search: SearchConfig = GREEDY,
    forced: Mapping[int, int] = NOTHING_FORCED,
    limit: int | None = None,
) -> tuple[str, bool]:
    """Translate one text without recording anything.

    Args:
        model: In evaluation mode.
        tokenizers: Of the model.
        text: Any text; it may be empty.
        search: The method and its settings.
        forced: Position → target id that is written there, whatever its probability.
        limit: The most tokens to write, not counting a prompt; see `search_input`.

    Returns:
        The translation, and whether it ended by itself.
    """
    start = search_input(model, tokenizers, text, forced, limit=limit)
    _, (hypothesis, *_) = finish(start_search(model, start, search), keep_steps=False)
    return decode_hypothesis(model, tokenizers, start, hypothesis), hypothesis.finished


def decode_hypothesis(model: Writes, tokenizers: TokenizerPair, start: SearchInput, hypothesis: Hypothesis) -> str:
    """The text of a hypothesis. For a language model it begins with the prompt."""
    ids = hypothesis.written
    return tokenizers.target.decode([start.specials.bos, *ids] if model.task == "continuation" else ids)


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
        ids, dropped = tokenizers.source_ids(text, max_length)
        return SearchInput(sources=[ids], specials=tokenizers.specials, forced=forced, limit=limit, dropped=dropped)
    continuation_length = min(tokenizers.specials.new_tokens, max_length // 2)
    ids, dropped = tokenizers.source_ids(text, max_length - continuation_length)
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
    model = direct(model)
    ids = [tokenizers.source_ids(line, model.config.max_length)[0] for line in lines]
    todo = sorted((i for i, line in enumerate(lines) if line.strip()), key=lambda i: len(ids[i]))
    done: list[Hypothesis | None] = [None] * len(lines)
    for start in range(0, len(todo), batch_size):
        chosen = todo[start : start + batch_size]
        batch = SearchInput(sources=[ids[i] for i in chosen], specials=tokenizers.specials)
        _, hypotheses = finish(start_search(model, batch, search), keep_steps=False)
        for i, hypothesis in zip(chosen, hypotheses, strict=True):
            done[i] = hypothesis
    return done
