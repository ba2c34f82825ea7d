"""One of our checkpoints, as `transformers` opens it and translates with it."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from model.analysis.mask_bugs import BUGS, mask_bug
from model.checkpoints.checkpoint import Checkpoint, load_checkpoint
from model.cli.main import main
from model.config.model import ModelConfig
from model.config.search import SearchConfig
from model.config.section import ConfigError
from model.foreign.marian import to_fast_tokenizer, to_marian, write_marian
from model.inference.opening import open_translator
from model.inference.translate import translate
from model.network.transformer import Transformer
from tests.conftest import BUNDLED
from viz_app.content.examples import EVERYDAY

STRANGE = ["</s> a", "a\n 你好", "〇 b", "two  spaces ", "你好 Anna", "naïve 🐕‍🦺", "A"]


@pytest.fixture(scope="module", params=["multi30k-en-de", "everyday-de-en"])
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Checkpoint, Path]:
    """A bundled checkpoint, and where it was exported to."""
    folder = tmp_path_factory.mktemp("exported") / "model"
    assert main(["export", request.param, "--to", "marian", "--out", str(folder)]) == 0
    return load_checkpoint(BUNDLED / request.param), folder


@pytest.fixture(scope="module")
def opened(both: tuple[Checkpoint, Path]) -> Checkpoint:
    """The exported checkpoint, opened here."""
    return open_translator(both[1])


@torch.inference_mode()
def test_generate_writes_the_same_text(both: tuple[Checkpoint, Path]) -> None:
    checkpoint, folder = both
    model, tokenizer = AutoModelForSeq2SeqLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    for text in [*EVERYDAY[checkpoint.config.tokenizer.source_language][:6], *STRANGE]:
        read = tokenizer(text, return_tensors="pt")
        assert read.input_ids[0].tolist() == checkpoint.tokenizers.source_ids(text, 256)[0]
        for beams in (1, 5):
            search = SearchConfig(method="beam", beam_size=beams) if beams > 1 else SearchConfig()
            ours = translate(checkpoint, text, search=search)
            if not ours.finished:
                continue  # the text is longer there
            flags = {"num_beams": beams, "early_stopping": beams > 1}
            theirs = model.generate(read.input_ids, attention_mask=read.attention_mask, **flags)[0]
            assert theirs[1:].tolist() == [token.id for token in ours.written]
            assert tokenizer.decode(theirs, skip_special_tokens=True) == ours.text


def test_an_exported_model_opens_with_the_same_numbers(both: tuple[Checkpoint, Path], opened: Checkpoint) -> None:
    checkpoint, other = both[0], opened
    for text in EVERYDAY[checkpoint.config.tokenizer.source_language][:3]:
        ours, found = translate(checkpoint, text), translate(other, text)
        assert found.text == ours.text
        for tokens in ("source", "read", "written"):
            assert [(t.text, t.id) for t in getattr(found, tokens)] == [(t.text, t.id) for t in getattr(ours, tokens)]
        for kind, maps in ours.maps.items():
            np.testing.assert_allclose(found.maps[kind], maps, atol=1e-5)  # another order of the same sums
        np.testing.assert_allclose(
            [token.probability for token in found.written], [token.probability for token in ours.written], atol=1e-4
        )


@pytest.mark.parametrize("bug", ["", *BUGS])
def test_mask_bugs_have_the_same_effect_on_an_exported_model(
    both: tuple[Checkpoint, Path], opened: Checkpoint, bug: str
) -> None:
    checkpoint = both[0]
    texts = tuple(EVERYDAY[checkpoint.config.tokenizer.source_language][:3])
    ours, found = mask_bug(checkpoint, texts, bug), mask_bug(opened, texts, bug)
    for kind, leaked in ours.leaked.items():
        np.testing.assert_allclose(found.leaked[kind], leaked, atol=1e-4)
    # The correct model sees no later token, though its first token is the one that fills up.
    assert bug or max(found.effect_of_future.max(), found.effect_of_batch.max()) < 1e-4
    # What they write may part where two words are all but equally likely; what is right does not.
    assert bug or found.texts == ours.texts


def test_a_model_that_marian_cannot_store_is_refused_with_a_reason(tmp_path: Path) -> None:
    words = load_checkpoint(BUNDLED / "multi30k-de-en-words")
    for checkpoint, reason in (
        (words, "has only 'sinusoidal'"),
        (load_checkpoint(BUNDLED / "gru-de-en"), "is not a Transformer"),
    ):
        with pytest.raises(ConfigError, match=reason):
            write_marian(checkpoint, tmp_path / "model")
        assert not (tmp_path / "model").exists()
    with pytest.raises(ConfigError, match="spaCy"):
        to_fast_tokenizer(words)


@pytest.mark.parametrize(
    "setting", [{"positional": "alibi"}, {"num_kv_heads": 2}, {"score_cap": 9.0}, {"attention_sinks": True}], ids=str
)
def test_an_attention_that_marian_lacks_is_named(setting: dict[str, object]) -> None:
    plain = load_checkpoint(BUNDLED / "multi30k-en-de")
    sizes = ModelConfig.from_dict(plain.config.model.to_dict() | setting)
    (name,) = setting
    changed = dataclasses.replace(plain, config=dataclasses.replace(plain.config, model=sizes))
    with pytest.raises(ConfigError, match=f"has {name} = .* Marian has only"):
        to_marian(changed)


def test_an_existing_folder_is_left_alone(tmp_path: Path) -> None:
    checkpoint = load_checkpoint(BUNDLED / "multi30k-en-de")
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for taken in (tmp_path, tmp_path / "notes.txt", tmp_path / "link"):
        with pytest.raises(ConfigError, match="exists already"):
            write_marian(checkpoint, taken)
    with pytest.raises(ConfigError, match="cannot be written"):
        write_marian(checkpoint, tmp_path / "notes.txt" / "below")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["link", "notes.txt"]


@pytest.mark.parametrize("tie", ["all", "target", "none"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_every_tie_and_activation_computes_the_same(both: tuple[Checkpoint, Path], tie: str, activation: str) -> None:
    trained = both[0]
    assert isinstance(trained.config.model, ModelConfig)
    sizes = dataclasses.replace(
        trained.config.model, d_model=64, num_heads=4, d_ff=128, tie_embeddings=tie, activation=activation
    )
    torch.manual_seed(0)
    ours = Transformer(sizes).eval()
    checkpoint = dataclasses.replace(trained, model=ours, config=dataclasses.replace(trained.config, model=sizes))
    theirs = to_marian(checkpoint)
    source, target = torch.tensor([[5, 6, 7, 3], [8, 9, 3, 0]]), torch.tensor([[2, 4, 5], [2, 6, 7]])
    with torch.inference_mode():
        found = theirs(input_ids=source, attention_mask=(source != 0).long(), decoder_input_ids=target).logits
        expected = ours(source, target)
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)  # of logits of some tens


def test_stored_sinusoids_do_not_count_as_learned(opened: Checkpoint) -> None:
    assert opened.model.config.positional == "its own"
    assert opened.model.position_table() is None
