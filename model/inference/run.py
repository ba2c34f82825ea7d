"""What to compute: a text and everything that decides the result. And the computation, by a model of any task."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from model.checkpoints.checkpoint import Checkpoint, ClassifierCheckpoint, Loaded
from model.config.search import SearchConfig
from model.inference.classify import record_classification
from model.inference.result import Recording, Result
from model.inference.searching import GREEDY
from model.inference.translate import record_translation
from model.interventions import Intervention
from model.text.pair import Text, TextPair, paired, texts_of
from model.trace import Edit

__all__ = ["UNTOUCHED", "AnyCheckpoint", "Forced", "Run", "compute", "record_run"]

AnyCheckpoint = Checkpoint | ClassifierCheckpoint
Forced = tuple[tuple[int, int], ...]  # (position, target id) pairs
UNTOUCHED = Intervention()


@dataclass(frozen=True, kw_only=True)
class Run:
    """What a model computes. Together with a checkpoint it decides every number, so it is the key of a cache."""

    text: Text  # a text, or a pair of texts
    search: SearchConfig = GREEDY  # this and the next one: only for models that write
    forced: Forced = ()
    changes: Intervention = UNTOUCHED

    @property
    def usual(self) -> "Run":
        """The run over the same text by greedy search, with the model as trained."""
        return Run(text=self.text)

    def shortened(self, most: int) -> "Run":
        """The run over the first characters of each text."""
        first, second = (text[:most] for text in texts_of(self.text))
        return replace(self, text=TextPair(first, second) if isinstance(self.text, TextPair) else first)

    def to_json(self) -> dict[str, object]:
        """The run as JSON has it, without what is usual. Painted weights have six decimals, as in a link."""
        first, second = texts_of(self.text)
        usual = SearchConfig().to_dict()
        parts = {
            "second": second,
            "search": {name: value for name, value in self.search.to_dict().items() if value != usual[name]},
            "forced": [list(pair) for pair in self.forced],
            "changes": self.changes.code(),
        }
        return {"text": first, **{name: part for name, part in parts.items() if part}}

    @classmethod
    def from_json(cls, parts: Mapping[str, object]) -> "Run":
        """Read what `to_json` writes.

        Raises:
            ConfigError: a setting of the search or a change is wrong.
            ValueError: a part has another form.
        """
        match {"second": "", "search": {}, "forced": [], "changes": "", **parts}:
            case {
                "text": str(text),
                "second": str(second),
                "search": dict(search),
                "forced": list(forced),
                "changes": str(changes),
                **unknown,
            } if not unknown and all(is_pair(one) for one in forced):
                return cls(
                    text=paired(text, second),
                    search=SearchConfig.from_dict(search),
                    forced=tuple((position, i) for position, i in forced),
                    changes=Intervention.from_code(changes),
                )
        raise ValueError(f"This is no run: {parts}")


def is_pair(value: object) -> bool:
    """Whether a value is a pair of whole numbers."""
    return isinstance(value, list) and [type(part) for part in value] == [int, int]


def record_run(
    checkpoint: Loaded,
    run: Run,
    *,
    record: Sequence[str] = (),
    edits: Mapping[str, Edit] | None = None,
    report: Callable[[int, int], object] = lambda done, tokens: None,
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
    report: Callable[[int, int], object] = lambda done, tokens: None,
) -> Result:
    """As `record_run`, without a recording."""
    return record_run(checkpoint, run, edits=edits, report=report)[0]
