"""How much a class has learned: the gain between the two rounds of the questions, with its effect size.

    PYTHONPATH=. python benchmarks/learning_gain.py class-questions.csv [questions.csv …] [--seed 0]

Reads tables that the page Lessons saves: one row for each id, round, question and answer. Only students with both
rounds count. A question without an answer is not right. Prints, for each question and in total:

- the share of right answers before and after, and the gain, which is their difference;
- the normalized gain: the gain as a share of the largest possible one, (after - before) / (1 - before), with the means
  of the class (Hake 1998, "Interactive-engagement versus traditional methods", equation 1);
- in total also the effect size of the paired differences: their mean by their standard deviation, d_z (Lakens 2013,
  "Calculating and reporting effect sizes", equation 6), and without the bias of small samples, g_z = J d_z with
  J = Γ(m/2) / (√(m/2) Γ((m-1)/2)) and m = n - 1 (Hedges 1981, "Distribution theory for Glass's estimator").

The intervals contain 95 % of the values in samples of the students with replacement (percentile bootstrap). A gain
without a control class contains everything that happened between the rounds.
"""

import argparse
import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from viz_app.content.catalogues import ENGLISH
from viz_app.course.quiz import ROUNDS, questions

__all__ = ["Interval", "Paired", "TableError", "effect_size", "interval", "normalized_gain", "paired", "read_tables"]

COLUMNS = ["id", "round", "question", "answer"]
LARGEST = 20_000_000  # bytes of a file
SAMPLES = 10_000
LEVEL = 0.95
Floats = NDArray[np.float64]
KNOWN = {one.name: one for one in questions(ENGLISH)}


class TableError(ValueError):
    """A file is not a table of answers. The message names the file, the value and the remedy."""


@dataclass(frozen=True, kw_only=True)
class Paired:
    """Students with both rounds, (N, Q): whether each answer was right, 0 or 1."""

    before: Floats
    after: Floats
    alone: int  # students with one round only


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A figure of the class and its bootstrap interval; NaN where it is not defined."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:6.2f}  [{self.low:.2f}, {self.high:.2f}]"


def read_tables(paths: Sequence[Path]) -> pd.DataFrame:
    """All rows of several tables. The same row in two tables counts once.

    Raises:
        TableError: a file cannot be read, or holds something else.
    """
    rows = pd.concat([read_table(path) for path in paths]).drop_duplicates()
    twice = rows[rows.duplicated(["id", "round", "question"])]
    if len(twice):
        one = twice.iloc[0]
        raise TableError(
            f"The tables have two answers of {one['id']} to “{one['question']}” {one['round']} the lessons. Give each "
            "class only once."
        )
    return rows


def read_table(path: Path) -> pd.DataFrame:
    try:
        if path.stat().st_size > LARGEST:
            raise TableError(f"{path} is larger than {LARGEST // 1_000_000} MB, so it is no table of answers.")
        table = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    except OSError as error:
        raise TableError(f"{path} cannot be read: {error.strerror}.") from None
    except (UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError, csv.Error):
        raise TableError(f"{path} is no table (CSV in UTF-8). Save it again on the page Lessons.") from None
    if missing := [name for name in COLUMNS if name not in table.columns]:
        raise TableError(f"{path} has no column {', '.join(missing)}. Save it again on the page Lessons.")
    table = table[COLUMNS]
    check_values(path, table)
    return table


def check_values(path: Path, table: pd.DataFrame) -> None:
    for row, (name, one, question, answer) in enumerate(table.itertuples(index=False), start=2):
        if not name:
            raise TableError(f"{path}, line {row}: the id is missing.")
        if one not in ROUNDS:
            raise TableError(f"{path}, line {row}: the round is “{one}”. It must be {' or '.join(ROUNDS)}.")
        if question not in KNOWN:
            raise TableError(f"{path}, line {row}: there is no question “{question}” in this version of Headlight.")
        if answer and answer not in KNOWN[question].options:
            raise TableError(f"{path}, line {row}: the question “{question}” has no option “{answer}”.")


def paired(table: pd.DataFrame) -> Paired:
    """Whether each answer was right, for the students with both rounds.

    Args:
        table: As `read_tables` returns it.
    """
    right = table["answer"] == table["question"].map({name: one.right for name, one in KNOWN.items()})
    wide = table.assign(right=right.astype(float)).pivot(index=["id", "round"], columns="question", values="right")
    wide = wide.reindex(columns=list(KNOWN)).fillna(0.0)
    rounds = {one: wide.xs(one, level="round") if one in wide.index.unique("round") else wide[:0] for one in ROUNDS}
    both = sorted(set.intersection(*({*ids(table, one)} for one in ROUNDS)))
    everybody = set(table["id"])
    if not both:
        return Paired(before=np.zeros((0, len(KNOWN))), after=np.zeros((0, len(KNOWN))), alone=len(everybody))
    before, after = (rounds[one].loc[both].to_numpy() for one in ROUNDS)
    return Paired(before=before, after=after, alone=len(everybody) - len(both))


def ids(table: pd.DataFrame, round_name: str) -> list[str]:
    return list(table.loc[table["round"] == round_name, "id"].unique())


def normalized_gain(before: Floats, after: Floats) -> Floats:
    """(after - before) / (1 - before) for means from 0 to 1; NaN where everything was right before."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(before < 1, (after - before) / (1 - before), np.nan)


def effect_size(differences: Floats) -> Floats:
    """d_z along the last axis: the mean of paired differences by their standard deviation.

    Args:
        differences: Of each student, (…, N). NaN where all are equal.
    """
    spread = differences.std(axis=-1, ddof=1)
    equal = np.ptp(differences, axis=-1) == 0  # rounding may leave a tiny spread
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(equal, np.nan, differences.mean(axis=-1) / spread)


def correction(n: int) -> float:
    """Hedges' J for n pairs, at least 3."""
    m = n - 1
    return math.exp(math.lgamma(m / 2) - math.lgamma((m - 1) / 2)) / math.sqrt(m / 2)


def interval(value: Floats, samples: Floats) -> Interval:
    """A figure with the interval of its samples. Samples in which it is not defined are left out."""
    defined = samples[np.isfinite(samples)]
    low, high = np.quantile(defined, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]) if len(defined) else (np.nan, np.nan)
    return Interval(value=float(value), low=float(low), high=float(high))


def totals(rounds: Paired, *, seed: int) -> dict[str, Interval]:
    """The figures of the whole class: means of the share of right answers, gains and effect sizes."""
    before, after = rounds.before.mean(axis=1), rounds.after.mean(axis=1)  # (N,)
    n = len(before)
    drawn = np.random.default_rng(seed).integers(n, size=(SAMPLES, n))
    means = [(one.mean(), one[drawn].mean(axis=1)) for one in (before, after, after - before)]
    normalized = normalized_gain(before.mean(), after.mean()), normalized_gain(means[0][1], means[1][1])
    size = effect_size(after - before), effect_size((after - before)[drawn])
    figures = dict(zip(("before", "after", "gain"), means, strict=True)) | {"normalized gain": normalized, "d_z": size}
    if n >= 3:
        figures["g_z"] = (size[0] * correction(n), size[1] * correction(n))
    return {name: interval(value, samples) for name, (value, samples) in figures.items()}


def by_question(rounds: Paired) -> pd.DataFrame:
    """One row for each question: the shares of right answers, the gains, and how many students changed."""
    before, after = rounds.before.mean(axis=0), rounds.after.mean(axis=0)  # (Q,)
    return pd.DataFrame(
        {
            "before": before,
            "after": after,
            "gain": after - before,
            "normalized": normalized_gain(before, after),
            "learned": (rounds.after > rounds.before).sum(axis=0),
            "lost": (rounds.after < rounds.before).sum(axis=0),
        },
        index=pd.Index(list(KNOWN), name="question"),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="+", type=Path, metavar="TABLE.csv")
    parser.add_argument("--seed", type=int, default=0, help="of the bootstrap")
    given = parser.parse_args()
    try:
        rounds = paired(read_tables(given.tables))
    except TableError as error:
        parser.exit(1, f"{error}\n")
    n = len(rounds.before)
    if n < 2:
        parser.exit(1, f"Students with both rounds: {n}. At least 2 are needed. With one round only: {rounds.alone}.\n")
    print(f"Students with both rounds: {n}. With one round only, not counted: {rounds.alone}.\n")
    print(by_question(rounds).to_string(float_format="{:.2f}".format, na_rep="–"))
    print(f"\nTotal, with the {LEVEL:.0%} interval:")
    for name, figure in totals(rounds, seed=given.seed).items():
        print(f"  {name:16} {figure}")


if __name__ == "__main__":
    main()
