import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from model.analysis.anatomy import anatomy
from model.analysis.contributions import contributions
from model.analysis.followed import Followed
from model.analysis.importance import all_heads, importance_of_each_head
from model.analysis.influence import influence
from model.analysis.learning import list_snapshots, run_snapshot
from model.analysis.lens import logit_lens
from model.analysis.mask_bugs import bug_weights, mask_bug
from model.analysis.padded_batch import layer_stages, padded_batch
from model.analysis.positions import encoder_input
from model.analysis.silencing import decisive_heads
from model.analysis.stations import way_of_token
from model.analysis.zeroing import value_zeroing
from model.checkpoints.checkpoint import Checkpoint
from model.config.search import SearchConfig
from model.inference import passes
from model.inference.export import count_weights
from model.inference.run import Result, Run
from model.inference.translate import compute, translate_together
from model.interventions import Head, Intervention
from viz_app.sections.translate import downloads
from viz_app.server import server_state
from viz_app.server.server_state import Cache, size_of
from viz_app.services import analyses, listing, models
from viz_app.services.analyses import Analysis, analysis_of, batch_of
from viz_app.services.listing import CheckpointKey

LONG = "A brown dog is running through the deep white snow near a small house. " * 40
BATCH = tuple(LONG[i : i + 400] for i in range(4))  # as long as the page of masks takes them


@pytest.fixture
def key() -> CheckpointKey:
    return next(listed.key for listed in listing.listed_checkpoints() if listed.key.name == "multi30k-en-de")


def test_no_result_of_the_longest_text_takes_a_large_part_of_the_memory(key: CheckpointKey) -> None:
    sizes = {
        "translation": size_of(models.result_of(key, Run(text=LONG))),
        "anatomy": size_of(analysis_of(anatomy, key, Run(text=LONG), "encoder", 0)),
        "encoder input": size_of(analysis_of(encoder_input, key, Run(text=LONG))),
        "batch": size_of(analysis_of(padded_batch, key, BATCH)),
        "stages": size_of(analysis_of(layer_stages, key, Analysis.of(padded_batch, key, BATCH), "encoder", 0, 0)),
        "bug": size_of(analysis_of(mask_bug, key, BATCH, "fill")),
        "bug weights": size_of(
            analysis_of(bug_weights, key, Analysis.of(padded_batch, key, BATCH), "fill", "encoder", 0, 0)
        ),
    }
    megabytes = {name: size / 1e6 for name, size in sizes.items()}
    assert megabytes["translation"] < 24, megabytes  # it is kept
    assert max(size for name, size in megabytes.items() if name != "translation") < 6, megabytes


def test_a_batch_takes_the_translations_of_its_texts_and_searches_none_again(
    key: CheckpointKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ("A brown dog runs.", "Two girls with a red ball are singing near the river.")
    searched = padded_batch(models.loaded(key), texts)
    monkeypatch.setattr(passes, "greedy_ids", None)
    batch = batch_of(key, texts).answer()
    np.testing.assert_array_equal(batch.read_ids, searched.read_ids)
    assert (batch.source, batch.written) == (searched.source, searched.written)
    for kind, masks in searched.allowed.items():
        np.testing.assert_array_equal(batch.allowed[kind], masks)


def test_shared_results_are_read_only(key: CheckpointKey) -> None:
    translation = models.result_of(key, Run(text="A dog runs."))
    parts = analysis_of(anatomy, key, Run(text="A dog runs."), "cross", 0)
    assert parts.mixing is not None
    for array in (
        translation.maps["cross"],
        parts.weights,
        parts.mixing.projection,
        analyses.position_table(key),
        analyses.sinusoids(8, 16, 100.0),
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_an_analysis_follows_the_displayed_translation_of_any_search(key: CheckpointKey) -> None:
    text, search = "Two dogs are playing in the snow.", SearchConfig(method="sample", temperature=1.5, seed=4)
    forced = ((0, models.result_of(key, Run(text=text)).written[1].id),)
    run = Run(text=text, search=search, forced=forced)
    shown = models.result_of(key, run)
    assert shown.text != models.result_of(key, Run(text=text)).text
    written = [token.probability for token in shown.written]
    parts = analysis_of(anatomy, key, run, "cross", 1)
    np.testing.assert_allclose(parts.weights, shown.maps["cross"][1], atol=1e-5)
    lens = analysis_of(logit_lens, key, run)
    np.testing.assert_allclose(lens.own[-1], written, atol=1e-5)
    last, place = models.config_of(key).model.num_layers("decoder") - 1, 2
    _, end = analysis_of(way_of_token, key, run, "decoder", last, place)
    assert end is not None
    assert end.words[0][2] == pytest.approx(shown.written[place].candidates[0].probability, abs=1e-5)
    rival = shown.written[place].candidates[-1]
    own = shown.written[place]
    parts_of_word = analysis_of(contributions, key, run, place, rival.id)
    assert parts_of_word.difference == pytest.approx(math.log(own.probability / rival.probability), abs=1e-3)


@pytest.mark.parametrize("changed", [False, True])
@pytest.mark.parametrize("name", ["everyday-de-en", "tiny-gpt-en", "tiny-bert-en", "imdb-sentiment"])
def test_each_analysis_serves_every_task_and_follows_the_changes_of_a_run(name: str, changed: bool) -> None:
    key = next(listed.key for listed in listing.listed_checkpoints() if listed.key.name == name)
    model = models.loaded(key).model
    text = "The cat sat on the [MASK]." if name == "tiny-bert-en" else "Ein Hund schläft."
    kind = model.config.kinds[0]
    run = Run(text=text, changes=Intervention(ablated=frozenset({Head(kind, 0, 0)} if changed else ())))
    found = models.result_of(key, run)
    outcome = next(one for one in found.outcomes if (one.position or 0) >= found.prompt_length)
    stack, place = outcome.stack, outcome.position or 0
    assert analysis_of(logit_lens, key, run).difference < 1e-4
    assert analysis_of(influence, key, run).agrees
    rival = next(one.id for one in outcome.candidates if one.id != outcome.id)
    assert analysis_of(contributions, key, run, place, rival).agrees
    path, end = analysis_of(way_of_token, key, run, stack, len(model.stack(stack).streams) - 2, place)
    same = analysis_of(value_zeroing, key, run).residual < 1e-3
    assert (max(station.difference for station in path) < 1e-3 and same) is not changed
    assert end is not None
    assert end.difference < 1e-4


def tokens_read(text: Followed, first: int = 0) -> list[int]:
    return [*text.ids("encoder")[first:]]


def tokens_and_layers(checkpoint: Checkpoint, tokens: list[int]) -> tuple[int, int]:
    return len(tokens), checkpoint.model.config.num_layers("encoder")


def test_a_new_analysis_needs_no_function_of_its_own(key: CheckpointKey) -> None:
    run = Run(text="A dog runs.")
    source = [token.id for token in models.result_of(key, run).source]
    assert analysis_of(tokens_read, key, run) == source
    assert analysis_of(tokens_read, key, run, 0) is analysis_of(tokens_read, key, run), "it is kept"
    assert analysis_of(tokens_and_layers, key, Analysis.of(tokens_read, key, run, 1)) == (len(source) - 1, 3)


def test_all_bundled_checkpoints_stay_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "MODELS", Cache(capacity=server_state.MODELS_SHARE, size=models.model_bytes))
    found = [listed.key for listed in listing.listed_checkpoints() if listed.config is not None]
    opened = [models.loaded(key).model for key in found]
    assert len(found) >= 6
    assert all(models.loaded(key).model is model for key, model in zip(found, opened, strict=True))
    assert models.MODELS.size < 300e6


def test_a_snapshot_shares_the_tokenizers_of_its_model_in_the_count_of_memory(
    key: CheckpointKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "MODELS", Cache(capacity=server_state.MODELS_SHARE, size=models.model_bytes))
    trained = models.translator(key)
    before = models.MODELS.size
    first, *_ = list_snapshots(trained.path)
    snapshot = models.snapshot(key, first)
    assert snapshot.tokenizers is trained.tokenizers
    assert models.snapshot(key, first).model is snapshot.model
    weights = sum(parameter.nbytes for parameter in snapshot.model.parameters())
    assert weights <= models.MODELS.size - before < weights + 2e6


def test_a_text_is_cut_before_anything_is_done_with_it(key: CheckpointKey) -> None:
    beyond = "dog " * (models.MAX_CHARACTERS // 4)
    assert models.result_of(key, Run(text=beyond)) is models.result_of(key, Run(text=beyond + "cat"))


def test_a_table_of_a_long_text_is_refused_with_a_remedy(key: CheckpointKey) -> None:
    short, long = models.result_of(key, Run(text="A dog runs.")), models.result_of(key, Run(text=LONG))
    assert downloads.too_long_for_a_table(short) == ""
    assert downloads.map_file("csv", key, Run(text="A dog runs.")).count(b"\n") == count_weights(short) + 1
    assert f"{count_weights(long):,} weights" in downloads.too_long_for_a_table(long)


def test_heads_are_measured_once_for_all_visitors(toy: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = (("the dog runs .", ""), ("the cat sees a house .", ""))
    key = CheckpointKey(path=toy.name, version="1")
    asked: list[CheckpointKey] = []

    def loaded(key: CheckpointKey) -> Checkpoint:
        asked.append(key)
        return toy

    monkeypatch.setattr(analyses, "loaded", loaded)
    assert Analysis.of(importance_of_each_head, key, pairs).known() is None
    reports: list[tuple[int, int]] = []
    for _ in range(2):
        _, work = Analysis.of(importance_of_each_head, key, pairs).work()
        work(lambda done, steps: reports.append((done, steps)))
    found = Analysis.of(importance_of_each_head, key, pairs).known()
    assert found is not None
    assert found["cross"].shape == (2, 1, 4)
    assert np.abs(found["cross"]).max() > 0
    assert len(asked) == 1
    heads = len(all_heads(toy.model))
    assert reports[-1] == (heads, heads)
    assert [done for done, _ in reports] == [0, 0, *range(heads + 1)]  # examples, their loss, and each head once


def test_snapshots_run_one_after_the_other_and_others_may_run_in_between(
    key: CheckpointKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, steps = "A dog runs on the beach.", list(list_snapshots(Path(key.path)))[:3]
    events: list[object] = []
    monkeypatch.setattr(server_state.GATE, "give_way", lambda: events.append("others"))
    found = analyses.snapshots_work(key, text, steps)[1](lambda *done: events.append(done))
    assert [event for event in events if event != "others"] == [(0, 3), (1, 3), (2, 3)]
    assert all(events[events.index((done, 3)) + 1] == "others" for done in range(3))
    assert found == analyses.snapshot_results_of(key, text, steps)
    trained = models.result_of(key, Run(text=text))
    alone = [run_snapshot(models.snapshot(key, step), text, trained) for step in steps]
    assert [one.text for one in found] == [one.text for one in alone]
    assert [one.loss for one in found] == [one.loss for one in alone]


def test_long_work_reads_as_much_of_a_text_as_the_translation(key: CheckpointKey) -> None:
    text = "A dog runs." + " " * server_state.MAX_CHARACTERS + " A cat sleeps."
    steps = list(list_snapshots(Path(key.path)))[:2]
    trained = models.result_of(key, Run(text=text))
    for result in analyses.snapshots_work(key, text, steps)[1](lambda *_: None):
        assert result.maps["encoder"].shape[-1] == len(trained.source)
    cut = text[: server_state.MAX_CHARACTERS]
    assert (
        Analysis.of(decisive_heads, key, Run(text=text)).work()[0]
        == Analysis.of(decisive_heads, key, Run(text=cut)).work()[0]
    )


def test_visitors_who_wait_together_get_the_results_of_each_alone(
    key: CheckpointKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is inside the gate, as the run of a page; some share a text, and one text is too long for the others."""
    batches: list[list[str]] = []

    def translate_them(checkpoint: Checkpoint, texts: list[str]) -> list[Result]:
        batches.append(texts)
        return translate_together(checkpoint, texts)

    monkeypatch.setattr(models, "translate_together", translate_them)
    texts = [f"A dog runs beside {number} trees." for number in range(12)]
    long = "A dog runs. " * 40
    runs = [Run(text=text) for text in (*texts, *texts[:2], long)]
    silenced = Intervention(ablated=frozenset({Head(kind="cross", layer=0, head=0)}))
    runs.append(Run(text=texts[0], changes=silenced))

    def visit(run: Run) -> Result:
        with server_state.GATE.inside():
            return models.result_of(key, run)

    with ThreadPoolExecutor(len(runs)) as threads:
        found = list(threads.map(visit, runs))
    for run, result in zip(runs, found, strict=True):
        alone = compute(models.loaded(key), run)
        assert (result.text, result.source) == (alone.text, alone.source)
        np.testing.assert_allclose(result.maps["cross"], alone.maps["cross"], atol=1e-4)
    assert not found[-1].maps["cross"][0, 0].any()
    assert found[0].maps["cross"][0, 0].any()
    assert sorted(text for batch in batches for text in batch) == sorted(texts)
    assert max(map(len, batches)) > 1
