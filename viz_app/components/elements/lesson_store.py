"""What the browser of a visitor keeps of the course."""

from collections.abc import Callable, Mapping, Sequence

from viz_app.components.mounting import component

__all__ = ["lesson_store"]


def lesson_store(
    *,
    key: str,
    session: str,
    changes: Sequence[tuple[int, str, Mapping[str, object]]],
    forgotten: int,
    before: tuple[int, Mapping[str, object] | None],
    offers_tour: bool,
    pointing: tuple[str, str],
    on_stored: Callable[[object], None],
    on_before: Callable[[object], None],
    on_tour: Callable[[], None],
    on_pointed: Callable[[object], None],
) -> None:
    """Let the browser keep answers and the choices from before the lesson, and offer the tour once.

    Args:
        key: Of the component.
        session: A name for this session, another one after each reload.
        changes: Number, name of the step and answer. A browser keeps each number once.
        forgotten: The number of the latest request to forget all answers; 0 without one.
        before: The number of its latest change, and what was there before the lesson; None outside one. A tab keeps
            it until it is closed.
        offers_tour: Whether the tour may be offered on this page.
        pointing: The open step, and the part of the page at which its visitor has to point; "" for none.
        on_stored: Called with everything that the browser keeps, when it sends that. It may be anything.
        on_before: Called after a reload with what this tab keeps of the choices before the lesson. It may be anything.
        on_tour: Called when the visitor begins the tour.
        on_pointed: Called with the name of the step when the visitor has pointed at its part. It may be anything.
    """
    component(
        "lesson_store",
        "ui/lesson_store",
        key=key,
        stored=on_stored,
        before=on_before,
        tour=lambda _: on_tour(),
        pointed=on_pointed,
        data={
            "session": session,
            "changes": [list(change) for change in changes],
            "forgotten": forgotten,
            "before": list(before),
            "offer": offers_tour,
            "pointing": list(pointing),
        },
    )
