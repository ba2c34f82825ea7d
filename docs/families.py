"""Write `families.md`: which families of `transformers` open, measured on a small random model of each family.

    python -m docs.families                  # measure all families: about ten minutes
    python -m docs.families Llama "Phi-3"    # measure these, and keep the other rows of the page

Each model is opened like any folder, run by Headlight, and compared with the library's own `eager` attention and its
`generate`.
"""

import argparse
import re
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray

from docs.foreign_families import FAMILIES
from docs.small_models import MASK, Family, make_family
from model.checkpoints.checkpoint import Checkpoint, CheckpointError, ClassifierCheckpoint
from model.foreign.architecture import architecture
from model.foreign.open import read_library_config
from model.inference.classify import classify
from model.inference.opening import open_checkpoint
from model.inference.translate import translate
from model.interventions import Head, Intervention

__all__ = ["Row", "measure", "page", "rows_on_page"]

PAGE = Path(__file__).with_suffix(".md")
TEXT = "The cat sat on the <mask>."
GREEDY_TEXT = "The text is compared with the greedy text of `generate`, token by token."
TASKS = {
    "translation": ("Models that translate or summarize", GREEDY_TEXT),
    "continuation": ("Language models", GREEDY_TEXT),
    "reading": ("Models that read a text", "The text is the most likely token for a masked position."),
    "classification": ("Classifiers", "The text is the class."),
}
# Some families set these options of `generate`. Our searches do not have them.
PLAIN = {"do_sample": False, "num_beams": 1, "forced_eos_token_id": None, "min_length": 0}
PLAIN |= {"no_repeat_ngram_size": 0, "encoder_no_repeat_ngram_size": 0}
INTRODUCTION = """# Which families open

A folder of Hugging Face's `transformers` opens without extra code if every layer computes attention through the
function that most models of the library share. The command `python -m docs.families` writes this page. It builds a
small random model of each family and variant from the library's own classes, opens its folder, and compares.

- **Maps**: the largest difference between any weight that Headlight shows and the library's `eager` attention.
- **Text**: whether both write the same text.
- **Edit**: whether the output changes when all heads of the first layer are silenced.

Chat models open like any other language model. Headlight does not apply their chat template: write the marks of the
conversation into the text.
"""


@dataclass(frozen=True, kw_only=True)
class Row:
    """The result for one family."""

    title: str
    task: str
    difference: float = 0.0  # of the maps
    same_text: bool = False
    edit_changes: bool = False
    refusal: str = ""  # why the family does not open


def measure(family: Family, *, seed: int = 0) -> Row:
    """Build a model of a family, open it, and compare it with the library's own."""
    with TemporaryDirectory() as place:
        folder = make_family(Path(place) / "model", family, seed=seed)
        try:
            checkpoint = open_checkpoint(folder)
        except CheckpointError as error:
            return Row(title=family.title, task=family.task, refusal=without_name(str(error)))
        kind: Any = architecture(read_library_config(folder), folder.name)[1]
        library = kind.from_pretrained(folder, attn_implementation="eager").eval()
        compare = compare_class if isinstance(checkpoint, ClassifierCheckpoint) else compare_text
        with torch.inference_mode():
            difference, same = compare(checkpoint, library)  # type: ignore[operator]
        return Row(
            title=family.title,
            task=family.task,
            difference=difference,
            same_text=same,
            edit_changes=changed_by_edit(checkpoint),
        )


def without_name(sentence: str) -> str:
    """The sentence of a refusal without the name of the folder."""
    reason = sentence.removeprefix("model cannot be shown: ").removeprefix("model cannot be opened: ")
    return reason[0].upper() + reason[1:]


def compare_text(checkpoint: Checkpoint, library: Any) -> tuple[float, bool]:
    """The largest difference between the maps, and whether the text is the same."""
    found = translate(checkpoint, TEXT)
    source, read, written = (ids(tokens) for tokens in (found.source, found.read, found.written))
    if checkpoint.config.task == "reading":
        out = library(input_ids=source, output_attentions=True)
        place = source[0].tolist().index(MASK)
        same = out.logits[0, place].argmax().item() == found.source[place].candidates[0].id
        return largest_difference(found.maps["encoder"], out.attentions), bool(same)
    if checkpoint.config.task == "continuation":
        prompt = read[:, : found.prompt_length + 1]
        expected = library.generate(prompt, max_new_tokens=40, **PLAIN)[0, 1:]
        out = library(input_ids=read, output_attentions=True, use_cache=False)
        return largest_difference(found.maps["decoder"], out.attentions), expected.tolist() == written[0].tolist()
    expected = library.generate(source, max_new_tokens=len(found.written), **PLAIN)[0, 1:]
    out = library(input_ids=source, decoder_input_ids=read, output_attentions=True, use_cache=False)
    kinds = (("encoder", out.encoder_attentions), ("decoder", out.decoder_attentions), ("cross", out.cross_attentions))
    return max(largest_difference(found.maps[kind], maps) for kind, maps in kinds), expected.tolist() == written[
        0
    ].tolist()


def compare_class(checkpoint: ClassifierCheckpoint, library: Any) -> tuple[float, bool]:
    """The largest difference between the maps, and whether the class is the same."""
    found, pair = classify(checkpoint, TEXT), checkpoint.tokenizers
    tokens = [*pair.specials.before, *pair.source.encode(TEXT).ids, *pair.specials.after]
    out = library(input_ids=torch.tensor([tokens]), output_attentions=True)
    return largest_difference(found.encoder, out.attentions), library.config.id2label[
        int(out.logits.argmax())
    ] == found.label


def ids(tokens: Any) -> torch.Tensor:
    return torch.tensor([[token.id for token in tokens]], dtype=torch.long)


def largest_difference(ours: NDArray[np.float32], theirs: Any) -> float:
    return float(np.abs(ours - torch.cat(tuple(theirs)).float().numpy()).max())


def changed_by_edit(checkpoint: Checkpoint | ClassifierCheckpoint) -> bool:
    """Whether the output changes when all heads of the first layer are silenced."""
    config = checkpoint.model.config
    kind = config.kinds[-1] if isinstance(checkpoint, Checkpoint) else "encoder"
    edits = Intervention(ablated=frozenset(Head(kind, 0, head) for head in range(config.num_heads))).edits()
    if isinstance(checkpoint, ClassifierCheckpoint):
        before, after = (classify(checkpoint, TEXT, edits=edit).probabilities for edit in (None, edits))
        return before != after
    results = []
    for edit in (None, edits):
        found = translate(checkpoint, TEXT, edits=edit)
        guesses = [candidate.probability for token in found.source for candidate in token.candidates]
        results.append((guesses, [token.probability for token in found.written]))
    return results[0] != results[1]


def page(rows: list[Row]) -> str:
    """The page in Markdown."""
    opened = [row for row in rows if not row.refusal]
    parts = [INTRODUCTION, f"{len(opened)} of {len(rows)} models open, with transformers {transformers.__version__}.\n"]
    for task, (title, text) in TASKS.items():
        parts.append(f"## {title}\n\n{text}\n\n| Family | Maps | Text | Edit |\n|---|---|---|---|")
        parts += [line_of(row) for row in opened if row.task == task]
        parts.append("")
    parts.append("## Families that do not open\n\n| Family | Reason |\n|---|---|")
    parts += [f"| {row.title} | {row.refusal.replace('|', ' ')} |" for row in rows if row.refusal]
    return "\n".join(parts) + "\n"


def line_of(row: Row) -> str:
    yes = {True: "the same", False: "**differs**"}[row.same_text]
    return f"| {row.title} | {row.difference:.0e} | {yes} | {'changes' if row.edit_changes else '**nothing**'} |"


def rows_on_page(text: str) -> dict[str, Row]:
    """Title → row of a page in Markdown; nothing if it was measured with another version of `transformers`."""
    if f"with transformers {transformers.__version__}." not in text:
        return {}
    opened, _, refused = text.partition("## Families that do not open")
    cells = {title: rest.split(" | ") for title, rest in re.findall(r"^\| (.+?) \| (.+) \|$", opened, flags=re.M)}
    reasons = dict(re.findall(r"^\| (.+?) \| (.+) \|$", refused, flags=re.M))
    rows = {}
    for family in FAMILIES:
        if found := cells.get(family.title):
            rows[family.title] = Row(
                title=family.title,
                task=family.task,
                difference=float(found[0]),
                same_text=found[1] == "the same",
                edit_changes=found[2] == "changes",
            )
        elif reason := reasons.get(family.title):
            rows[family.title] = Row(title=family.title, task=family.task, refusal=reason)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="Write families.md.")
    parser.add_argument("titles", nargs="*", metavar="TITLE", help="measure these families (default: all)")
    titles = parser.parse_args().titles
    if unknown := set(titles) - {family.title for family in FAMILIES}:
        parser.error(f"{sorted(unknown)[0]!r} is not a title in docs/foreign_families.py.")
    kept = rows_on_page(PAGE.read_text(encoding="utf-8")) if titles else {}
    rows = []
    for family in FAMILIES:
        measured = family.title in titles or family.title not in kept
        rows.append(measure(family) if measured else kept[family.title])
        if measured:
            print(rows[-1].refusal or line_of(rows[-1]), flush=True)
    PAGE.write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
