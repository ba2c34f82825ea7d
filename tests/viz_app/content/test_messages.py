"""Texts of `model/` that another language can word."""

import pickle

import pytest

from model.config.section import ConfigError
from model.messages import Message
from viz_app.content import translation
from viz_app.content.catalogues import Catalogue
from viz_app.content.translation import worded

KOREAN = {
    (None, "layer {n}"): "층 {n}",
    (None, "not in {place}: {reason}"): "{place}에 없음: {reason}",
    (None, "too long"): "너무 깁니다",
}


@pytest.fixture(autouse=True)
def korean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translation, "catalogue", lambda _: Catalogue(texts=KOREAN, form=lambda _: 0))


def test_a_message_is_english_and_is_worded_with_its_values() -> None:
    layer = Message("layer {n}", n=2)
    inner = ConfigError("not in {place}: {reason}", place=layer, reason=ConfigError("too long"))
    assert str(inner) == "not in layer 2: too long"
    assert worded(inner) == "층 2에 없음: 너무 깁니다"
    assert worded(pickle.loads(pickle.dumps(layer))) == "층 2"


def test_an_error_keeps_the_message_of_another_one() -> None:
    reason = ConfigError("layer {n}", n=3).message
    assert worded(ConfigError(reason)) == worded(reason) == "층 3"


def test_a_text_without_a_template_is_translated_as_it_is_and_an_error_of_a_library_stays() -> None:
    assert worded("too long") == "너무 깁니다"
    assert worded(ValueError("too long")) == "too long"
