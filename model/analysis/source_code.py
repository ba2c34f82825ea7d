"""The code of the model as text: functions without their docstrings, and the step that each line computes.

A line of `model/network/` that computes a step ends with a comment such as `# step: scores`. Functions of other
libraries have no such comments.
"""

import ast
import inspect
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["CodeLine", "function_code"]

MARK = re.compile(r"#.*\bstep: ([\w √-]+)$")


@dataclass(frozen=True)
class CodeLine:
    """A line of a function."""

    text: str
    step: str = ""  # the step that it computes, or ""


@lru_cache(maxsize=256)  # functions; parsing their source again would take 8 % of a page
def function_code(function: Callable[..., object]) -> tuple[CodeLine, ...]:
    """The source of a function without its docstring; empty if its file has no source."""
    try:
        source = textwrap.dedent(inspect.getsource(function))
    except OSError:
        return ()
    (definition,) = ast.parse(source).body
    assert isinstance(definition, ast.FunctionDef)
    first = definition.body[0]
    lines = source.splitlines()
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        del lines[first.lineno - 1 : first.end_lineno]
    return tuple(CodeLine(line, found[1] if (found := MARK.search(line)) else "") for line in lines)
