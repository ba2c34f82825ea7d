"""Each benchmark runs, on sizes so small that its figures mean nothing. Those with a page are in tests/browser."""

import importlib.util
import sys
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from benchmarks import corpus, decode, gpu, live, memory, train_step
from model.config.model import ModelConfig
from tests.conftest import BUNDLED, PATIENCE, ROOT, TOY_DATA

SMALL = ModelConfig(
    source_vocab_size=50, target_vocab_size=50, d_model=16, num_heads=2, d_ff=16, tie_embeddings="none", max_length=30
)


def test_a_training_step_is_compared(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name, value in {"CONFIG": SMALL, "WORDS": 50, "BATCH": 2, "LENGTH": 5, "LARGE": 64}.items():
        monkeypatch.setattr(train_step, name, value)
    monkeypatch.setattr(sys, "argv", ["train_step.py", "--repeats", "1"])
    train_step.main()
    printed = capsys.readouterr().out
    assert "ratio fp32: " in printed
    assert "matrix products" in printed


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")  # of the peer
def test_decoding_is_compared(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name, value in {"CONFIG": SMALL, "WORDS": 50, "LENGTHS": (5, 8)}.items():
        monkeypatch.setattr(decode, name, value)
    monkeypatch.setattr(sys, "argv", ["decode.py", "--repeats", "1", "--threads", "1"])
    decode.main()
    assert "8 target tokens: " in capsys.readouterr().out


def test_a_token_is_timed_on_any_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "CONFIG", SMALL)
    seconds = gpu.seconds_per_token("cpu", repeats=1)  # a processor has no graphs
    assert list(seconds) == ["operation by operation"]
    assert seconds["operation by operation"] > 0


def test_the_engine_of_the_browser_is_compared(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["live.py", "--repeats", "1"])
    live.main()
    assert "8 → 7 tokens: " in capsys.readouterr().out


def test_the_memory_of_a_translation_is_at_least_that_of_its_maps() -> None:
    _, maps = memory.measure(12)
    assert maps == 4 * 3 * 8 * (12 * 12 + 12 * 12 + 12 * 12)  # float32, 3 layers, 8 heads, three kinds


def test_the_memory_of_a_corpus_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus.write_corpus(tmp_path / "large", 300)
    corpus.measure(tmp_path, steps=2)
    printed = capsys.readouterr().out
    assert "300 pairs of " in printed
    assert "order of an epoch" in printed
    assert "mapped files / memory, median of 2 steps" in printed


def test_translations_are_compared_with_ctranslate2_or_its_installation_is_requested(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--data-dir", str(TOY_DATA), "--corpus", "toy", "--split", "val", "--repeats", "1", "--beam", "2"]
    monkeypatch.setattr(sys, "argv", ["batch.py", str(BUNDLED / "everyday-en-de"), *options])
    if importlib.util.find_spec("ctranslate2") is None:
        with pytest.raises(SystemExit, match="install it with pip install ctranslate2"):
            importlib.import_module("benchmarks.batch")
    else:
        importlib.import_module("benchmarks.batch").main()
        assert "translations agree" in capsys.readouterr().out


def test_the_bare_page_draws_two_pictures() -> None:
    app = AppTest.from_file(str(ROOT / "benchmarks" / "bare_page.py"), default_timeout=PATIENCE).run()
    assert not app.exception
    assert len(app.get("plotly_chart")) == 2
