"""What pages say about a task, where it differs from task to task. `tasks.toml` holds it."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

from viz_app.content.translation import t

__all__ = ["TASKS", "about_task"]

TASKS: Mapping[str, Mapping[str, str]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def about_task(task: str, what: str, /, **values: object) -> str:
    """What pages say about a task, such as its "loss", translated, with the values of the text."""
    return t(TASKS[task][what], **values)
