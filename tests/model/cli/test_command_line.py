import io
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from model.checkpoints.checkpoint import BY_LENGTH, Checkpoint, find_snapshots, read_config
from model.cli.main import main
from model.config.search import SearchConfig
from model.inference.export import maps_csv, maps_json
from model.inference.translate import translate
from tests.conftest import TOY_DATA
from tests.foreign_folders import LABELS, make_folder


def test_evaluate_prints_and_records_figures_also_by_the_length_of_a_sentence(
    toy_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(toy_folder, tmp_path / "copy")
    options = [str(folder), "--split", "test", "--data-dir", str(TOY_DATA), "--by-length"]
    assert main(["evaluate", *options]) == 0
    text = capsys.readouterr().out
    assert "40 examples" in text
    assert "tok:13a" in text
    rows = [line for line in text.splitlines() if "sentences" in line]
    assert sum(int(row.split("words")[1].split()[0]) for row in rows) == 40
    assert not any(BY_LENGTH in name for name in read_config(folder).figures)
    assert main(["evaluate", *options, "--json", "--beam", "1", "--record"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["beam"] == 1
    assert values["bleu_lowercased"] > 60
    assert values["perplexity"] == pytest.approx(np.exp(values["loss"]))
    assert len(values["by_length"]) == len(rows)
    figures = read_config(folder).figures
    expected = {f"toy.test.{BY_LENGTH}{words}": bleu for words, _, bleu in values["by_length"]}
    expected["toy.test.bleu"] = values["bleu"]
    assert {name: figures[name] for name in expected} == pytest.approx(expected, abs=0.01)
    assert "valid_bleu" in figures


def test_texts_can_be_given_as_arguments(
    toy: Checkpoint, toy_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = ["The dog sees the cat.", "The bird sings on the bridge."]
    expected = [translate(toy, text, search=SearchConfig(method="beam", beam_size=2)).text for text in texts]
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(toy_folder.parent))
    assert main(["translate", toy_folder.name, *texts, "--beam", "2"]) == 0  # by the name alone
    assert capsys.readouterr().out.splitlines() == expected


def test_translate_answers_line_for_line(
    toy: Checkpoint, toy_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("The dog sees the cat.\n\nThe bird sings on the bridge."))
    assert main(["translate", str(toy_folder), "--beam", "2"]) == 0
    lines = capsys.readouterr().out.split("\n")
    assert len(lines) == 4
    assert lines[1] == lines[3] == ""
    assert lines[0] == translate(toy, "The dog sees the cat.", search=SearchConfig(method="beam", beam_size=2)).text


def test_sampling_follows_its_seed(
    toy_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def drawn(*options: str) -> str:
        monkeypatch.setattr("sys.stdin", io.StringIO("The dog sees the cat.\nThe bird sings.\n"))
        assert main(["translate", str(toy_folder), "--sample", *options]) == 0
        return capsys.readouterr().out

    wild = ("--temperature", "3")
    assert drawn(*wild, "--seed", "1") == drawn(*wild, "--seed", "1")
    assert drawn(*wild, "--seed", "1") != drawn(*wild, "--seed", "2")
    assert drawn(*wild, "--top-k", "1", "--seed", "1") == drawn("--top-p", "0.000001", "--seed", "2")
    assert main(["translate", str(toy_folder), "--sample", "--top-p", "2"]) == 1
    assert "top_p is 2.0" in capsys.readouterr().err


@pytest.mark.parametrize("limits", [{"temperature": 0.001}, {"temperature": 1000.0}])
def test_the_limits_of_a_search_can_be_computed(toy: Checkpoint, limits: dict[str, float]) -> None:
    found = translate(toy, "The dog sees the cat.", search=SearchConfig(method="sample", **limits))
    assert all(np.isfinite(token.probability) for token in found.written)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["translate", "x", "--temperature", "-5"], "--temperature -5.0 has no effect without --sample"),
        (["attention", "x", "x", "--top-k", "0"], "--top-k 0 has no effect without --sample"),
        (["translate", "x", "--sample", "--beam", "5"], "--beam 5 has no effect with --sample"),
        (["evaluate", "x", "--class", "--json"], "--json has no effect with --class"),
        (["evaluate", "x", "--class", "--by-length"], "--by-length has no effect with --class"),
        (["evaluate", "x", "--class", "--beam", "5"], "--beam 5 has no effect with --class"),
        (["evaluate", "multi30k-en-de", "--certainty", "--json"], "--json has no effect with --certainty"),
        (
            ["evaluate", "imdb-sentiment", "--by-length"],
            "--by-length has no effect on imdb-sentiment, which classifies",
        ),
    ],
)
def test_an_option_without_effect_is_refused(
    options: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert main(options) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("texts", [["The dog sees the cat."], ["The dog sees the cat."] * 200])
def test_a_closed_pipe_ends_translate_without_a_traceback(
    toy_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], texts: list[str]
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w", encoding="utf-8") as closed:
        monkeypatch.setattr("sys.stdout", closed)
        assert main(["translate", str(toy_folder), *texts, "--beam", "1"]) == 141
        closed.write("what is left at the end is written to nobody")
    assert capsys.readouterr().err == ""


def test_translate_refuses_input_that_is_not_utf_8(
    toy_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"caf\xe9\n"), encoding="utf-8"))
    assert main(["translate", str(toy_folder)]) == 1
    assert "not UTF-8: byte 0xe9" in capsys.readouterr().err


def test_attention_writes_tokens_and_maps(toy: Checkpoint, toy_folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "maps.npz"
    assert main(["attention", str(toy_folder), "The dog sees the cat.", "--out", str(out)]) == 0
    expected = translate(toy, "The dog sees the cat.")
    with np.load(out, allow_pickle=False) as file:
        for name in ("encoder", "decoder", "cross"):
            # Two passes: sums in another order may differ in the last bits of fp32.
            np.testing.assert_allclose(file[name], expected.maps[name], atol=1e-6)
        assert file["source_tokens"].tolist() == [t.text for t in expected.source]
        assert file["written_tokens"].tolist() == [t.text for t in expected.written]
        assert file["read_tokens"][0] == "<s>"
        assert file["checkpoint"] == toy_folder.name
        assert file["sentence"] == "The dog sees the cat."
        assert file["translation"] == expected.text


def test_json_and_csv_hold_the_same_maps(toy: Checkpoint, toy_folder: Path, tmp_path: Path) -> None:
    expected = translate(toy, "The dog sees the cat.")
    for form in ("json", "csv"):
        out = tmp_path / f"maps.{form}"
        assert main(["attention", str(toy_folder), "The dog sees the cat.", "--out", str(out)]) == 0
    found = json.loads((tmp_path / "maps.json").read_text(encoding="utf-8"))
    table = pd.read_csv(tmp_path / "maps.csv", keep_default_na=False)
    assert found["source_tokens"] == [token.text for token in expected.source]
    for name, fact in {"checkpoint": toy_folder.name, "sentence": "The dog sees the cat."}.items():
        assert found[name] == fact
        assert table[name].tolist() == [fact, *[""] * (len(table) - 1)]
    for name, maps in expected.maps.items():
        np.testing.assert_allclose(np.array(found[name], dtype=np.float32), maps, atol=1e-6)
        np.testing.assert_allclose(table[table.attention == name]["weight"].to_numpy(), maps.ravel(), atol=1e-6)
    rows = table.groupby(["attention", "layer", "head", "query_position"])["weight"].sum()
    np.testing.assert_allclose(rows, 1.0, atol=1e-4)  # a softmax of fp32, each weight written with its digits


def test_json_has_every_digit_and_only_standard_values(toy: Checkpoint) -> None:
    found = translate(toy, "The dog sees the cat.")
    maps = {name: weights.copy() for name, weights in found.maps.items()}
    maps["cross"][0, 0, 0, 0] = np.nan
    read = json.loads(b"".join(maps_json(replace(found, maps=maps), {})), parse_constant=pytest.fail)
    assert read["cross"][0][0][0][0] is None
    np.testing.assert_array_equal(np.array(read["encoder"], dtype=np.float32), maps["encoder"])


@pytest.mark.parametrize("text", ["=SUM(1)", "+1", "-1", "@x"])
def test_no_cell_of_the_csv_is_a_formula(toy: Checkpoint, text: str) -> None:
    found = translate(toy, "The dog sees the cat.")
    source = (replace(found.source[0], text=text), *found.source[1:])
    file = b"".join(maps_csv(replace(found, source=source), {"sentence": text}))
    table = pd.read_csv(io.BytesIO(file), keep_default_na=False)
    for column in ("key", "sentence"):
        assert f"'{text}" in table[column].tolist()
        assert text not in table[column].tolist()


def test_csv_holds_every_weight_at_its_place(toy: Checkpoint) -> None:
    translation = translate(toy, "The dog sees the cat.")
    table = pd.read_csv(io.BytesIO(b"".join(maps_csv(translation, {}))), keep_default_na=False)
    maps = translation.maps
    assert len(table) == maps["encoder"].size + maps["decoder"].size + maps["cross"].size
    row = table[
        (table.attention == "cross")
        & (table.layer == 1)
        & (table["head"] == 3)
        & (table.query_position == 2)
        & (table.key_position == 4)
    ]
    assert row["weight"].item() == pytest.approx(maps["cross"][0, 2, 1, 3], rel=1e-5)
    assert row["query"].item() == translation.written[1].text
    assert row["key"].item() == translation.source[3].text
    # Decoder self-attention is labelled by what was read, on both axes.
    own = table[table.attention.str.startswith("decoder") & (table.layer == 1) & (table["head"] == 1)]
    read = [token.text for token in translation.read]
    assert own[own.query_position == 2]["key"].tolist() == own[own.key_position == 2]["query"].tolist() == read


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "nothing"], "There is no recipe 'nothing'"),
        (["train", "everyday-de-en", "--set", "num_heads=7"], "d_model (256) must be divisible by num_heads (7)"),
        (
            ["train", "multi30k-en-de", "--data-dir", "/nowhere", "--out", "/nowhere"],
            "Name the right folder with --data-dir",
        ),
        (["train", "multi30k-en-de"], "holds a trained checkpoint already"),
        (["translate", __file__], "is a file, and a checkpoint is a folder. Give the path of the folder"),
        (["evaluate", "nothing"], "There is no checkpoint 'nothing'"),
        (["attention", "nothing", "A dog."], "There is no checkpoint 'nothing'"),
        (
            ["attention", "everyday-en-de", "A dog.", "--out", "maps.xlsx"],
            "must end in .npz, .csv, .json",
        ),
    ],
)
def test_mistakes_get_a_message_and_exit_code_1(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("command", ["evaluate", "translate", "classify"])
def test_a_device_can_be_named(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    name = "imdb-sentiment" if command == "classify" else "multi30k-en-de"
    assert main([command, name, "--device", "cuda"]) == 1
    assert "This machine has no cuda" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["train", "toy"], ["evaluate", "everyday-en-de"]])
def test_without_the_packages_for_training_the_command_names_them(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("accelerate", "sacremoses"):
        monkeypatch.setitem(sys.modules, name, None)
    assert main(arguments) == 1
    assert "not installed: accelerate, sacremoses. Run: pip install" in capsys.readouterr().err


def test_other_commands_do_not_import_the_packages_for_training() -> None:
    code = (
        "import sys; from model.cli.main import make_parser, COMMANDS; make_parser('', '', COMMANDS);"
        "print({'accelerate', 'sacrebleu', 'torchtext', 'transformers'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize("arguments", [["translate", "x", "--beam", "0"], ["train", "x", "--set", "seed"], []])
def test_wrong_usage_is_explained(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "usage: python -m model" in capsys.readouterr().err


def test_evaluate_prints_the_wrong_sentences_of_a_class_list(
    toy: Checkpoint,
    toy_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    source = (TOY_DATA / "toy" / "val.en").read_text().splitlines()[0]
    written = translate(toy, source).text
    (tmp_path / "en-de.tsv").write_text(f"{source}\t{written}\n{source} {source}\tQuatsch\n")
    monkeypatch.setattr("model.cli.evaluate.CLASS_LISTS", tmp_path)
    assert main(["evaluate", str(toy_folder), "--class"]) == 0
    wrong, share = capsys.readouterr().out.splitlines()
    assert wrong.startswith(f"{source} {source}\t")
    assert wrong.endswith("\t(Quatsch)")
    assert share == f"{toy_folder.name}: 1 of 2 acceptable, 50.0\u00a0%"


def test_a_toy_is_written_and_trained_with_snapshots(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["toy", "dates", "--data-dir", str(tmp_path)]) == 0
    command = capsys.readouterr().out.split("python -m model ")[1].split()
    out = tmp_path / "run"
    assert command[2:6] == ["--data-dir", str(tmp_path), "--out", "runs/dates"]
    places = ["--out", str(out), "--device", "cpu"]
    assert main([*command, *places, "--max-steps", "3", "--snapshots", "0", "2"]) == 0
    assert [path.name for path in find_snapshots(out).values()] == [
        f"step-00000{step}.safetensors" for step in (0, 2, 3)
    ]
    assert read_config(out).tokenizer.target_language == "digits"
    assert main(["toy", "dates", "--data-dir", str(tmp_path)]) == 1
    assert "exists already" in capsys.readouterr().err


def test_a_folder_of_transformers_classifies_but_cannot_be_evaluated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_folder(tmp_path / "reviews", "bert-classifier")
    monkeypatch.setattr("sys.stdin", io.StringIO("What a fine film!\n"))
    assert main(["classify", str(folder)]) == 0
    assert capsys.readouterr().out.split("\t")[0] in LABELS.values()
    for arguments in (
        ["evaluate", str(folder)],
        ["train", "imdb-sentiment", "--init", str(folder), "--out", "/nowhere"],
    ):
        assert main(arguments) == 1
        assert "reviews is a folder of Hugging Face's transformers" in capsys.readouterr().err


def test_the_remedy_for_a_missing_toy_is_to_write_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "toy", "--data-dir", "/nowhere", "--out", "/nowhere/run"]) == 1
    assert "python -m model toy " in capsys.readouterr().err
