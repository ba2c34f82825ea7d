"""Run a model of any task over a text. A classification is then a reading: a translation that has only a source."""

from collections.abc import Mapping, Sequence

from model.checkpoints.checkpoint import Checkpoint, ClassifierCheckpoint
from model.checkpoints.languages import tag
from model.decoding.decoder_state import NOTHING_FORCED
from model.inference.classify import Classification, record_classification
from model.inference.tokens import Token
from model.inference.translate import record_translation
from model.inference.translation import Recording, Translation
from model.text.pair import Text
from model.trace import Edit

__all__ = ["AnyCheckpoint", "reading_of", "record_text", "run_text"]

AnyCheckpoint = Checkpoint | ClassifierCheckpoint


def record_text(
    checkpoint: AnyCheckpoint,
    text: Text,
    *,
    record: Sequence[str] = (),
    forced: Mapping[int, int] = NOTHING_FORCED,
    edits: Mapping[str, Edit] | None = None,
) -> tuple[Translation, Recording]:
    """Translate, continue, read or classify a text, and record hook points.

    Args:
        checkpoint: A loaded checkpoint of any task; never changed.
        text: Any text, or a pair of texts.
        record: Patterns for the names of hook points to record, in addition to the weights and masks.
        forced: Position → target id that is written there; only for models that write.
        edits: See `tracing`.
    """
    if isinstance(checkpoint, ClassifierCheckpoint):
        classification, recording = record_classification(checkpoint, text, record=record, edits=edits)
        return reading_of(checkpoint, classification), recording
    return record_translation(checkpoint, text, record=record, forced=forced, edits=edits)


def run_text(checkpoint: AnyCheckpoint, text: Text, *, edits: Mapping[str, Edit] | None = None) -> Translation:
    """As `record_text`, without a recording."""
    return record_text(checkpoint, text, edits=edits)[0]


def reading_of(checkpoint: ClassifierCheckpoint, found: Classification) -> Translation:
    """A classification as a translation that has only a source. `text` is the label."""
    specials = checkpoint.tokenizers.specials
    rows = zip(found.ids, found.tokens, words_of(checkpoint, found), found.parts, strict=True)
    usual = found.allowed.all()
    return Translation(
        text=found.label,
        source=tuple(
            Token(text=text, id=i, word=word, part=part, unknown=i == specials.unknown) for i, text, word, part in rows
        ),
        read=(),
        written=(),
        maps={"encoder": found.encoder},
        masks={} if usual else {"encoder": found.allowed},
        finished=True,
        dropped=found.dropped,
        languages=(tag(checkpoint.config.tokenizer.source_language), ""),
    )


def words_of(checkpoint: ClassifierCheckpoint, found: Classification) -> list[int]:
    """The index of the word of each token; −1 for a special token."""
    specials, words = checkpoint.tokenizers.specials, checkpoint.tokenizers.source.words(found.ids)
    marks = specials.marks
    return [word if i not in marks else -1 for i, word in zip(found.ids, words, strict=True)]
