"""Figures for the person who runs the server, in the text that Prometheus reads.

With `HEADLIGHT_METRICS=1` each process adds them to Streamlit's own figures, at `/_stcore/metrics` of its port. They
are counts and times: no text of a visitor, no name and no address. `deploy/nginx.conf` does not pass them on.
"""

import os
from collections.abc import Callable, Mapping

from viz_app.server.presence import count_visitors
from viz_app.server.server_state import GATE, JOBS, PAGE_TIMES, RESULTS
from viz_app.server.streamlit_bridge import Family, publish_figures

__all__ = ["families", "publish_metrics"]


def families(cache_bytes: Mapping[str, Callable[[], int]]) -> tuple[Family, ...]:
    """All figures now.

    Args:
        cache_bytes: Name of a cache → its bytes now.
    """
    jobs = [({"lane": lane, "state": state}, number) for (lane, state), number in JOBS.counts().items()]
    caches = [({"cache": name}, size()) for name, size in cache_bytes.items()]
    return (
        Family("headlight_visitors", "Browsers with an open page.", values=[({}, count_visitors())]),
        Family("headlight_waiting_pages", "Pages that wait for a free core.", values=[({}, GATE.waiting)]),
        Family("headlight_jobs", "Long computations that wait or run.", values=jobs),
        Family("headlight_kept_bytes", "What a cache keeps.", unit="bytes", values=caches),
        Family("headlight_page_seconds", "Time of a page, with its waiting.", unit="seconds", times=PAGE_TIMES),
    )


def publish_metrics(models: Callable[[], int]) -> None:
    """Publish the figures of this process if the operator asks for them; the second call does nothing.

    Args:
        models: The bytes of the models in memory.
    """
    if os.environ.get("HEADLIGHT_METRICS", "") not in ("", "0"):
        publish_figures(lambda: families({"results": lambda: RESULTS.size, "models": models}))
