"""Write `families.md`: which families of `transformers` open, measured on a small random model of each family.

    python -m tools.families                  # measure all families: about three minutes
    python -m tools.families Llama "Phi-3"    # measure these, and keep the other rows of the page

Each model is opened like any folder, run by Headlight, and compared with the library's own `eager` attention and its
`generate`.
"""

import argparse
import re
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from model.checkpoints.checkpoint import Checkpoint, CheckpointError, ClassifierCheckpoint
from model.config.section import ConfigError
from model.inference.run import UNTOUCHED
from model.inference.run import Run as ModelRun
from model.inference.translate import compute
from model.interventions import Head, Intervention
from tools.families_page import READ_ONLY, Row, mark, page, rows_on_page
from tools.family_analyses import ANALYSES
from tools.family_in_page import in_page
from tools.foreign_families import FAMILIES
from tools.library_run import TEXT, Run, open_pair, run
from tools.small_models import Family, make_family

__all__ = ["measure", "measure_maps"]

PAGE = Path(__file__).parent.parent / "docs" / "families.md"
SEEDS, FEWEST = 6, 5  # random models of one family; tokens of a text that proves something
PLAIN = {"do_sample": False, "num_beams": 1}  # greedy search, with all other settings of the folder


def measure(family: Family) -> Row:
    """Build a model of a family, open it, and compare it with the library's own."""
    with TemporaryDirectory() as place:
        try:
            folder, both = telling_run(family, Path(place))
        except CheckpointError as error:
            return refused(family, error, in_page=in_page(folder_of(Path(place), 0)))
        page = without_name(in_page(folder, both), family)
    return Row(
        title=family.title,
        task=family.task,
        difference=largest_difference(both),
        same_text=same_text(both),
        edit=edit_mark(both.pair.checkpoint),
        in_page=page,
        analyses={name: cell(analysis, both, family) for name, analysis in ANALYSES.items()},
    )


def telling_run(family: Family, place: Path) -> tuple[Path, Run]:
    """The first random model that writes a few tokens, and its run; without one, that with the longest text."""
    runs = []
    for seed in range(SEEDS):
        folder = folder_of(place, seed)
        runs.append((folder, run_of(family, folder, seed=seed)))
        if tells_much(runs[-1][1]):
            return runs[-1]
    return max(runs, key=lambda found: len(found[1].found.written))


def folder_of(place: Path, seed: int) -> Path:
    return place / str(seed) / "model"


def measure_maps(family: Family) -> Row:
    """As `measure`, only whether the family opens, and its maps in a text with few tokens."""
    try:
        with TemporaryDirectory() as place:
            both = run_of(family, folder_of(Path(place), 0), short=True)
    except CheckpointError as error:
        return refused(family, error)
    return Row(title=family.title, task=family.task, difference=largest_difference(both))


def refused(family: Family, error: CheckpointError, *, in_page: str = "") -> Row:
    refusal, page = without_name(str(error), family), without_name(in_page, family)
    return Row(title=family.title, task=family.task, refusal=refusal, in_page=page)


def run_of(family: Family, folder: Path, *, seed: int = 0, short: bool = False) -> Run:
    """The runs of a small random model that is written into a folder.

    Raises:
        CheckpointError: Headlight does not open it.
    """
    return run(open_pair(make_family(folder, family, seed=seed)), short=short)


def tells_much(both: Run) -> bool:
    """Whether a model that writes has written a few tokens. Some random models end at once."""
    found = both.found
    return found.read == () or len(found.written) >= FEWEST


def cell(analysis: Callable[[Run], float], both: Run, family: Family) -> str:
    """The difference of an analysis, or the reason why it is not offered."""
    try:
        return f"{analysis(both):.0e}"
    except ConfigError as error:
        return without_name(str(error), family)


def without_name(sentence: str, family: Family) -> str:
    """A sentence without the name of the folder and of the family, so that families share it."""
    sentence = re.sub(r"^model cannot be (shown|opened): ", "", sentence)
    sentence = re.sub(rf"\bof the family {re.escape(family.model_type)}(?![\w-])", "of this family", sentence)
    sentence = re.sub(r"\bmodel\b(?= (is|has|do|continues|reads|translates|was|uses))", "the model", sentence)
    sentence = sentence.replace("The the model", "The model").replace("the the model", "the model")
    return sentence[:1].upper() + sentence[1:]


def largest_difference(both: Run) -> float:
    """The largest difference of a weight from the library's."""
    return max(float(np.abs(both.found.maps[kind] - maps).max()) for kind, maps in both.library.maps.items())


@torch.inference_mode()
def same_text(both: Run) -> bool:
    """Whether both models write the same tokens, choose the same token for the mask, or the same class."""
    found, library = both.found, both.pair.library
    if not found.written:
        places = ((one.id, ... if one.position is None else one.position) for one in found.outcomes)
        return all(int(np.argmax(both.library.logits[place])) == own for own, place in places)
    written = [token.id for token in found.written]
    source = torch.tensor([[token.id for token in found.source]])
    if both.pair.task == "translation":
        expected = library.generate(source, max_new_tokens=len(written), **PLAIN)[0, 1:]
    else:
        prompt = torch.tensor([[token.id for token in found.read[: found.prompt_length + 1]]])
        expected = library.generate(prompt, max_new_tokens=len(written) - found.prompt_length, **PLAIN)[0, 1:]
    return bool(expected.tolist() == written)


def edit_mark(checkpoint: Checkpoint | ClassifierCheckpoint) -> str:
    """Whether an edit changes the output; in a read-only model, whether it raises an error instead."""
    if not checkpoint.model.read_only_reason:
        return mark(changed_by_edit(checkpoint))
    try:
        changed_by_edit(checkpoint)
    except ConfigError:
        return READ_ONLY
    return mark(False)


def changed_by_edit(checkpoint: Checkpoint | ClassifierCheckpoint) -> bool:
    """Whether the output changes when all heads of the first layer are silenced."""
    config = checkpoint.model.config
    silenced = Intervention(ablated=frozenset(Head(config.kinds[-1], 0, head) for head in range(config.num_heads)))
    before, after = (compute(checkpoint, ModelRun(text=TEXT, changes=changes)) for changes in (UNTOUCHED, silenced))
    return [one.logits for one in before.outcomes] != [one.logits for one in after.outcomes]


def main() -> None:
    parser = argparse.ArgumentParser(description="Write families.md.")
    parser.add_argument("titles", nargs="*", metavar="TITLE", help="measure these families (default: all)")
    titles = parser.parse_args().titles
    if unknown := set(titles) - {family.title for family in FAMILIES}:
        parser.error(f"{sorted(unknown)[0]!r} is not a title in tools/foreign_families.py.")
    kept = rows_on_page(PAGE.read_text(encoding="utf-8")) if titles else {}
    rows = []
    for family in FAMILIES:
        measured = family.title in titles or family.title not in kept
        rows.append(measure(family) if measured else kept[family.title])
        if measured:
            print(f"{family.title}: {rows[-1].summary}", flush=True)
    PAGE.write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
