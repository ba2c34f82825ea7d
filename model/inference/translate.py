"""Text in, text and trace out: the facade that the app and the command line use."""

from collections.abc import Mapping, Sequence

from model.checkpoints.checkpoint import Checkpoint
from model.checkpoints.languages import tag
from model.config.search import SearchConfig
from model.decoding.decoder_state import NOTHING_FORCED, forced_prefix
from model.decoding.search import Hypothesis, finish
from model.inference.reading import record_reading
from model.inference.searching import (
    GREEDY,
    Beginning,
    beginning,
    beginning_of,
    best_hypotheses,
    search_from,
    written_ids,
)
from model.inference.tokens import mark, source_tokens, written_tokens
from model.inference.translation import Recording, Translation, attention_maps, attention_masks
from model.network.translator import Translator
from model.text.tokenizers import TokenizerPair
from model.trace import Edit, tracing

__all__ = ["record_translation", "translate", "translate_lines", "write"]


def translate_lines(
    model: Translator,
    tokenizers: TokenizerPair,
    lines: Sequence[str],
    *,
    search: SearchConfig = GREEDY,
    batch_size: int = 64,
) -> list[str]:
    """Translate many texts, one for one and in their order; an empty text stays empty.

    A model that continues a text goes on with each line by itself; as with `translate`, the line stands first.

    Raises:
        ConfigError: the model only reads.
    """
    if model.task == "continuation":
        return [search_text(model, tokenizers, line, search=search)[0] if line.strip() else "" for line in lines]
    found = best_hypotheses(model, tokenizers, lines, search=search, batch_size=batch_size)
    return ["" if best is None else tokenizers.target.decode(written_ids(best)) for best in found]


def translate(
    checkpoint: Checkpoint,
    text: str,
    *,
    search: SearchConfig = GREEDY,
    forced: Mapping[int, int] = NOTHING_FORCED,
    edits: Mapping[str, Edit] | None = None,
) -> Translation:
    """Translate one text and keep every attention map of the very passes that wrote it.

    Args:
        checkpoint: A loaded checkpoint; never changed.
        text: Anything, even nothing.
        search: Greedy, beam or sampling, with its settings.
        forced: Position → target id that is written there whatever its probability.
        edits: See `tracing`.
    """
    return record_translation(checkpoint, text, search=search, forced=forced, edits=edits)[0]


def write(
    checkpoint: Checkpoint, text: str, *, forced: Mapping[int, int] = NOTHING_FORCED, limit: int | None = None
) -> tuple[str, bool]:
    """What greedy search writes for one text, and whether it ended by itself; nothing is recorded.

    Args:
        checkpoint: A loaded checkpoint; never changed.
        text: Anything, even nothing.
        forced: Position → target id that is written there whatever its probability.
        limit: The most tokens to write, or to write after a prompt; by default what is usual.
    """
    if checkpoint.config.task == "reading":
        return record_reading(checkpoint, text)[0].text, True
    return search_text(checkpoint.model, checkpoint.tokenizers, text, forced=forced, limit=limit)


def search_text(
    model: Translator,
    tokenizers: TokenizerPair,
    text: str,
    *,
    search: SearchConfig = GREEDY,
    forced: Mapping[int, int] = NOTHING_FORCED,
    limit: int | None = None,
) -> tuple[str, bool]:
    """What a search writes for one text, and whether it ended by itself; nothing is recorded."""
    begin = beginning_of(model, tokenizers, text, forced, limit=limit)
    _, (hypothesis, *_) = finish(search_from(begin, model, search), keep_steps=False)
    return text_of(model, tokenizers, begin, hypothesis), hypothesis.finished


def text_of(model: Translator, tokenizers: TokenizerPair, begin: Beginning, hypothesis: Hypothesis) -> str:
    """What was written, after the first token of the prompt where a model continues one."""
    ids = written_ids(hypothesis)
    return tokenizers.target.decode([begin.specials.bos, *ids] if model.task == "continuation" else ids)


def record_translation(
    checkpoint: Checkpoint,
    text: str,
    *,
    record: Sequence[str] = (),
    search: SearchConfig = GREEDY,
    forced: Mapping[int, int] = NOTHING_FORCED,
    edits: Mapping[str, Edit] | None = None,
) -> tuple[Translation, Recording]:
    """As `translate`, and keep what passes other hook points too.

    Args:
        checkpoint: A loaded checkpoint; never changed.
        text: Anything, even nothing.
        record: Patterns of the names of hook points, beside those of the weights.
        search: Greedy, beam or sampling, with its settings.
        forced: Position → target id that is written there whatever its probability.
        edits: See `tracing`.
    """
    model, tokenizers = checkpoint.model, checkpoint.tokenizers
    if checkpoint.config.task == "reading":
        return record_reading(checkpoint, text, record=record, edits=edits)
    begin = beginning(checkpoint, text, forced)
    with tracing(record=("*.weights", "*.mask", *record), edits=edits) as trace:
        steps, (hypothesis, *_) = finish(search_from(begin, model, search))
    written = written_tokens(tokenizers, hypothesis, steps)
    # What is given or forced at the beginning was read in one pass, not in as many as it has tokens.
    first = (
        begin.prompt_length + 1 if begin.prompt_length else len(forced_prefix(model, begin.specials, begin.forced)) or 1
    )
    rows = (*hypothesis.rows[:1], *hypothesis.rows[first:])
    source = source_tokens(tokenizers, tokenizers.source.encode(text), begin.source)
    continued = checkpoint.config.task == "continuation"
    translation = Translation(
        text=text_of(model, tokenizers, begin, hypothesis),
        source=() if continued else source,
        read=(source[0] if continued and source else mark(tokenizers.target, begin.specials.bos), *written[:-1]),
        written=written,
        maps=attention_maps(trace, model, rows),
        masks=attention_masks(trace, model, rows),
        finished=hypothesis.finished,
        dropped=begin.dropped,
        prompt_length=begin.prompt_length,
        first_token_fixed=begin.specials.first is not None,
        languages=(tag(checkpoint.config.tokenizer.source_language), tag(checkpoint.config.tokenizer.target_language)),
    )
    return translation, Recording(trace=trace, rows=rows)
