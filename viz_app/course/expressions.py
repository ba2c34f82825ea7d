"""The checks of lessons as data: lines in the notation of Python, which this app and a published page evaluate alike.

    _at = ranked(among(row.scores, row.open))       a line with "_" is only for the lines below it
    key = row.keys[_at[0]]                          any other line is a value for the text of the outcome
    layer, least                                    so are these, under their own names
    row.place                                       and all parts of this
    outcome = right_if(given == _at[0])             the name of the text that the visitor reads

`given` is the visitor's answer, and `opens` has the choices that the step opens. The other names are parameters of the
step, quantities of the run (`quantities.py`, `app_quantities.py`) or functions (`FUNCTIONS`). Whatever is computed with
something missing is missing, such as the second of one key. A published page gets each expression as a tree of lists:
["ranked", ["among", …]].
"""

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

__all__ = ["FUNCTIONS", "Lines", "Tree", "evaluate", "names_in", "outcomes_of", "parse", "words"]

Tree = Any  # a number, a name, ["text", …], or a function with its arguments
Lines = Sequence[tuple[str, Tree]]  # name → expression; "" for values under their own names
# Of the functions that give one.
OUTCOMES = {"right_if": ("right", "wrong"), "estimated": ("right", "too-low", "too-high")}
OPERATORS: dict[type[ast.AST], str] = {
    **{ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Pow: "**"},
    **{
        ast.Eq: "==",
        ast.NotEq: "!=",
        ast.Lt: "<",
        ast.LtE: "<=",
        ast.Gt: ">",
        ast.GtE: ">=",
        ast.USub: "minus",
        ast.Not: "not",
    },
    **{ast.In: "in", ast.NotIn: "not in", ast.And: "and", ast.Or: "or"},
}


def words(text: str) -> list[str]:
    """The words of a text in their order, in small letters."""
    return re.findall(r"\w+", text.lower())


def numbers(values: Any) -> list[Any]:
    return list(values.values() if isinstance(values, Mapping) else values)


def largest(values: Any) -> int | None:
    """The place of the largest number; the first one of several."""
    return int(np.argmax(numbers(values))) if len(values) else None


def ratio(one: float, other: float) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.divide(one, other))


def part(values: Any, place: Any) -> Any:
    """A part by its place, from the end if it is negative, or by its name; None without one."""
    try:
        return values[place]
    except (LookupError, TypeError):
        return None


def estimated(given: Any, true: float, within: float) -> str:
    """Whether an estimated number is as near to the number of this run as a right answer must be."""
    return "right" if abs(float(given) - true) <= within else "too-low" if float(given) < true else "too-high"


# Functions that need no run. `live/course/expressions.js` has those that steps of a published page use.
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": ratio,
    "//": operator.floordiv,
    "**": operator.pow,
    "minus": operator.neg,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda one, many: one in many,
    "not in": lambda one, many: one not in many,
    "at": part,
    "slice": lambda values, first, last: values[first : len(values) if last == "" else last],
    "list": lambda *values: list(values),
    "right_if": lambda right: "right" if right else "wrong",
    "estimated": estimated,
    "abs": abs,
    "exp": math.exp,
    "log": math.log,
    "len": len,
    "round": round,
    "range": range,
    "number": lambda text: int(text) if text.isdecimal() else float(text),
    "shown": lambda number, digits=6: f"{number:.{digits}g}",
    "sum": lambda values: sum(numbers(values)),
    "std": lambda values: float(np.std(values)),
    "mean": lambda values: float(np.mean(numbers(values))),
    "max": lambda values: max(numbers(values), default=None),
    "min": lambda values: min(numbers(values), default=None),
    "index": lambda values, one: list(values).index(one) if one in values else None,
    "largest": largest,
    "largest_name": lambda named: max(named, key=named.__getitem__),
    "ranked": lambda values: np.argsort(-np.asarray(values)).tolist(),
    "among": lambda values, chosen: np.where(chosen, values, -np.inf),
    "times": np.multiply,
    "apart": lambda one, other: float(np.abs(np.subtract(one, other)).max()),
    "distinct": lambda values: [*dict.fromkeys(values)],
    "most_common": lambda values: int(np.bincount(values).argmax()),
    "joined": lambda texts, between: between.join(texts),
    "words": words,
    "is_count": str.isdecimal,
    "trimmed": str.strip,
    "split": str.split,
    "is_letter": str.isalpha,
    "ends": str.endswith,
    "sorted": sorted,
}


def parse(text: str) -> Lines:
    """The lines of a check.

    Raises:
        ValueError: a line is not in the notation above. The message has the line.
    """
    found: list[tuple[str, Tree]] = []
    for line in ast.parse(text).body:
        match line:
            case ast.Assign(targets=[ast.Name(name)], value=value):
                found.append((name, tree(value)))
            case ast.Expr(value=ast.Tuple(elts=many)):
                found += map(bare, many)
            case ast.Expr(value=value):
                found.append(bare(value))
            case _:
                raise ValueError(f"“{ast.unparse(line)}” is no line of a check.")
    if "outcome" not in dict(found):
        raise ValueError("its check has no outcome.")
    return tuple(found)


def bare(node: ast.expr) -> tuple[str, Tree]:
    own = node.id if isinstance(node, ast.Name) and not node.id.startswith("_") else ""
    return own, tree(node)


def tree(node: ast.expr) -> Tree:
    match node:
        case ast.Constant(str() as text):
            return ["text", text]
        case ast.Constant(int() | float() | None as number):
            return number
        case ast.Name(name):
            return name
        case ast.Attribute(whole, name):
            return ["at", tree(whole), ["text", name]]
        case ast.Subscript(whole, ast.Slice(lower, upper, None)):
            return ["slice", tree(whole), tree(lower) if lower else 0, tree(upper) if upper else ["text", ""]]
        case ast.Subscript(whole, place) if not isinstance(place, ast.Slice):
            return ["at", tree(whole), tree(place)]
        case ast.List(parts):
            return ["list", *map(tree, parts)]
        case ast.Call(ast.Name(name), parts, []):
            return [name, *map(tree, parts)]
        case ast.UnaryOp(sign, one) if type(sign) in OPERATORS:
            return [OPERATORS[type(sign)], tree(one)]
        case ast.BinOp(one, sign, other) if type(sign) in OPERATORS:
            return [OPERATORS[type(sign)], tree(one), tree(other)]
        case ast.BoolOp(sign, parts):
            return [OPERATORS[type(sign)], *map(tree, parts)]
        case ast.Compare(first, signs, others) if all(type(sign) in OPERATORS for sign in signs):
            pairs = zip(signs, [first, *others], others, strict=False)
            compared = [[OPERATORS[type(sign)], tree(one), tree(other)] for sign, one, other in pairs]
            return compared[0] if len(compared) == 1 else ["and", *compared]
        case ast.IfExp(condition, one, other):
            return ["if", tree(condition), tree(one), tree(other)]
        case ast.ListComp(element, [ast.comprehension(ast.Name(name), many, conditions)]):
            return ["for", name, tree(many), ["and", *map(tree, conditions)], tree(element)]
    raise ValueError(f"“{ast.unparse(node)}” is no expression of a check.")


class Scope(dict[str, Any]):
    """What the names of a check mean. A quantity is computed when it is first used."""

    def __init__(self, given: Mapping[str, Any], call: Callable[..., Any]) -> None:
        super().__init__(given)
        self.call = call  # a quantity by its name, with its arguments

    def __missing__(self, name: str) -> Any:
        return self.call(name)

    def value(self, tree: Tree) -> Any:
        """The value of an expression; None where it is missing."""
        match tree:
            case str():
                return self[tree]
            case ["text", text]:
                return text
            case ["if", condition, one, other]:
                return self.value(one if self.value(condition) else other)
            case ["and", *parts]:
                return all(self.value(one) for one in parts)
            case ["or", *parts]:
                return next(filter(None, map(self.value, parts[:-1])), None) or self.value(parts[-1])
            case ["not", one]:
                return not self.value(one)
            case ["for", name, many, condition, element]:
                items = self.value(many)
                scopes = (Scope({**self, name: one}, self.call) for one in (() if items is None else items))
                return [one.value(element) for one in scopes if one.value(condition)]
            case [name, *parts]:
                values = [self.value(one) for one in parts]
                if any(one is None for one in values):
                    return None
                return FUNCTIONS[name](*values) if name in FUNCTIONS else self.call(name, *values)
        return tree


def evaluate(lines: Lines, given: Mapping[str, Any], call: Callable[..., Any]) -> tuple[str, dict[str, Any]]:
    """The outcome of a check, and the values for its text.

    Args:
        lines: The check.
        given: The answer and the parameters by name.
        call: Computes a quantity by its name, with its arguments.

    Raises:
        ValueError: something that decides is missing in this run.
    """
    known, values = dict[str, Any](), dict[str, Any]()

    def once(name: str, *arguments: Any) -> Any:
        if arguments:
            return call(name, *arguments)
        if name not in known:
            known[name] = call(name)
        return known[name]

    scope = Scope(given, once)
    for name, expression in lines:
        value = scope.value(expression)
        scope |= {name: value}
        if not name.startswith("_"):
            values |= value if isinstance(value, Mapping) else {name: value}
    if (outcome := values.pop("outcome")) is None:
        raise ValueError("The check has no outcome for this run.")
    return outcome, {
        name: one.item() if isinstance(one, np.generic) else one for name, one in values.items() if one is not None
    }


def outcomes_of(lines: Lines) -> tuple[str, ...]:
    """All outcomes that a check can have."""
    known = dict(lines)

    def results(tree: Tree) -> Iterator[str]:
        match tree:
            case str() if tree in known:
                yield from results(known[tree])
            case ["text", text]:
                yield text
            case ["if", _, one, other]:
                yield from (*results(one), *results(other))
            case [name, *_]:
                yield from OUTCOMES.get(name, ())

    return tuple(dict.fromkeys(results("outcome")))


def names_in(text: str) -> tuple[set[str], set[str]]:
    """The names and functions that a check uses, and those of them that it does not define itself."""
    names = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)]
    used, own = ({one.id for one in names if isinstance(one.ctx, form)} for form in (ast.Load, ast.Store))
    return used, used - own
