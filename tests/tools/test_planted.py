"""The planted models: each answers its task, and its truth names the heads that matter and no others."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.analysis.followed import follow
from model.analysis.importance import gradient_importance
from model.analysis.silencing import decisive_heads, silence_each_head
from model.inference.opening import AnyCheckpoint, open_checkpoint
from model.inference.passes import batch_logits, encode_texts, pad_ids
from model.inference.run import Run
from model.interventions import Head, Intervention
from model.trace import hook_name, tracing
from tests.conftest import ROOT
from tools.planted import MODELS, Truth, read_truth, write_folder
from tools.planted.compiler import empty
from tools.planted.parts import Plan
from tools.planted.siit import TRAINED, SwappedTexts, interchange_accuracy, losses_of, program_of, trained_model
from tools.planted.truth import keys_and_queries

TEXTS = 200


@dataclass(frozen=True, kw_only=True)
class Planted:
    """A model, random texts of its task, and what it predicts for them with the right words before."""

    plan: Plan
    truth: Truth
    checkpoint: AnyCheckpoint
    texts: list[list[str]]
    written: list[str]  # by greedy search, of a translator
    run: Callable[..., tuple[Tensor, dict[str, Tensor]]]  # silenced heads → outcomes (N,), and recorded weights
    outcomes: Tensor  # of the unchanged model


def opened(name: str, folder: Path) -> Planted:
    plan, truth = MODELS[name], write_folder(name, folder)
    checkpoint, draws = open_checkpoint(folder), Random(1)
    texts = [plan.draw(draws) for _ in range(TEXTS)]
    encoded = encode_texts(checkpoint, [" ".join(text) for text in texts])
    ids = pad_ids(checkpoint.model, encoded.source, encoded.read)
    chosen = ids.read_real.clone() if plan.task != "classification" else torch.ones(TEXTS, 1, dtype=torch.bool)
    if plan.task == "continuation":  # only the word after the text
        chosen &= torch.arange(chosen.size(1)) == chosen.sum(dim=1, keepdim=True) - 1

    @torch.inference_mode()
    def run(silenced: Collection[Head] = (), record: Sequence[str] = ()) -> tuple[Tensor, dict[str, Tensor]]:
        with tracing(record=record, edits=Intervention(ablated=frozenset(silenced)).edits()) as trace:
            logits = batch_logits(checkpoint.model, ids)
        assert logits is not None
        return logits.argmax(dim=-1)[chosen], {name: trace.passes(name)[0] for name in trace.names}

    written = [checkpoint.tokenizers.target.decode(one) for one in encoded.written]
    return Planted(
        plan=plan, truth=truth, checkpoint=checkpoint, texts=texts, written=written, run=run, outcomes=run()[0]
    )


@pytest.fixture(scope="module")
def planted_by_name(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Planted]:
    @cache
    def planted(name: str) -> Planted:
        return opened(name, tmp_path_factory.mktemp("planted") / name)

    return planted


@pytest.fixture(params=MODELS)
def planted(request: pytest.FixtureRequest, planted_by_name: Callable[[str], Planted]) -> Planted:
    return planted_by_name(request.param)


def changed(one: Planted, silenced: Collection[Head]) -> int:
    """How many outcomes are other ones without these heads."""
    return int((one.run(silenced)[0] != one.outcomes).sum())


def test_each_model_answers_its_task_on_random_texts(planted: Planted) -> None:
    plan, outcomes = planted.plan, planted.outcomes.tolist()
    answers = [plan.answer(text) for text in planted.texts]
    if plan.task == "translation":
        assert planted.written == [" ".join(answer) for answer in answers]
    elif plan.task == "continuation":
        tokenizer = planted.checkpoint.tokenizers.target
        assert list(tokenizer.tokens(outcomes)) == [answer[0] for answer in answers]
    else:
        assert [plan.writes[label] for label in outcomes] == [answer[0] for answer in answers]


def test_only_the_heads_of_the_truth_change_outcomes(planted: Planted) -> None:
    truth, most = planted.truth, TEXTS // 100 if planted.plan.trained else 0
    assert changed(planted, truth.others) <= most, "all distractors together"
    for head in (*truth.others, *(one.head for one in truth.heads if not one.alone)):
        assert changed(planted, [head]) <= most, head
    for cut in truth.cuts:
        assert changed(planted, cut) > TEXTS / 10, cut


# The training says what a head does, not how sharply it looks.
@pytest.mark.parametrize("planted", [name for name in MODELS if not name.endswith("-trained")], indirect=True)
def test_the_heads_of_the_truth_look_where_it_says(planted: Planted) -> None:
    weights = planted.run(record=("*.weights",))[1]
    for head in planted.plan.heads:
        place = head.place
        maps = weights[hook_name(place.kind, place.layer, "weights")][:, place.head].numpy()  # (N, T, S)
        for map_, text in zip(maps, planted.texts, strict=True):
            queries, keys = keys_and_queries(planted.plan, place.kind, text)
            for i in range(len(queries)):
                named = list(head.pattern(queries, keys, i))
                assert np.all(np.abs(map_[i, named] * len(named) - 1) < 0.05), (place, text, i)


def test_silencing_of_the_app_finds_the_heads_that_matter_alone(planted: Planted) -> None:
    """In a text or in its donor, because a head that finds a word has nothing to do where the word is missing."""
    truth, found = planted.truth, set[Head]()
    examples = truth.examples if planted.plan.trained else truth.examples[:1]
    for text in [text for one in examples for text in (one.text, one.donor)]:
        effects = silence_each_head(follow(planted.checkpoint, Run(text=text)))
        found |= set(where(effects.positions, lambda grid: grid >= 0))
    alone = {one.head for one in truth.heads if one.alone}
    assert found == alone or (planted.plan.trained and found and found < alone)  # not in each of these texts


def where(
    grids: Mapping[str, NDArray[np.int64]], holds: Callable[[NDArray[np.int64]], NDArray[np.bool_]]
) -> Iterable[Head]:
    return (Head(kind, *map(int, cell)) for kind, grid in grids.items() for cell in np.argwhere(holds(grid)))


@pytest.mark.parametrize("name", TRAINED)
def test_a_trained_model_does_what_its_program_does_with_swapped_parts(name: str) -> None:
    plan, _ = TRAINED[name]
    accuracy = interchange_accuracy(SwappedTexts(plan, texts=500, seed=2), trained_model(plan), 300)
    assert accuracy[0] == 1.0, "unchanged"
    assert min(accuracy[1:]) > 0.99, "parts of the plan swapped, and others swapped"


def test_the_program_itself_has_no_loss_and_an_untrained_model_has_all_three() -> None:
    plan, _ = TRAINED["previous-word-trained"]
    torch.manual_seed(0)
    texts = SwappedTexts(plan, texts=200)
    program, untrained = (losses_of(texts, model) for model in (program_of(plan), empty(plan)))
    for one in ("behaviour", "interchange", "strict"):
        assert getattr(program, one) < 0.5 < getattr(untrained, one), one


def test_the_examples_and_donors_have_different_answers(planted: Planted) -> None:
    assert len(planted.truth.examples) == 4
    for one in planted.truth.examples:
        text, donor = one.text.split(), one.donor.split()
        assert one.answer == " ".join(planted.plan.answer(text)) != one.donor_answer
        assert one.donor_answer == " ".join(planted.plan.answer(donor))
        assert [i for i in range(len(text)) if text[i] != donor[i]] == list(one.positions) != []


def test_a_truth_is_read_as_it_was_written(planted: Planted) -> None:
    assert read_truth(planted.checkpoint.path) == planted.truth


def test_the_page_describes_each_model() -> None:
    page, *_ = (ROOT / "docs" / "truth.md").read_text(encoding="utf-8").split("## Grades of our analyses")
    described = dict(re.findall(r"^\| `([\w-]+)` \| (.+?) \|", page, flags=re.MULTILINE))
    assert {name: described.get(name) for name in MODELS} == {name: plan.sentence for name, plan in MODELS.items()}


def edges(truth: Truth) -> set[tuple[str, str, str]]:
    return {(edge.sender, edge.receiver, edge.side) for edge in truth.edges}


def test_the_edges_of_the_induction_head_are_those_of_the_literature(planted_by_name: Callable[[str], Planted]) -> None:
    """Its keys come from the previous-word head (Elhage et al. 2021, "A Mathematical Framework")."""
    assert edges(planted_by_name("induction").truth) == {
        ("decoder.positions", "decoder.0.2", "query"),
        ("decoder.positions", "decoder.0.2", "key"),
        ("decoder.tokens", "decoder.0.2", "value"),
        ("decoder.tokens", "decoder.1.1", "query"),
        ("decoder.tokens", "decoder.1.1", "key"),  # of the beginning, where it rests
        ("decoder.0.2", "decoder.1.1", "key"),
        ("decoder.tokens", "decoder.1.1", "value"),
        ("decoder.1.1", "output", ""),
    }


def test_a_head_that_writes_nothing_has_no_edge(planted_by_name: Callable[[str], Planted]) -> None:
    assert not [edge for edge in edges(planted_by_name("idle-head").truth) if "decoder.0.3" in edge]


def test_the_backup_head_works_only_without_the_first_one(planted_by_name: Callable[[str], Planted]) -> None:
    one = planted_by_name("backup")
    first, backup = (head.head for head in one.truth.heads)
    name = hook_name("decoder", backup.layer, "weights")
    at_rest, at_work = (one.run(silenced, (name,))[1][name][:, backup.head, 2, :2] for silenced in ((), (first,)))
    assert at_rest[:, 0].min() > 0.95  # at the beginning
    assert at_work[:, 1].min() > 0.95  # at the word before


def test_a_gradient_does_not_see_the_saturated_head(planted_by_name: Callable[[str], Planted]) -> None:
    def gradient(name: str) -> float:
        one = planted_by_name(name)
        text = next(" ".join(text) for text in one.texts if one.plan.answer(text) == ["yes"])
        head = one.truth.heads[0].head
        return float(gradient_importance(one.checkpoint, [(text, "")])[head.kind][0, head.layer, head.head])

    assert gradient("saturated") < gradient("contains") / 50


def test_the_search_finds_a_smallest_set_of_heads_or_none_where_none_decides(
    planted_by_name: Callable[[str], Planted],
) -> None:
    one = planted_by_name("either-head")
    found, none = (decisive_heads(follow(one.checkpoint, Run(text=text))) for text in ("pink gold grey", "pink grey"))
    assert (found, none) == (frozenset(one.truth.cuts[0]), frozenset())
