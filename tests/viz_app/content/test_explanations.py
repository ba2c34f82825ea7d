"""The explanations in `explanations.toml`: each is used with its values, and its formula can be drawn."""

import ast
import re

from tests.viz_app.content.test_catalogues import placeholders
from tools.words import SOURCES
from viz_app.content.explanations import EXPLANATIONS

COMMANDS = {
    *("alpha", "begin", "beta", "cap", "cdot", "cos", "Delta", "end", "exp", "frac"),
    *("in", "infty", "lambda", "left", "ln", "lVert", "mathrm", "max", "mid", "min"),
    *("propto", "qquad", "quad", "right", "rVert", "sigma", "sin", "sqrt", "sum", "tfrac"),
    "top",
}


def test_formulas_have_only_commands_that_exist() -> None:
    # A command ends where no letter follows: `qquadPE` is another command than `qquad PE`.
    used = {name for one in EXPLANATIONS.values() for name in re.findall(r"\\([A-Za-z]+)", one.formula)}
    assert used == COMMANDS


def test_a_page_gives_the_values_of_each_explanation() -> None:
    calls = [
        call
        for path in SOURCES
        if path.suffix == ".py"
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and ast.unparse(call.func) in ("explain", "introduce")
    ]
    assert len(calls) > 15
    for call in calls:
        names = [one.value for one in ast.walk(call) if isinstance(one, ast.Constant) and one.value in EXPLANATIONS]
        wanted = {value for name in names for value in placeholders(EXPLANATIONS[str(name)].text)}
        given = {str(keyword.arg) for keyword in call.keywords}
        assert wanted == given or not names, ast.unparse(call)


def test_every_explanation_is_used() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in SOURCES if path.suffix == ".py")
    # The names of these end with an id.
    computed = (
        *("positions-", "formula-", "no-formula-", "mistake-", "pooling-", "added-", "property-", "best-"),
        *("grade-",),
    )
    assert [name for name in EXPLANATIONS if f'"{name}"' not in code and not name.startswith(computed)] == []
