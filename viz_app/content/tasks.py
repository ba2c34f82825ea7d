"""What pages say about a task, where it differs from task to task. `tasks.toml` holds it."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

from model.config.foreign import ForeignConfig
from model.inference.opening import AnyConfig
from viz_app.content.translation import t

__all__ = ["TASKS", "about_task", "task_of"]

TASKS: Mapping[str, Mapping[str, str]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def task_of(config: AnyConfig) -> str:
    """What a model does, as `Task` in live/engine/types.d.ts: a reader may fill gaps."""
    fills = isinstance(config, ForeignConfig) and config.predicts and config.task == "reading"
    return "filling" if fills else config.task


def about_task(task: str, what: str, /, **values: object) -> str:
    """What pages say about a task, such as its "loss", translated, with the values of the text."""
    return t(TASKS[task][what], **values)
