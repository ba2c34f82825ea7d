"""Folders of `transformers`, opened and asked through our facade, against the library's own `eager` and `generate`."""

import json
import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import (
    AlbertConfig,
    AlbertForMaskedLM,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    PreTrainedModel,
)

from model.analysis.anatomy import anatomy, derive, value_norms
from model.checkpoint import Checkpoint, CheckpointError, ClassifierCheckpoint, find_checkpoints
from model.config import SearchConfig
from model.foreign.continuer import ForeignContinuer
from model.inference.classify import classify, classify_lines
from model.inference.search_tree import search_tree
from model.inference.translate import translate, translate_lines
from model.interventions import Head, Intervention, PaintedCell
from model.opening import open_checkpoint, read_any_config
from tests.foreign_folders import CLASSIFIERS, CONTINUERS, FAMILIES, LABELS, MASK, READERS, TRANSLATORS, make_folder

CLOSE = {"atol": 1e-5, "rtol": 1e-5}  # the same sums in another order, in single precision
TEXTS = ("The cat sat on the mat.", "My sister likes 我妹妹 apples; where is it?", "x")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    made: dict[str, Path] = {}

    def folder(family: str) -> Path:
        if family not in made:
            made[family] = make_folder(tmp_path_factory.mktemp("folders") / family, family)
        return made[family]

    return folder


def opened(folder: Path) -> Checkpoint:
    checkpoint = open_checkpoint(folder)
    assert isinstance(checkpoint, Checkpoint)
    return checkpoint


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_known_before_loading_is_what_is_loaded(folders: Callable[[str], Path], family: str) -> None:
    config, checkpoint = read_any_config(folders(family)), opened(folders(family))
    task = next(
        task
        for task, families in (("translation", TRANSLATORS), ("continuation", CONTINUERS), ("reading", READERS))
        if family in families
    )
    assert config.task == checkpoint.config.task == task
    assert config.model.kinds == checkpoint.model.config.kinds
    for kind in config.model.kinds:
        assert config.model.layers_of(kind) == checkpoint.model.config.layers_of(kind) == 2
    assert config.model.num_heads == checkpoint.model.config.num_heads == 4


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("text", [*TEXTS, ""])
def test_a_text_has_the_librarys_ids(folders: Callable[[str], Path], family: str, text: str) -> None:
    library = AutoTokenizer.from_pretrained(folders(family))
    checkpoint = opened(folders(family))
    translation = translate(checkpoint, text)
    read = translation.source or translation.read[: translation.given + 1]
    expected = library(text)["input_ids"] or [library.bos_token_id]
    assert [token.id for token in read] == expected
    encoding = checkpoint.tokenizers.source.encode(text)
    covered = {at for start, end in encoding.offsets for at in range(start, end)}
    assert covered >= {at for at, character in enumerate(text) if not character.isspace()}
    assert sorted(set(encoding.words)) == list(range(len(set(encoding.words))))
    assert list(encoding.words) == sorted(encoding.words)


@torch.inference_mode()
@pytest.mark.parametrize("family", TRANSLATORS)
def test_a_translation_and_its_maps_are_the_librarys(folders: Callable[[str], Path], family: str) -> None:
    library = AutoModelForSeq2SeqLM.from_pretrained(folders(family), attn_implementation="eager")
    tokenizer, checkpoint = AutoTokenizer.from_pretrained(folders(family)), opened(folders(family))
    for text in TEXTS:
        source = tokenizer(text, return_tensors="pt")["input_ids"]
        found = translate(checkpoint, text)
        limit = len(found.written)
        # BART would be made to end where it is cut off.
        settings = {"do_sample": False, "num_beams": 1, "forced_eos_token_id": None}
        written = library.generate(source, max_new_tokens=limit, **settings)[0, 1:]
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
@pytest.mark.parametrize("family", CONTINUERS)
@pytest.mark.parametrize("beams", [1, 3])
def test_a_continuation_and_its_maps_are_the_librarys(folders: Callable[[str], Path], family: str, beams: int) -> None:
    library = AutoModelForCausalLM.from_pretrained(folders(family), attn_implementation="eager")
    tokenizer, checkpoint = AutoTokenizer.from_pretrained(folders(family)), opened(folders(family))
    search = SearchConfig(method="beam", beam_size=beams) if beams > 1 else SearchConfig()
    for text in TEXTS:
        prompt = tokenizer(text, return_tensors="pt")["input_ids"]
        found = translate(checkpoint, text, search=search)
        ids = [found.read[0].id, *(token.id for token in found.written)]
        free = len(found.written) - found.given
        assert 0 < free <= 40
        if beams == 1:
            assert ids == library.generate(prompt, max_new_tokens=free, do_sample=False, num_beams=1)[0].tolist()
        assert found.text == tokenizer.decode(ids, skip_special_tokens=True).strip()
        expected = library(input_ids=torch.tensor([ids[:-1]]), output_attentions=True, use_cache=False)
        np.testing.assert_allclose(found.maps["decoder"], torch.cat(expected.attentions).numpy(), **CLOSE)
        probabilities = expected.logits.softmax(dim=-1)[0, range(len(ids) - 1), ids[1:]].numpy()
        np.testing.assert_allclose([token.probability for token in found.written], probabilities, **CLOSE)
        assert found.given == prompt.size(1) - 1


@pytest.mark.parametrize("family", CONTINUERS)
def test_a_tree_ends_in_the_text_of_its_beam_and_the_same_seed_draws_the_same(
    folders: Callable[[str], Path], family: str
) -> None:
    checkpoint = opened(folders(family))
    tree = search_tree(checkpoint, TEXTS[0], search=SearchConfig(method="beam", beam_size=3))
    best = translate(checkpoint, TEXTS[0], search=SearchConfig(method="beam", beam_size=3))
    assert tree.text in (best.text, best.text.removeprefix(best.read[0].text).strip())
    drawn = [
        translate(checkpoint, TEXTS[0], search=SearchConfig(method="sample", seed=seed)).text for seed in (1, 1, 2)
    ]
    assert drawn[0] == drawn[1] != drawn[2]


@torch.inference_mode()
@pytest.mark.parametrize("family", CONTINUERS)
def test_a_prompt_read_at_once_is_one_read_token_by_token(folders: Callable[[str], Path], family: str) -> None:
    model = opened(folders(family)).model
    assert isinstance(model, ForeignContinuer)
    ids = torch.tensor([[5, 6, 7, 8, 9, 10]])
    whole = model.project(model.decode(ids, *model.encode(ids)))
    cache = model.start_cache()
    memory, mask = model.encode(ids[:, :4])
    parts = [model.decode(ids[:, t : t + 1], memory, mask, cache=cache) for t in range(ids.size(1))]
    assert cache.length == 6
    torch.testing.assert_close(torch.cat(parts, dim=1), whole, **CLOSE)


@torch.inference_mode()
@pytest.mark.parametrize("family", READERS)
def test_a_reading_its_maps_and_its_guesses_are_the_librarys(folders: Callable[[str], Path], family: str) -> None:
    library = AutoModelForMaskedLM.from_pretrained(folders(family), attn_implementation="eager")
    tokenizer, checkpoint = AutoTokenizer.from_pretrained(folders(family)), opened(folders(family))
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
def test_a_class_and_its_maps_are_the_librarys(folders: Callable[[str], Path], family: str) -> None:
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
    checkpoint = opened(folders(family))
    for kind in checkpoint.model.config.kinds:
        translation, parts = anatomy(checkpoint, TEXTS[0], kind, 1)
        queries, keys = (len(tokens) for tokens in translation.tokens_of(kind))
        assert parts.weights.shape == (4, queries, keys)
        for head in range(4):
            for query in range(queries):
                # Sums of 32 products of numbers of some tens, in single precision.
                assert max(derive(parts, head, query).differences.values()) < 1e-3
        assert (parts.distances is not None) == (family == "t5" and kind != "cross")
    translation, norms = value_norms(checkpoint, TEXTS[0])
    assert {kind: array.shape for kind, array in norms.items()} == {
        kind: (2, 4, len(translation.tokens_of(kind)[1])) for kind in checkpoint.model.config.kinds
    }


@pytest.mark.parametrize("family", FAMILIES)
def test_heads_can_be_silenced_flattened_and_painted(folders: Callable[[str], Path], family: str) -> None:
    checkpoint = opened(folders(family))
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


def test_many_lines_are_what_each_alone_is(folders: Callable[[str], Path]) -> None:
    checkpoint = opened(folders("t5"))
    together = translate_lines(checkpoint.model, checkpoint.tokenizers, TEXTS)
    assert together == [translate(checkpoint, text).text for text in TEXTS]


def test_a_text_that_is_too_long_is_cut_to_the_positions(folders: Callable[[str], Path]) -> None:
    for family in FAMILIES:
        checkpoint = opened(folders(family))
        found = translate(checkpoint, "cat " * 600)
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
    assert opened(snapshot).name == "some/model"


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
    expected = translate(opened(folders("gpt2")), TEXTS[0])
    for folder, most in ((half, 2e-2), (old, 2e-2)):
        found = translate(opened(folder), TEXTS[0])
        steps = found.given + 1
        prompts = [maps.maps["decoder"][:, :, :steps, :steps] for maps in (found, expected)]
        assert 0 < np.abs(prompts[0] - prompts[1]).max() < most  # the weights have eleven bits


def test_files_that_are_missing_or_damaged_get_a_sentence(folders: Callable[[str], Path], tmp_path: Path) -> None:
    def copy(name: str) -> Path:
        folder = tmp_path / name
        shutil.copytree(folders("bert"), folder)
        return folder

    no_weights, cut, no_tokenizer, unknown, no_json = (copy(name) for name in ("a", "b", "c", "d", "e"))
    (no_weights / "model.safetensors").unlink()
    whole = (cut / "model.safetensors").read_bytes()
    (cut / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    (no_tokenizer / "tokenizer.json").unlink()
    rewrite(unknown, model_type="no_such_family")
    (no_json / "config.json").write_text("{")
    for folder, says in (
        (no_weights, "no model.safetensors"),
        (cut, "damaged"),
        (no_tokenizer, "tokenizer of c cannot be read"),
        (unknown, "config.json of d cannot be used"),
        (no_json, "config.json of e cannot be used"),
    ):
        with pytest.raises(CheckpointError, match=says):
            open_checkpoint(folder)


def rewrite(folder: Path, **values: object) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | values))


def test_a_configuration_that_claims_more_than_the_weights_hold_is_refused_before_it_is_built(
    folders: Callable[[str], Path], tmp_path: Path
) -> None:
    claims: dict[str, tuple[str, dict[str, object], str]] = {
        "endless": ("bert", {"num_hidden_layers": 10**9}, "num_hidden_layers is 1,000,000,000"),
        "endless-t5": ("t5", {"num_decoder_layers": 10**9}, "num_decoder_layers is 1,000,000,000"),
        "wide": ("gpt2", {"n_inner": 10**9}, r"describes [\d,]+ weights, but its files hold"),
        "words": ("bart", {"vocab_size": 10**8}, r"describes [\d,]+ weights, but its files hold"),
        "uneven": ("llama", {"num_attention_heads": 5}, "uneven"),
        "strange": ("bert", {"hidden_size": "many"}, "strange"),
        "deeper": ("gpt2", {"n_layer": 3}, "deeper"),
        "narrow": ("bart", {"d_model": 24}, "narrow"),
    }
    for name, (family, values, says) in claims.items():
        folder = tmp_path / name
        shutil.copytree(folders(family), folder)
        rewrite(folder, **values)
        with pytest.raises(CheckpointError, match=says):
            open_checkpoint(folder)


def test_what_does_not_fit_into_memory_is_refused_before_it_is_loaded(folders: Callable[[str], Path]) -> None:
    with pytest.raises(CheckpointError, match=r"million weights and needs .* GB of memory; 0\.0 GB may be used"):
        open_checkpoint(folders("bert"), most_bytes=1000)


class Bomb:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, ("exploded",)


def test_nothing_that_is_opened_runs_code(
    folders: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pickled, remote = tmp_path / "pickled", tmp_path / "remote"
    for folder in (pickled, remote):
        shutil.copytree(folders("gpt2"), folder)
    (pickled / "model.safetensors").unlink()
    torch.save({"transformer.wte.weight": Bomb()}, pickled / "pytorch_model.bin")
    with pytest.raises(CheckpointError, match="more than weights, or is damaged"):
        open_checkpoint(pickled)
    code = "import os\nos.mkdir('exploded')\n"
    (remote / "modeling.py").write_text(code)
    (remote / "tokenization.py").write_text(code)
    rewrite(remote, auto_map={"AutoConfig": "modeling.Config", "AutoModelForCausalLM": "modeling.Model"})
    settings = json.loads((remote / "tokenizer_config.json").read_text())
    settings["auto_map"] = {"AutoTokenizer": ["tokenization.Slow", "tokenization.Fast"]}
    (remote / "tokenizer_config.json").write_text(json.dumps(settings))
    assert translate(opened(remote), TEXTS[0]).text == translate(opened(folders("gpt2")), TEXTS[0]).text
    assert not (tmp_path / "exploded").exists()


def test_a_tokenizer_with_ids_that_the_model_lacks_is_refused(folders: Callable[[str], Path], tmp_path: Path) -> None:
    folder = tmp_path / "mixed"
    shutil.copytree(folders("llama"), folder)
    shutil.copy(folders("gpt2") / "tokenizer.json", folder / "tokenizer.json")
    with pytest.raises(CheckpointError, match="320 tokens, and its model has rows for"):
        open_checkpoint(folder)


def test_many_can_be_opened_at_once(folders: Callable[[str], Path]) -> None:
    """The library changes functions of its own while it opens one."""
    families = [*FAMILIES, *CLASSIFIERS]
    for family in families:
        folders(family)
    tie, normal = PreTrainedModel.tie_weights, torch.nn.init.normal_
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda family: open_checkpoint(folders(family)), families * 3))
    assert len(found) == 3 * len(families)
    assert PreTrainedModel.tie_weights is tie
    assert torch.nn.init.normal_ is normal


@torch.inference_mode()
@pytest.mark.parametrize("family", CONTINUERS)
def test_an_end_inside_a_prompt_ends_nothing(folders: Callable[[str], Path], family: str) -> None:
    library = AutoModelForCausalLM.from_pretrained(folders(family), attn_implementation="eager")
    tokenizer, checkpoint = AutoTokenizer.from_pretrained(folders(family)), opened(folders(family))
    text = "The cat</s> sat on"
    prompt = tokenizer(text, return_tensors="pt")["input_ids"]
    assert 2 in prompt
    for search in (SearchConfig(), SearchConfig(method="beam", beam_size=3)):
        found = translate(checkpoint, text, search=search)
        assert len(found.written) > found.given == prompt.size(1) - 1
        ids = [found.read[0].id, *(token.id for token in found.written)]
        expected = library(input_ids=torch.tensor([ids[:-1]]), output_attentions=True, use_cache=False)
        np.testing.assert_allclose(found.maps["decoder"], torch.cat(expected.attentions).numpy(), **CLOSE)


@torch.inference_mode()
def test_several_ends_and_what_is_never_written_are_the_librarys(
    folders: Callable[[str], Path], tmp_path: Path
) -> None:
    first = [token.id for token in translate(opened(folders("gpt2")), TEXTS[0]).written]
    given = translate(opened(folders("gpt2")), TEXTS[0]).given
    for name, settings in (
        ("ends", {"eos_token_id": [2, first[given + 3]]}),
        ("bans", {"bad_words_ids": [[first[given]], [first[given + 1]]]}),
    ):
        folder = tmp_path / name
        shutil.copytree(folders("gpt2"), folder)
        file = folder / "generation_config.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | settings))
        found = translate(opened(folder), TEXTS[0])
        library, tokenizer = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
        prompt = tokenizer(TEXTS[0], return_tensors="pt")["input_ids"]
        free = len(found.written) - found.given
        expected = library.generate(prompt, max_new_tokens=40, do_sample=False, num_beams=1)[0, 1:].tolist()
        assert [token.id for token in found.written] == expected
        assert found.finished == (name == "ends")
        assert free < 40 or name == "bans"


@torch.inference_mode()
def test_a_text_that_is_read_alone_has_no_padding(folders: Callable[[str], Path], tmp_path: Path) -> None:
    folder = tmp_path / "t5"
    shutil.copytree(folders("t5"), folder)
    file = folder / "generation_config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"pad_token_id": 2}))
    found = translate(opened(folder), TEXTS[0])
    np.testing.assert_array_equal(found.maps["encoder"], translate(opened(folders("t5")), TEXTS[0]).maps["encoder"])
    assert (found.maps["encoder"][..., -1] > 0).any()


def test_layers_that_share_one_attention_are_refused(folders: Callable[[str], Path], tmp_path: Path) -> None:
    folder = tmp_path / "albert"
    shutil.copytree(folders("bert"), folder)
    sizes = {"num_hidden_layers": 3, "num_attention_heads": 4, "hidden_size": 32, "intermediate_size": 48}
    rows = opened(folders("bert")).model.config.source_vocab_size
    AlbertForMaskedLM(AlbertConfig(vocab_size=rows, embedding_size=16, **sizes)).save_pretrained(folder)
    with pytest.raises(CheckpointError, match="share one attention"):
        open_checkpoint(folder)


def test_a_vocabulary_that_is_missing_is_noticed(folders: Callable[[str], Path], tmp_path: Path) -> None:
    folder = tmp_path / "no-words"
    shutil.copytree(folders("bert"), folder)
    (folder / "tokenizer.json").unlink()
    settings = json.loads((folder / "tokenizer_config.json").read_text()) | {"tokenizer_class": "BertTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    with pytest.raises(CheckpointError, match=r"vocabulary missing|cannot be read"):
        open_checkpoint(folder)


def test_an_index_names_files_of_the_folder_alone(folders: Callable[[str], Path], tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    shutil.copytree(folders("gpt2"), folder)
    shutil.move(folder / "model.safetensors", tmp_path / "outside.safetensors")
    index = folder / "model.safetensors.index.json"
    for name in ("../outside.safetensors", "nothing.safetensors"):
        index.write_text(json.dumps({"weight_map": {"transformer.wte.weight": name}}))
        with pytest.raises(CheckpointError, match="not in the folder"):
            open_checkpoint(folder)


@pytest.mark.parametrize(
    ("file", "values"),
    [
        ("config.json", {"architectures": 5}),
        ("config.json", {"num_hidden_layers": 3 * 10**7, "model_type": "qwen2"}),
        ("config.json", {"max_position_embeddings": -1}),
        ("config.json", {"return_dict": False}),
        ("config.json", {"vocab_size": [1]}),
        ("generation_config.json", {"bad_words_ids": [[99_999]]}),
        ("generation_config.json", {"eos_token_id": 99_999}),
        ("tokenizer_config.json", {"pad_token": 3}),
    ],
)
def test_strange_settings_get_a_sentence_or_do_no_harm(
    folders: Callable[[str], Path], tmp_path: Path, file: str, values: dict[str, object]
) -> None:
    folder = tmp_path / "strange"
    shutil.copytree(folders("gpt2"), folder)
    path = folder / file
    path.write_text(json.dumps(json.loads(path.read_text()) | values))
    for use in (lambda: translate(opened(folder), TEXTS[0]), lambda: read_any_config(folder)):
        with suppress(CheckpointError):  # and nothing else is raised
            assert use()
