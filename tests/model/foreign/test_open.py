"""Folders of `transformers`, opened and asked through our facade, against the library's own `eager` and `generate`."""

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
)

from model.analysis.anatomy import anatomy, derive, value_norms
from model.checkpoints.checkpoint import Checkpoint, ClassifierCheckpoint, find_checkpoints
from model.config.search import SearchConfig
from model.config.section import ConfigError
from model.foreign.models import ForeignLanguageModel
from model.inference.classify import classify, classify_lines
from model.inference.continuation import with_continuation
from model.inference.opening import open_checkpoint, open_translator, read_any_config
from model.inference.search_tree import search_tree
from model.inference.translate import translate, translate_lines
from model.interventions import Head, Intervention, PaintedCell
from model.network.protocols import PredictsMasked, Writes
from tests.foreign_folders import CLASSIFIERS, FAMILIES, LABELS, LANGUAGE_MODELS, MASK, READERS, TRANSLATORS
from tests.model.analysis.follow import follow
from tools.library_run import end_at_once

CLOSE = {"atol": 1e-5, "rtol": 1e-5}  # the same sums in another order, in single precision
TEXTS = ("The cat sat on the mat.", "My sister likes 我妹妹 apples; where is it?", "x")
NEW = 12  # tokens that a language model writes here: each is computed in the same way


def writer(folder: Path) -> Checkpoint:
    """A model that continues a text by a few tokens, or that does something else with it."""
    checkpoint = open_translator(folder)
    return with_continuation(checkpoint, new_tokens=NEW if checkpoint.config.task == "continuation" else None)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_configuration_before_loading_equals_that_of_the_loaded_model(
    folders: Callable[[str], Path], family: str
) -> None:
    config, checkpoint = read_any_config(folders(family)), open_translator(folders(family))
    task = next(
        task
        for task, families in (("translation", TRANSLATORS), ("continuation", LANGUAGE_MODELS), ("reading", READERS))
        if family in families
    )
    assert config.task == checkpoint.config.task == task
    assert config.model.kinds == checkpoint.model.config.kinds
    for kind in config.model.kinds:
        assert config.model.num_layers(kind) == checkpoint.model.config.num_layers(kind) == 2
    assert config.model.num_heads == checkpoint.model.config.num_heads == 4


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("text", [*TEXTS, ""])
def test_a_text_has_the_ids_of_the_library(folders: Callable[[str], Path], family: str, text: str) -> None:
    library = AutoTokenizer.from_pretrained(folders(family))
    checkpoint = open_translator(folders(family))
    translation = translate(checkpoint, text)
    read = translation.source or translation.read[: translation.prompt_length + 1]
    expected = library(text)["input_ids"] or [library.bos_token_id]
    assert [token.id for token in read] == expected
    encoding = checkpoint.tokenizers.source.encode(text)
    covered = {at for start, end in encoding.offsets for at in range(start, end)}
    assert covered >= {at for at, character in enumerate(text) if not character.isspace()}
    assert sorted(set(encoding.words)) == list(range(len(set(encoding.words))))
    assert list(encoding.words) == sorted(encoding.words)


@torch.inference_mode()
@pytest.mark.parametrize("family", TRANSLATORS)
def test_a_translation_and_its_maps_equal_those_of_the_library(folders: Callable[[str], Path], family: str) -> None:
    library = AutoModelForSeq2SeqLM.from_pretrained(folders(family), attn_implementation="eager")
    tokenizer, checkpoint = AutoTokenizer.from_pretrained(folders(family)), open_translator(folders(family))
    for text in TEXTS:
        source = tokenizer(text, return_tensors="pt")["input_ids"]
        found = translate(checkpoint, text)
        limit = len(found.written)
        written = library.generate(source, max_new_tokens=limit, do_sample=False, num_beams=1)[0, 1:]
        assert [token.id for token in found.written] == written.tolist()
        assert found.text == tokenizer.decode(written, skip_special_tokens=True).strip()
        read = torch.tensor([[token.id for token in found.read]])
        expected = library(input_ids=source, decoder_input_ids=read, output_attentions=True, use_cache=False)
        for kind in ("encoder", "decoder", "cross"):
            maps = torch.cat(getattr(expected, f"{kind}_attentions")).numpy()
            np.testing.assert_allclose(found.maps[kind], maps, **CLOSE)
        probabilities = expected.logits.softmax(dim=-1)[0, range(limit), written].numpy()
        np.testing.assert_allclose([token.probability for token in found.written], probabilities, **CLOSE)


@torch.inference_mode()
@pytest.mark.parametrize("family", LANGUAGE_MODELS)
@pytest.mark.parametrize("beams", [1, 3])
def test_a_continuation_and_its_maps_equal_those_of_the_library(
    folders: Callable[[str], Path], family: str, beams: int
) -> None:
    library = AutoModelForCausalLM.from_pretrained(folders(family), attn_implementation="eager")
    tokenizer, checkpoint = AutoTokenizer.from_pretrained(folders(family)), writer(folders(family))
    search = SearchConfig(method="beam", beam_size=beams) if beams > 1 else SearchConfig()
    for text in TEXTS:
        prompt = tokenizer(text, return_tensors="pt")["input_ids"]
        found = translate(checkpoint, text, search=search)
        ids = [found.read[0].id, *(token.id for token in found.written)]
        free = len(found.written) - found.prompt_length
        assert 0 < free <= NEW
        settings = {"do_sample": False, "num_beams": beams, "early_stopping": beams > 1}
        assert ids == library.generate(prompt, max_new_tokens=NEW, **settings)[0].tolist()
        assert found.text == tokenizer.decode(ids, skip_special_tokens=True).strip()
        expected = library(input_ids=torch.tensor([ids[:-1]]), output_attentions=True, use_cache=False)
        np.testing.assert_allclose(found.maps["decoder"], torch.cat(expected.attentions).numpy(), **CLOSE)
        probabilities = expected.logits.softmax(dim=-1)[0, range(len(ids) - 1), ids[1:]].numpy()
        np.testing.assert_allclose([token.probability for token in found.written], probabilities, **CLOSE)
        assert found.prompt_length == prompt.size(1) - 1


@pytest.mark.parametrize("family", LANGUAGE_MODELS)
def test_the_tree_ends_in_the_text_of_beam_search_and_a_seed_repeats_its_sample(
    folders: Callable[[str], Path], family: str
) -> None:
    checkpoint = writer(folders(family))
    tree = search_tree(checkpoint, TEXTS[0], search=SearchConfig(method="beam", beam_size=3))
    first = translate(checkpoint, TEXTS[0]).written[tree.prompt_length]
    assert tree.nodes[0].token == first.text
    assert tree.nodes[0].log_prob == tree.nodes[0].score == pytest.approx(math.log(first.probability), abs=1e-4)
    best = translate(checkpoint, TEXTS[0], search=SearchConfig(method="beam", beam_size=3))
    assert tree.text in (best.text, best.text.removeprefix(best.read[0].text).strip())
    drawn = [
        translate(checkpoint, TEXTS[0], search=SearchConfig(method="sample", seed=seed)).text for seed in (1, 1, 2)
    ]
    assert drawn[0] == drawn[1] != drawn[2]


@torch.inference_mode()
@pytest.mark.parametrize("family", LANGUAGE_MODELS)
def test_a_prompt_read_at_once_equals_one_read_token_by_token(folders: Callable[[str], Path], family: str) -> None:
    model = open_translator(folders(family)).model
    assert isinstance(model, ForeignLanguageModel)
    ids = torch.tensor([[5, 6, 7, 8, 9, 10]])
    whole = model.decode(ids, *model.encode(ids))
    cache = model.start_cache()
    memory, mask = model.encode(ids[:, :4])
    parts = [model.decode(ids[:, t : t + 1], memory, mask, cache=cache) for t in range(ids.size(1))]
    assert cache.length == 6
    torch.testing.assert_close(torch.cat(parts, dim=1), whole, **CLOSE)


@torch.inference_mode()
@pytest.mark.parametrize("family", READERS)
def test_a_reading_its_maps_and_its_predictions_equal_those_of_the_library(
    folders: Callable[[str], Path], family: str
) -> None:
    library = AutoModelForMaskedLM.from_pretrained(folders(family), attn_implementation="eager")
    tokenizer, checkpoint = AutoTokenizer.from_pretrained(folders(family)), open_translator(folders(family))
    text = f"The {tokenizer.mask_token} sat on the {tokenizer.mask_token}."
    ids = tokenizer(text, return_tensors="pt")["input_ids"]
    expected = library(input_ids=ids, output_attentions=True)
    found = translate(checkpoint, text)
    np.testing.assert_allclose(found.maps["encoder"], torch.cat(expected.attentions).numpy(), **CLOSE)
    probabilities = expected.logits.softmax(dim=-1)[0]
    masked = [token for token in found.source if token.candidates]
    places = (ids[0] == MASK).nonzero()[:, 0].tolist()
    assert len(masked) == len(places) == 2
    for token, place in zip(masked, places, strict=True):
        best = probabilities[place].topk(10)
        assert [candidate.id for candidate in token.candidates] == best.indices.tolist()
        np.testing.assert_allclose([c.probability for c in token.candidates], best.values.numpy(), **CLOSE)
    filled = ids[0].clone()
    filled[places] = probabilities[places].argmax(dim=-1)
    assert found.text == tokenizer.decode(filled, skip_special_tokens=True).strip()
    assert not translate(checkpoint, "Nothing is masked.").text


@torch.inference_mode()
@pytest.mark.parametrize("family", CLASSIFIERS)
def test_a_class_and_its_maps_equal_those_of_the_library(folders: Callable[[str], Path], family: str) -> None:
    library = AutoModelForSequenceClassification.from_pretrained(folders(family), attn_implementation="eager")
    tokenizer, checkpoint = AutoTokenizer.from_pretrained(folders(family)), open_checkpoint(folders(family))
    assert isinstance(checkpoint, ClassifierCheckpoint)
    assert read_any_config(folders(family)).task == "classification"
    for text in (*TEXTS, ""):
        ids = tokenizer(text, return_tensors="pt")["input_ids"]
        expected = library(input_ids=ids, output_attentions=True)
        found = classify(checkpoint, text)
        probabilities = expected.logits.softmax(dim=-1)[0].tolist()
        assert found.probabilities == pytest.approx(dict(zip(LABELS.values(), probabilities, strict=True)), abs=1e-5)
        np.testing.assert_allclose(found.encoder, torch.cat(expected.attentions).numpy(), **CLOSE)
        assert len(found.tokens) == ids.size(1)
    many = classify_lines(checkpoint.model, checkpoint.tokenizers, TEXTS)
    assert [list(LABELS.values())[label] for label in many] == [classify(checkpoint, text).label for text in TEXTS]
    assert classify(checkpoint, "cat " * 900).dropped > 0


@pytest.mark.parametrize("family", FAMILIES)
def test_every_layer_can_be_taken_apart(folders: Callable[[str], Path], family: str) -> None:
    checkpoint = writer(folders(family))
    text = follow(checkpoint, TEXTS[0])
    translation = text.result
    for kind in checkpoint.model.config.kinds:
        parts = anatomy(text, kind, 1)
        queries, keys = (len(tokens) for tokens in translation.tokens_of(kind))
        assert parts.weights.shape == (4, queries, keys)
        for head in range(4):
            for query in range(queries):
                # Sums of 32 products of numbers of some tens, in single precision.
                assert max(derive(parts, head, query).differences.values()) < 1e-3
        assert (parts.distances is not None) == (family == "t5" and kind != "cross")
    norms = value_norms(text)
    assert {kind: array.shape for kind, array in norms.items()} == {
        kind: (2, 4, len(translation.tokens_of(kind)[1])) for kind in checkpoint.model.config.kinds
    }


@pytest.mark.parametrize("family", FAMILIES)
def test_heads_can_be_silenced_made_uniform_and_painted(folders: Callable[[str], Path], family: str) -> None:
    checkpoint = writer(folders(family))
    kind = checkpoint.model.config.kinds[0]
    before = translate(checkpoint, TEXTS[1])
    cell = PaintedCell(Head(kind, 1, 3), 2, 1, 0.75)
    changed = Intervention(
        ablated=frozenset({Head(kind, 0, 1)}), uniform=frozenset({Head(kind, 0, 2)}), painted=frozenset({cell})
    )
    after = translate(checkpoint, TEXTS[1], edits=changed.edits())
    maps = after.maps[kind]
    assert not maps[0, 1].any()
    flat = maps[0, 2, -1]
    np.testing.assert_allclose(flat[flat > 0], 1 / (flat > 0).sum(), **CLOSE)
    if len(after.tokens_of(kind)[0]) > 2:
        assert cell.weight_in(maps) == pytest.approx(0.75, abs=1e-6)
    again = translate(checkpoint, TEXTS[1])
    assert again.text == before.text
    np.testing.assert_array_equal(again.maps[kind], before.maps[kind])


@pytest.mark.parametrize("family", [*TRANSLATORS, *LANGUAGE_MODELS])
@pytest.mark.parametrize("search", [SearchConfig(), SearchConfig(method="beam", beam_size=3)], ids=["greedy", "beam"])
def test_many_lines_get_the_same_translations_as_single_lines(
    folders: Callable[[str], Path], family: str, search: SearchConfig
) -> None:
    checkpoint = writer(folders(family))
    together = translate_lines(checkpoint.model, checkpoint.tokenizers, [*TEXTS, " "], search=search)
    assert together == [*(translate(checkpoint, text, search=search).text for text in TEXTS), ""]


@pytest.mark.parametrize("family", READERS)
def test_a_model_that_only_reads_refuses_to_translate_lines(folders: Callable[[str], Path], family: str) -> None:
    checkpoint = open_translator(folders(family))
    with pytest.raises(ConfigError, match="reads a text and writes nothing"):
        translate_lines(checkpoint.model, checkpoint.tokenizers, TEXTS)


@pytest.mark.parametrize("family", [*TRANSLATORS, *LANGUAGE_MODELS, *READERS])
@torch.inference_mode()
def test_a_model_that_writes_has_logits_from_a_position_on(folders: Callable[[str], Path], family: str) -> None:
    model = open_translator(folders(family)).model
    assert isinstance(model, Writes) == (family not in READERS)
    assert isinstance(model, PredictsMasked) == (family in READERS)
    if isinstance(model, Writes):
        ids = torch.tensor([[5, 6, 7, 8]])
        last = model.decode(ids, *model.encode(ids), first=-1)
        torch.testing.assert_close(last, model(ids, ids)[:, -1:], **CLOSE)


def test_a_text_that_is_too_long_is_cut_to_the_positions(folders: Callable[[str], Path]) -> None:
    for family in FAMILIES:
        checkpoint = open_translator(folders(family))
        text = "cat " * 600
        found = translate(checkpoint, text, forced=dict(end_at_once(checkpoint, text)))
        assert found.dropped > 0
        assert len(found.source or found.read) <= checkpoint.model.config.max_length
        assert not found.source or found.source[-1].special


def test_the_librarys_cache_is_a_folder_of_checkpoints(folders: Callable[[str], Path], tmp_path: Path) -> None:
    snapshot = tmp_path / "models--some--model" / "snapshots" / "0123abc"
    blobs = tmp_path / "models--some--model" / "blobs"
    blobs.mkdir(parents=True)
    snapshot.mkdir(parents=True)
    for file in folders("bert").iterdir():
        shutil.copy(file, blobs / file.name)
        (snapshot / file.name).symlink_to(blobs / file.name)
    found = find_checkpoints([tmp_path])
    assert found == {"some/model": snapshot}
    assert open_translator(snapshot).name == "some/model"


def test_a_folder_of_half_precision_and_of_pytorchs_own_files_opens(
    folders: Callable[[str], Path], tmp_path: Path
) -> None:
    half, old = tmp_path / "half", tmp_path / "old"
    for folder in (half, old):
        shutil.copytree(folders("gpt2"), folder)
    model = AutoModelForCausalLM.from_pretrained(half)
    model.half().save_pretrained(half)
    (old / "model.safetensors").unlink()
    torch.save(model.float().state_dict(), old / "pytorch_model.bin")
    expected = translate(open_translator(folders("gpt2")), TEXTS[0])
    for folder, most in ((half, 2e-2), (old, 2e-2)):
        found = translate(open_translator(folder), TEXTS[0])
        steps = found.prompt_length + 1
        prompts = [maps.maps["decoder"][:, :, :steps, :steps] for maps in (found, expected)]
        assert 0 < np.abs(prompts[0] - prompts[1]).max() < most  # the weights have eleven bits


@torch.inference_mode()
@pytest.mark.parametrize("family", LANGUAGE_MODELS)
def test_an_end_token_inside_a_prompt_does_not_end_the_text(folders: Callable[[str], Path], family: str) -> None:
    library = AutoModelForCausalLM.from_pretrained(folders(family), attn_implementation="eager")
    tokenizer, checkpoint = AutoTokenizer.from_pretrained(folders(family)), open_translator(folders(family))
    text = "The cat</s> sat on"
    prompt = tokenizer(text, return_tensors="pt")["input_ids"]
    assert 2 in prompt
    for search in (SearchConfig(), SearchConfig(method="beam", beam_size=3)):
        found = translate(checkpoint, text, search=search)
        assert len(found.written) > found.prompt_length == prompt.size(1) - 1
        ids = [found.read[0].id, *(token.id for token in found.written)]
        expected = library(input_ids=torch.tensor([ids[:-1]]), output_attentions=True, use_cache=False)
        np.testing.assert_allclose(found.maps["decoder"], torch.cat(expected.attentions).numpy(), **CLOSE)


@torch.inference_mode()
def test_end_tokens_and_banned_tokens_equal_those_of_the_library(
    folders: Callable[[str], Path], tmp_path: Path
) -> None:
    first = [token.id for token in translate(open_translator(folders("gpt2")), TEXTS[0]).written]
    given = translate(open_translator(folders("gpt2")), TEXTS[0]).prompt_length
    for name, settings in (
        ("ends", {"eos_token_id": [2, first[given + 3]]}),
        ("bans", {"bad_words_ids": [[first[given]], [first[given + 1]]]}),
    ):
        folder = tmp_path / name
        shutil.copytree(folders("gpt2"), folder)
        file = folder / "generation_config.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | settings))
        found = translate(open_translator(folder), TEXTS[0])
        library, tokenizer = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
        prompt = tokenizer(TEXTS[0], return_tensors="pt")["input_ids"]
        free = len(found.written) - found.prompt_length
        expected = library.generate(prompt, max_new_tokens=40, do_sample=False, num_beams=1)[0, 1:].tolist()
        assert [token.id for token in found.written] == expected
        assert found.finished == (name == "ends")
        assert free < 40 or name == "bans"


@torch.inference_mode()
def test_a_single_text_has_no_padding(folders: Callable[[str], Path], tmp_path: Path) -> None:
    folder = tmp_path / "t5"
    shutil.copytree(folders("t5"), folder)
    file = folder / "generation_config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"pad_token_id": 2}))
    found = translate(open_translator(folder), TEXTS[0])
    np.testing.assert_array_equal(
        found.maps["encoder"], translate(open_translator(folders("t5")), TEXTS[0]).maps["encoder"]
    )
    assert (found.maps["encoder"][..., -1] > 0).any()
