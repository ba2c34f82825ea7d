"""Weights of tutorials without a `headlight.toml`: recognised, described, and opened with the same numbers."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from model.checkpoints.checkpoint import CheckpointError
from model.checkpoints.description import read_values, write_values
from model.checkpoints.recognition import answered, questions_for, recognised
from model.cli.main import main
from model.inference.opening import open_checkpoint, open_translator
from model.inference.translate import translate
from model.trace import hook_name, tracing
from tests.model.checkpoints.tutorial_layouts import HEADS, SPELLINGS, Spelling, logits_of, state_of

SOURCE = ["<unk>", "<pad>", "<s>", "</s>", *["the", "small", "dog", "cat", "sees", "a", "red", "house"]]
TARGET = ["<pad>", "<unk>", "<s>", "</s>", *["der", "kleine", "hund", "katze", "sieht", "ein", "rotes", "haus", "und"]]
TEXT = "the small dog sees a zebra"
CLOSE = {"atol": 1e-5, "rtol": 1e-5}
TRUE = {"num_heads": HEADS, "norm": "post", "activation": "relu", "scale_embeddings": True}


def saved(folder: Path, spelling: Spelling, **more: object) -> dict[str, Tensor]:
    """Write the weights and both vocabularies as a tutorial does."""
    folder.mkdir()
    state = state_of(spelling, (len(SOURCE), len(TARGET)))
    wrapped = {spelling.wrapper: state, "epoch": 3, "optimizer": {"state": {0: torch.ones(2)}}}
    torch.save((wrapped if spelling.wrapper else state) | more, folder / "model.pt")
    (folder / "words.src.txt").write_text("\n".join(SOURCE))
    (folder / "words.tgt.txt").write_text("\n".join(TARGET))
    return state


def describe(folder: Path, answers: Mapping[str, object] = TRUE) -> set[str]:
    """Write `headlight.toml`, and return what had to be asked."""
    values = recognised(folder)
    questions = questions_for(values, folder)
    write_values(folder, answered(values, {question.path: answers[question.path[-1]] for question in questions}))
    return {question.path[-1] for question in questions}


@torch.inference_mode()
@pytest.mark.parametrize("name", SPELLINGS)
def test_a_tutorial_opens_with_the_numbers_of_its_own_code(tmp_path: Path, name: str) -> None:
    spelling, folder = SPELLINGS[name], tmp_path / "mine"
    state = saved(folder, spelling)
    with pytest.raises(CheckpointError, match="python -m model describe"):
        open_checkpoint(folder)
    assert describe(folder) == spelling.asked
    checkpoint = open_translator(folder)
    found = translate(checkpoint, TEXT)
    source, read = ([token.id for token in tokens] for tokens in (found.source, found.read))
    words = [SOURCE.index(word) if word in SOURCE else 0 for word in TEXT.split()]
    assert source == [*([2] if name != "joeynmt" else []), *words, 3]
    logits, maps = logits_of(spelling, state, torch.tensor(source), torch.tensor(read))
    with tracing(record=("*.weights",)) as trace:
        torch.testing.assert_close(checkpoint.model(torch.tensor([source]), torch.tensor([read]))[0], logits, **CLOSE)
    for kind, layers in maps.items():
        for layer, expected in enumerate(layers):
            weights = trace.passes(hook_name(kind, layer, "weights"))[0][0]
            torch.testing.assert_close(weights, expected, **CLOSE)
    counted = sum(tensor.numel() for key, tensor in state.items() if key not in spelling.tables or spelling.learned)
    assert sum(parameter.numel() for parameter in checkpoint.model.parameters()) == counted


@torch.inference_mode()
def test_norms_with_one_number_and_other_names_open(tmp_path: Path) -> None:
    """An early version of one tutorial has a single scale and shift; many others replace its norms by nn.LayerNorm."""
    one, folder = SPELLINGS["hkproj"], tmp_path / "one"
    state = {name: t[:1] if ".norm." in name else t for name, t in saved(folder, one).items()}
    torch.save(state, folder / "model.pt")
    describe(folder)
    ids = torch.tensor([4, 5, 3])
    expected = logits_of(one, state, ids, ids)[0]
    torch.testing.assert_close(open_translator(folder).model(ids[None], ids[None])[0], expected, **CLOSE)
    plain, folder = (
        replace(SPELLINGS["annotated"], norm=("weight", "bias"), sample=False, epsilon=1e-5),
        tmp_path / "plain",
    )
    state = saved(folder, plain)
    describe(folder)
    expected = logits_of(plain, state, ids, ids)[0]
    torch.testing.assert_close(open_translator(folder).model(ids[None], ids[None])[0], expected, **CLOSE)


def test_a_surplus_loss_is_ignored_by_name_and_settings_beside_the_weights_are_read(tmp_path: Path) -> None:
    spelling = SPELLINGS["PyTorch tutorial"]
    state = {f"module.{name}": tensor for name, tensor in saved(tmp_path / "mine", spelling).items()}
    state["module.criterion.weight"] = torch.rand(len(TARGET))
    torch.save({"net": state, "args": {"nhead": HEADS}}, tmp_path / "mine" / "model.pt")
    assert describe(tmp_path / "mine") == {"norm", "activation"}
    assert read_values(tmp_path / "mine")["ignore"] == ["criterion.*"]
    assert "criterion.weight" in " ".join(open_checkpoint(tmp_path / "mine").config.notes)


def test_what_is_not_clear_is_asked_and_never_guessed(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    saved(folder, SPELLINGS["hyunwoongko"])
    for name, words in (("one.txt", SOURCE), ("two.txt", [*SOURCE[4:], "PADDING", "START"])):
        (folder / name).write_text("\n".join(words))
    (folder / "words.src.txt").unlink()
    (folder / "words.tgt.txt").rename(folder / "three.txt")
    values = recognised(folder)
    asked = {question.name: question.choices for question in questions_for(values, folder)}
    assert set(asked) == {"model.num_heads"}, "the sizes tell which vocabulary is which"
    assert asked["model.num_heads"] == (1, 2, 4, 8, 16, 32)
    (folder / "two.txt").write_text("\n".join(SOURCE).replace("<pad>", "PADDING"))  # both have 12 tokens
    values = recognised(folder)
    assert {question.name for question in questions_for(values, folder)} == {"model.num_heads", "source_vocabulary"}
    write_values(folder, values)
    with pytest.raises(CheckpointError, match=r"does not say source_vocabulary, model\.num_heads yet"):
        open_checkpoint(folder)


def test_the_embeddings_of_any_torch_model_are_found_only_if_their_sides_are_clear(tmp_path: Path) -> None:
    spelling = replace(SPELLINGS["PyTorch tutorial"], ends=("words", "target.words", "to_words"), tables=("", ""))
    saved(tmp_path / "mine", spelling)
    assert describe(tmp_path / "mine", TRUE | {"positional": "sinusoidal"}) == {*TRUE, "positional"}
    assert open_checkpoint(tmp_path / "mine").name == "mine"
    saved(tmp_path / "unclear", replace(spelling, ends=("words", "more_words", "to_words")))
    with pytest.raises(CheckpointError, match="no file that describes them"):
        recognised(tmp_path / "unclear")


def test_weights_of_another_model_get_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    torch.save({"layer.weight": torch.ones(2, 2)}, tmp_path / "mine" / "model.pt")
    with pytest.raises(CheckpointError, match=r"no file that describes them\. Write a headlight\.toml"):
        open_checkpoint(tmp_path / "mine")
    torch.save({"layer.weight": torch.ones(2, 2)}, tmp_path / "mine" / "last.pt")
    with pytest.raises(CheckpointError, match=r"several files of weights: last\.pt, model\.pt\. Keep one"):
        open_checkpoint(tmp_path / "mine")


def test_the_command_writes_the_description_and_names_the_open_questions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "mine"
    saved(folder, SPELLINGS["hkproj"])
    assert main(["describe", str(folder), "--set", "num_heads=5"]) == 1
    assert "num_heads is 5. It must be one of these: 1, 2, 4" in capsys.readouterr().err
    assert main(["describe", str(folder)]) == 0
    assert "Fill in model.num_heads. How many heads" in capsys.readouterr().out
    assert main(["describe", str(folder), "--set", f"num_heads={HEADS}"]) == 0
    assert 'layout = "hkproj"' in capsys.readouterr().out
    assert open_translator(folder).model.config.num_heads == HEADS
    assert main(["describe", str(folder), "--set", "num_heads=8"]) == 1
    assert "already has a headlight.toml" in capsys.readouterr().err
    assert read_values(folder)["model"]["num_heads"] == HEADS


def test_the_printed_names_and_answers_are_accepted_in_several_steps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "mine"
    saved(folder, SPELLINGS["joeynmt"])
    assert main(["describe", str(folder)]) == 0
    assert "by √d_model? One of these: true, false." in capsys.readouterr().out
    assert main(["describe", str(folder), "--set", "scale_embeddings=1"]) == 1
    assert "It must be one of these: true, false." in capsys.readouterr().err
    assert main(["describe", str(folder), "--set", "scale_embeddings=False"]) == 0
    assert main(["describe", str(folder), "--set", f"model.num_heads={HEADS}", "--set", "activation=relu"]) == 0
    assert read_values(folder)["model"]["scale_embeddings"] is False
    assert open_translator(folder).model.config.num_heads == HEADS


def test_a_commented_description_is_not_changed(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    saved(folder, SPELLINGS["hkproj"])
    assert main(["describe", str(folder)]) == 0
    text = (folder / "headlight.toml").read_text(encoding="utf-8") + "# from the run in May\n"
    (folder / "headlight.toml").write_text(text, encoding="utf-8")
    assert main(["describe", str(folder), "--set", f"num_heads={HEADS}"]) == 1
    assert (folder / "headlight.toml").read_text(encoding="utf-8") == text


def test_the_first_token_of_a_source_is_asked_from_its_vocabulary_and_may_be_none(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    saved(folder, SPELLINGS["hkproj"])
    (folder / "words.src.txt").write_text("\n".join(SOURCE).replace("<s>", "<go>"))
    (folder / "words.tgt.txt").write_text("\n".join([*TARGET[:-1], "<only-target>"]))
    values = recognised(folder)
    question = next(one for one in questions_for(values, folder) if one.name == "specials.source.bos")
    assert "of the source" in question.text
    assert question.choices == ("<unk>", "<pad>", "<go>", "</s>", "none")
    assert main(["describe", str(folder), "--set", f"num_heads={HEADS}"]) == 0
    assert main(["describe", str(folder), "--set", "specials.source.bos=none"]) == 0
    assert [token.id for token in translate(open_translator(folder), "the dog").source] == [4, 6, 3]


@torch.inference_mode()
@pytest.mark.parametrize(
    ("name", "shape"), [("where", (50, 32)), ("where", (1, 50, 32)), ("p.where", (50, 1, 32)), ("wpe.weight", (50, 32))]
)
def test_the_only_table_beside_a_torch_model_is_its_table_of_positions(
    tmp_path: Path, name: str, shape: tuple[int, ...]
) -> None:
    folder, ends = tmp_path / "mine", ("words", "target.words", "to_words")
    spelling = replace(SPELLINGS["PyTorch tutorial"], ends=ends, tables=("", ""))
    table = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    state = saved(folder, spelling) | {name: table}
    torch.save(state, folder / "model.pt")
    assert describe(folder) == set(TRUE)
    values = read_values(folder)
    assert (values["positions"], values["model"]["max_length"]) == ({"table": name}, 50)
    source, read = torch.tensor([2, 4, 5, 3]), torch.tensor([2, 4])
    own = replace(spelling, tables=(name, name))
    expected = logits_of(own, state | {name: table.reshape(50, 32)[:30]}, source, read)[0]
    torch.testing.assert_close(open_translator(folder).model(source[None], read[None])[0], expected, **CLOSE)
    for changed, remedy in (
        ({"positional": "none"}, f'remove positional = "none" and write table = "{name}"'),
        ({"positional": "learned", "max_length": 256}, "Set max_length to 50"),
    ):
        write_values(folder, {**values, "model": values["model"] | changed})
        with pytest.raises(CheckpointError, match=remedy):
            open_checkpoint(folder)


def test_two_possible_tables_of_positions_are_asked_for_and_never_denied(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    spelling = replace(SPELLINGS["PyTorch tutorial"], ends=("words", "target.words", "to_words"), tables=("", ""))
    torch.save(saved(folder, spelling) | {"where": torch.rand(50, 32), "kinds": torch.rand(2, 32)}, folder / "model.pt")
    values = recognised(folder)
    assert "no table" not in next(one.text for one in questions_for(values, folder) if one.path[-1] == "positional")
    describe(folder, TRUE | {"positional": "learned"})
    with pytest.raises(CheckpointError, match=r"Name the table in \[positions\]"):
        open_checkpoint(folder)
