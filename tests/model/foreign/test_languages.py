"""Models of many languages: which they read and write is a token, and is chosen."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from model.checkpoints.languages import code_of, short_code, usual_languages, with_languages
from model.cli.main import main
from model.inference.opening import open_translator
from model.inference.translate import translate
from tests.foreign_folders import make_many_languages

CODES = ("deu_Latn", "eng_Latn", "zho_Hans")
TEXT = "The cat sat on the mat."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As NLLB's: nothing in its settings says into which language."""
    return make_many_languages(tmp_path_factory.mktemp("many") / "small-nllb", CODES)


def test_the_library_gets_the_chosen_languages(folder: Path) -> None:
    checkpoint = open_translator(folder)
    assert tuple(checkpoint.config.tokenizer.languages) == CODES
    library, tokenizer = AutoModelForSeq2SeqLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    texts = set()
    for target in CODES:
        chosen = with_languages(checkpoint, "zho_Hans", target)
        found = translate(chosen, TEXT)
        ids = torch.tensor([[token.id for token in found.source]])
        assert tokenizer.convert_ids_to_tokens(ids[0])[0] == "zho_Hans"
        expected = library.generate(
            ids,
            forced_bos_token_id=tokenizer.convert_tokens_to_ids(target),
            max_new_tokens=len(found.written),
            do_sample=False,
            num_beams=1,
        )
        assert [token.id for token in found.written] == expected[0, 1:].tolist()
        assert chosen.config.tokenizer.target_language == short_code(target)
        assert target not in found.text
        texts.add(found.text)
    assert len(texts) > 1  # the language matters


def test_other_models_have_no_languages_to_choose(folders: Callable[[str], Path]) -> None:
    checkpoint = open_translator(folders("bart"))
    assert not checkpoint.config.tokenizer.languages
    assert with_languages(checkpoint, "", "de") is checkpoint


def test_a_language_that_the_model_lacks_is_named(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"kor_Hang.*languages are deu_Latn"):
        with_languages(open_translator(folder), "eng_Latn", "kor_Hang")


@pytest.mark.parametrize(
    ("token", "code", "short"),
    [("__de__", "de", "de"), ("__ast__", "ast", "ast"), ("zh_CN", "zh_CN", "zh"), ("eng_Latn", "eng_Latn", "en")],
)
def test_the_three_ways_to_write_a_language_are_read(token: str, code: str, short: str) -> None:
    assert (code_of(token), short_code(code)) == (code, short)


@pytest.mark.parametrize("token", ["<s>", "[MASK]", "<extra_id_0>", "de", "▁the", "__", "__DE__"])
def test_other_tokens_are_not_languages(token: str) -> None:
    assert code_of(token) == ""


def test_the_command_line_takes_both_languages(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint = open_translator(folder)
    assert usual_languages(checkpoint.config) == ("eng_Latn", "deu_Latn")  # type: ignore[arg-type]
    expected = translate(with_languages(checkpoint, "zho_Hans", "eng_Latn"), TEXT).text
    capsys.readouterr()
    assert main(["translate", str(folder), TEXT, "--from", "zho_Hans", "--into", "eng_Latn", "--beam", "1"]) == 0
    assert capsys.readouterr().out.strip() == " ".join(expected.splitlines())
