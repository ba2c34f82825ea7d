"""Pairs of texts: what the library's own call `tokenizer(first, second)` gives, for readers and classifiers."""

import json
import tracemalloc
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.typing import NDArray
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from model.analysis.deletion import delete_each_word
from model.analysis.importance import make_examples
from model.analysis.silencing import silence_each_head
from model.checkpoints.checkpoint import Checkpoint, ClassifierCheckpoint
from model.cli.main import main
from model.config.section import ConfigError
from model.inference.classify import classify
from model.inference.opening import open_checkpoint
from model.inference.passes import batch_logits, encode_texts, pad_ids, record_again
from model.inference.translate import translate
from model.interventions import Head, Intervention
from model.text.pair import TextPair, paired
from tests.model.analysis.follow import follow
from tests.pair_folders import PAIRS, make_pair_folder

FIRST, SECOND = "The cat sat on the mat.", "A dog is <mask> through the snow."
CLOSE = {"atol": 1e-5, "rtol": 1e-5}


class Both(NamedTuple):
    """A folder, opened by Headlight and by the library."""

    checkpoint: Checkpoint | ClassifierCheckpoint
    library: Any
    tokenizer: Any

    def answer(self, *texts: str) -> Any:
        """The output of the library's own call."""
        with torch.inference_mode():
            return self.library(**self.tokenizer(*texts, return_tensors="pt"), output_attentions=True)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Both]:
    found = {}
    for name, model in PAIRS.items():
        folder = make_pair_folder(tmp_path_factory.mktemp("pairs") / "model", name)
        library = type(model.make(320)).from_pretrained(folder, attn_implementation="eager").eval()
        found[name] = Both(open_checkpoint(folder), library, AutoTokenizer.from_pretrained(folder))
    return found


def maps_of(answer: Any) -> NDArray[np.float32]:
    return torch.cat(answer.attentions).numpy()


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("texts", [(FIRST, SECOND), (FIRST,), ("cats", f"{SECOND} </s> It is cold.")])
def test_tokens_maps_and_logits_are_those_of_the_library(
    opened: Mapping[str, Both], name: str, texts: tuple[str, ...]
) -> None:
    both, (first, second) = opened[name], (*texts, "")[:2]
    expected = both.answer(*texts)
    if isinstance(both.checkpoint, ClassifierCheckpoint):
        classified = classify(both.checkpoint, first, second=second)
        found = classified
        np.testing.assert_allclose(classified.logits, expected.logits[0], **CLOSE)
    else:
        found = translate(both.checkpoint, first, second=second)
        gaps = [(place, token) for place, token in enumerate(found.source) if token.candidates]
        assert len(gaps) == len(texts) - 1
        for place, token in gaps:
            best = expected.logits[0, place].softmax(dim=-1).max()
            assert token.candidates[0].probability == pytest.approx(float(best), abs=1e-5)
    assert [token.id for token in found.source] == both.tokenizer(*texts)["input_ids"]
    np.testing.assert_allclose(found.maps["encoder"], maps_of(expected), **CLOSE)
    assert {token.part for token in found.source} == ({"", "A", "B"} if second else {""})  # special tokens have none


def test_a_typed_separator_and_an_empty_second_text(opened: Mapping[str, Both]) -> None:
    """A typed separator makes a pair, so that the segments follow from the tokens alone. No second text is no pair."""
    for name, separator in (("bert", "</s>"), ("two separators", "</s></s>")):
        checkpoint = opened[name].checkpoint
        assert isinstance(checkpoint, Checkpoint)
        typed, pair = translate(checkpoint, FIRST + separator + SECOND), translate(checkpoint, FIRST, second=SECOND)
        assert [(token.id, token.part) for token in typed.source] == [(token.id, token.part) for token in pair.source]
        np.testing.assert_array_equal(typed.maps["encoder"], pair.maps["encoder"])
        single, empty = translate(checkpoint, FIRST), translate(checkpoint, FIRST, second=" ")
        assert [token.label for token in empty.source] == [token.label for token in single.source]
        assert not translate(checkpoint, FIRST + separator).second_start  # nothing follows
        for typed in (f"{FIRST} {separator} x", f"{FIRST} </s>"):
            with pytest.raises(ConfigError, match=f"The first text contains {separator}"):
                translate(checkpoint, typed, second=SECOND)


def test_an_unknown_word_with_the_id_0_is_in_its_text(tmp_path: Path) -> None:
    """The tokenizer has no first token for the decoder, and its unknown token has the id 0."""
    folder = make_pair_folder(tmp_path, "bert")
    file = folder / "tokenizer.json"
    swapped = {"<pad>": "<unk>", "<unk>": "<pad>"}
    values = json.loads(file.read_text())
    for token in values["added_tokens"]:
        token["content"] = swapped.get(token["content"], token["content"])
    values["model"]["vocab"] = {swapped.get(token, token): i for token, i in values["model"]["vocab"].items()}
    file.write_text(json.dumps(values))
    names = {"cls_token": "<s>", "sep_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(file), **names)
    tokenizer.save_pretrained(folder)
    checkpoint = open_checkpoint(folder)
    assert isinstance(checkpoint, Checkpoint)
    found, expected = translate(checkpoint, "cats ♞", second="♞ dogs"), tokenizer("cats ♞", "♞ dogs")
    assert [token.id for token in found.source] == expected["input_ids"]
    assert found.second_start == expected["input_ids"].index(tokenizer.sep_token_id) + 1
    last = len(found.source) - 1  # the token after both texts
    assert {token.part for token in found.source[found.second_start : last]} == {"B"}
    unknown = [(token.id, token.part, token.special) for token in found.source if token.unknown]
    assert unknown == [(0, "A", False), (0, "B", False)]


@pytest.mark.parametrize("words", [(90, 8), (8, 90), (90, 90)])
def test_a_long_pair_is_cut_as_the_library_cuts_it(opened: Mapping[str, Both], words: tuple[int, int]) -> None:
    both = opened["classifier"]
    assert isinstance(both.checkpoint, ClassifierCheckpoint)
    texts = ["dog " * words[0], "cat " * words[1]]
    limit = both.checkpoint.model.config.max_length
    cut = both.tokenizer(*texts, truncation="longest_first", max_length=limit)["input_ids"]
    found = classify(both.checkpoint, texts[0], second=texts[1])
    assert list(found.ids) == cut
    assert found.dropped == len(both.tokenizer(*texts)["input_ids"]) - limit


def test_each_row_of_a_padded_batch_has_its_own_segments(opened: Mapping[str, Both]) -> None:
    pairs = [(FIRST, SECOND), ("It is cold.", ""), ("A cat.", "A dog.")]
    for name in ("bert", "classifier"):
        both = opened[name]
        encoded = encode_texts(both.checkpoint, [paired(*pair) for pair in pairs])
        ids = pad_ids(both.checkpoint.model, encoded.source, encoded.read)
        with torch.inference_mode():
            logits = batch_logits(both.checkpoint.model, ids)
        assert logits is not None
        for row, pair in enumerate(pairs):
            expected = both.answer(*filter(None, pair)).logits[0]
            shown = logits[row, : len(expected)] if name == "bert" else logits[row, 0]
            np.testing.assert_allclose(shown, expected, **CLOSE)


def test_analyses_read_both_texts_with_their_segments(opened: Mapping[str, Both]) -> None:
    """Each runs the model again in its own way: over other batches, without a head, with a patched head."""
    both = opened["classifier"]
    checkpoint = both.checkpoint
    assert isinstance(checkpoint, ClassifierCheckpoint)
    pair, head = TextPair(FIRST, SECOND), Head("encoder", 1, 2)
    whole = classify(checkpoint, pair)
    label = list(whole.probabilities).index(whole.label)

    batch = make_examples(checkpoint, [(FIRST, SECOND), ("cats", "")])
    assert batch.target[0] == both.answer(FIRST, SECOND).logits.argmax()

    # The words of both texts are deleted, each from its own text.
    deletions = delete_each_word(checkpoint, pair)
    assert [one.name for one in deletions[:2]] == ["A: The", "A: cat"]
    assert deletions[-1].name == "B: snow."
    expected = both.answer(FIRST, SECOND.removesuffix("snow.")).logits[0].softmax(dim=-1)[label]
    assert deletions[-1].change + whole.probabilities[whole.label] == pytest.approx(float(expected), abs=1e-5)

    silenced = classify(checkpoint, pair, edits=Intervention(ablated=frozenset({head})).edits())
    effects = silence_each_head(follow(checkpoint, pair))
    before, after = (log_odds(one.logits)[label] for one in (whole, silenced))
    assert effects.changes["encoder"][1, 2] == pytest.approx(after - before, abs=1e-4)

    again = record_again(checkpoint.model, whole, ["encoder.layers.*.weights"])
    np.testing.assert_allclose(again.array("encoder.layers.1.self_attention.weights"), whole.encoder[1], **CLOSE)


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        (("cats", "dogs"), ["A: cats", "B: dogs"]),
        (("我爱猫", "A dog"), ["A: 我", "A: 爱", "A: 猫", "B: A", "B: dog"]),
        (("cats", ""), []),
    ],
)
def test_words_are_deleted_and_characters_where_no_spaces_separate_words(
    opened: Mapping[str, Both], pair: tuple[str, str], words: list[str]
) -> None:
    checkpoint = opened["classifier"].checkpoint
    assert isinstance(checkpoint, ClassifierCheckpoint)
    assert [one.name for one in delete_each_word(checkpoint, paired(*pair))] == words


def test_a_long_text_is_copied_only_for_the_words_that_are_deleted(
    opened: Mapping[str, Both], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("model.analysis.deletion.MAX_DELETED", 3)
    checkpoint = opened["classifier"].checkpoint
    assert isinstance(checkpoint, ClassifierCheckpoint)
    text = f"{'x' * 100_000} {'dog ' * 500}"  # 500 copies are 50 MB
    tracemalloc.start()
    assert len(delete_each_word(checkpoint, text)) == 3
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6


def log_odds(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    shares = np.exp(logits.astype(np.float64)) / np.exp(logits.astype(np.float64)).sum()
    return np.asarray(np.log(shares / (1 - shares)))


def test_only_models_with_a_template_for_pairs_accept_a_second_text(folders: Any, tmp_path: Path) -> None:
    reader = open_checkpoint(folders("bert"))
    assert isinstance(reader, Checkpoint)
    with pytest.raises(ConfigError, match="its tokenizer has no template for two"):
        translate(reader, FIRST, second=SECOND)
    writer = open_checkpoint(folders("gpt2"))
    assert isinstance(writer, Checkpoint)
    with pytest.raises(ConfigError, match="writes a text and reads a single one"):
        translate(writer, FIRST, second=SECOND)


def test_the_command_line_reads_a_pair(
    opened: Mapping[str, Both], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    classifier, reader = opened["classifier"].checkpoint, opened["bert"].checkpoint
    assert isinstance(classifier, ClassifierCheckpoint)
    assert isinstance(reader, Checkpoint)
    assert main(["classify", str(classifier.path), FIRST, "--second", SECOND, "--device", "cpu"]) == 0
    found = classify(classifier, FIRST, second=SECOND)
    assert capsys.readouterr().out == f"{found.label}\t{found.probabilities[found.label]:.3f}\n"

    arguments = ["attention", str(reader.path), FIRST, "--second", SECOND, "--out"]
    for name in ("maps.npz", "maps.csv", "maps.json"):
        assert main([*arguments, str(tmp_path / name)]) == 0
    expected = translate(reader, FIRST, second=SECOND)
    with np.load(tmp_path / "maps.npz") as file:
        np.testing.assert_allclose(file["encoder"], expected.maps["encoder"], **CLOSE)
        assert file["second"] == SECOND
        assert file["source_parts"].tolist() == [token.part for token in expected.source]
    values = json.loads((tmp_path / "maps.json").read_text())
    assert (values["sentence"], values["second"]) == (FIRST, SECOND)
    table = pd.read_csv(tmp_path / "maps.csv")
    assert table["second"][0] == SECOND
    assert set(table["query"]) == {token.label for token in expected.source}
