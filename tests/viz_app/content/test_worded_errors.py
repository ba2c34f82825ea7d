"""An error of `model/` in the language of the visitor, with the errors inside it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from model.checkpoints.checkpoint import CheckpointError
from model.inference.opening import read_any_config
from model.interventions import Head, Intervention, PaintedCell
from model.messages import Message, MessageError, first_line
from model.network.positional import LearnedPositions
from viz_app.content.numbers import decimal
from viz_app.content.translation import in_language, worded
from viz_app.widgets.language_names import language_label, language_name

DEEP = "[" * 100 + "]" * 100


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "config.json of deep cannot be used: config.json is nested too deeply."),
        ("zh", "无法使用 deep 的 config.json：config.json 嵌套过深。"),
        ("ko", "deep의 config.json 파일을 사용할 수 없습니다: config.json: 중첩이 너무 깊습니다."),
    ],
)
def test_a_reason_inside_an_error_has_the_same_language(tmp_path: Path, language: str, sentence: str) -> None:
    folder = tmp_path / "deep"
    folder.mkdir()
    (folder / "config.json").write_text(DEEP, encoding="utf-8")
    with pytest.raises(CheckpointError) as caught:
        read_any_config(folder)
    with in_language(language):
        assert worded(caught.value) == sentence


def test_a_setting_inside_an_error_has_the_same_language(tmp_path: Path) -> None:
    values = {"format": 99, "task": "translation", "model": {}, "tokenizer": {}, "train": {}}
    (tmp_path / "config.json").write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(CheckpointError) as caught:
        read_any_config(tmp_path)
    with in_language("zh"):
        assert "此版本的 Headlight 读取格式" in worded(caught.value)


def two_weights_in_a_row() -> Intervention:
    head = Head("cross", 0, 1)
    return Intervention(painted=frozenset(PaintedCell(head, 2, key, 0.5) for key in (0, 1)))


@pytest.mark.parametrize(
    ("fail", "sentence"),
    [
        (two_weights_in_a_row, "第 1 层第 2 头（交叉）的第 3 行中涂改了两个权重。每行最多涂改一个权重。"),
        (
            lambda: LearnedPositions(max_length=4, d_model=2)(torch.zeros(1, 5, 2)),
            "文本有 5 个 token，但这个模型只有 4 个位置。请缩短文本。",
        ),
        (lambda: Intervention.from_code("off"), "链接中有未知的改动：'off'"),
    ],
    ids=["two weights in a row", "a text beyond the table of positions", "a link with an unknown change"],
)
def test_what_a_visitor_does_wrong_is_said_in_the_language_of_the_visitor(
    fail: Callable[[], object], sentence: str
) -> None:
    with pytest.raises(MessageError) as caught:
        fail()
    with in_language("zh"):
        assert worded(caught.value) == sentence


def test_the_message_of_another_library_is_one_short_line() -> None:
    assert first_line(ValueError("first\nsecond")) == "first"
    assert len(first_line(ValueError("x" * 1000))) == 300
    assert first_line(KeyError()) == "KeyError"
    assert not isinstance(first_line(ValueError(Message("{name} is wrong.", name="x" * 1000))), Message)


def test_a_sign_stands_before_a_change() -> None:
    assert [decimal(value, digits=2, signed=True) for value in (0.5, -1234.5)] == ["+0.50", "-1,234.50"]


def test_languages_have_names_in_the_language_of_the_visitor() -> None:
    assert (language_name("de"), language_name("letters"), language_name("qq")) == ("German", "letters", "qq")
    with in_language("ko"):
        assert language_label("deu_Latn") == "독일어(deu_Latn)"
        assert language_name("letters") == "글자"
