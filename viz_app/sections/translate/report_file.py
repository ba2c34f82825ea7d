"""The report of the visitor's run: the run itself, and the run of the model with the visitor's changes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date

from model.analysis.importance import all_heads
from model.inference.run import UNTOUCHED, Run
from model.interventions import Intervention
from model.text.pair import texts_of
from viz_app.content.translation import in_language, language, t
from viz_app.export.report import Changed, report
from viz_app.server.server_state import GATE
from viz_app.services import head_analyses, loading, results
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import choices

__all__ = ["Wanted", "asked_for", "html_page"]


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What the visitor chose on this page and on others."""

    language: str
    choices: Mapping[str, str]  # in the form of a link
    intervention: Intervention


def asked_for() -> Wanted:
    """The choices of this visitor now. The report is made later, in a thread that has no visitor."""
    changes = choices().chosen.get("intervention")
    return Wanted(
        language=language(),
        choices=choices().in_link(),
        intervention=changes if isinstance(changes, Intervention) else UNTOUCHED,
    )


def html_page(key: CheckpointKey, run: Run, wanted: Wanted) -> str:
    """The report in the language of the visitor."""
    text, second = texts_of(run.text)
    with GATE.inside(), in_language(wanted.language):
        note = ""
        if run.forced:
            free = results.result_of(key, run.usual)
            note = t("Some words were forced. Without forced words, the model writes “{text}”.", text=free.text)
        return report(
            results.result_of(key, run),
            text=text,
            second=second,
            name=key.name,
            made=date.today(),
            note=note,
            sizes=loading.config_of(key).model,
            forced=dict(run.forced),
            changed=changed_run(key, run, wanted.intervention),
            choices=wanted.choices,
        )


def changed_run(key: CheckpointKey, run: Run, intervention: Intervention) -> Changed | None:
    """The run with the changes that this model can have; None without any, and for a model that writes nothing."""
    before = results.result_of(key, run)
    if not intervention or not before.written or head_analyses.why_read_only(key):
        return None
    own = intervention.within(all_heads(loading.loaded(key).model))
    if not own:
        return None
    same = tuple(before.as_forced.items())
    return Changed(
        intervention=own,
        translation=results.result_of(key, replace(run, changes=own)),
        rescored=results.result_of(key, Run(text=run.text, forced=same, changes=own)),
    )
