"""Decoders alone as tutorials save them: recognised, described by hand, opened, and compared with their mathematics."""

import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer
from tokenizers import ByteLevelBPETokenizer
from torch import Tensor
from transformers import GPT2Config, GPT2LMHeadModel

from model.checkpoints.checkpoint import Checkpoint, CheckpointError
from model.checkpoints.description import write_values
from model.checkpoints.recognition import answered, questions_for, recognised
from model.config.section import ConfigError
from model.foreign.stacks import agrees, comparisons
from model.inference.opening import open_checkpoint, open_translator, read_any_config
from model.inference.translate import translate
from model.network.protocols import Writes
from model.text.vocabulary_list import read_vocabulary
from model.trace import ablate_heads, tracing
from tests.model.foreign.decoder_layouts import HEADS, LENGTH, TEXT, TUTORIALS, WIDTH, WORDS, Tutorial, tutorial
from tools.family_analyses import ANALYSES
from tools.library_run import Pair, run


def agree(found: Tensor, expected: Tensor) -> None:
    """Both are the same sums in another order, in single precision."""
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def saved(folder: Path, made: Tutorial, **tensors: Tensor) -> Path:
    """A folder as the training loop of a tutorial leaves it, with a list of words."""
    folder.mkdir()
    beside = {"iter_num": 3, "best_val_loss": torch.tensor(2.0), "optimizer": {"state": {0: {"step": torch.zeros(1)}}}}
    torch.save({"model": made.tensors | tensors, **made.settings, **beside}, folder / "ckpt.pt")
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    return folder


def described(folder: Path) -> Path:
    """Write the `headlight.toml`, and answer the question for the number of heads."""
    values = recognised(folder)
    asked = {question.path: HEADS for question in questions_for(values, folder)}
    write_values(folder, answered(values, asked))
    return folder


def logits_of(checkpoint: Checkpoint, ids: Tensor) -> Tensor:
    assert isinstance(checkpoint.model, Writes)
    return checkpoint.model.decode(ids[None], ids[None], None)[0]


@pytest.mark.parametrize("name", TUTORIALS)
@torch.inference_mode()
def test_a_tutorials_decoder_is_recognised_and_computes_what_its_code_computes(name: str, tmp_path: Path) -> None:
    made = tutorial(name)
    folder = saved(tmp_path / "own", made)
    asked = [question.name for question in questions_for(recognised(folder), folder)]
    assert asked == ([] if made.heads else ["model.num_heads"]) or name == "a lecture on GPT"
    checkpoint = open_translator(described(folder))
    config = read_any_config(folder)
    assert (config.task, config.model.kinds, config.model.num_heads) == ("continuation", ("decoder",), HEADS)
    found = translate(checkpoint, TEXT)
    ids = torch.tensor([token.id for token in found.read])
    logits, maps = made.compute(ids)
    agree(torch.from_numpy(found.maps["decoder"]), maps)
    agree(logits_of(checkpoint, ids), logits)
    first = found.prompt_length
    assert " ".join(WORDS[i] for i in ids[: first + 1]) == TEXT
    assert [token.id for token in found.written[first:]] == logits[first:].argmax(dim=-1).tolist()
    assert bool(checkpoint.model.rotations("decoder")) == (made.positions == "rotary")
    assert config.model.positional == made.positions
    texts = torch.tensor([[1, 4, 7, 2], [2, 7, 4, 1]])
    with tracing() as trace:
        checkpoint.model(texts, texts)
    for what, described_by_blocks, recorded in comparisons(checkpoint.model.stack("decoder"), trace, texts):
        assert agrees(described_by_blocks, recorded, 1e-4), what


@torch.inference_mode()
def test_every_analysis_of_a_nanogpt_agrees_with_the_gpt2_of_the_library(tmp_path: Path) -> None:
    made = tutorial("nanoGPT")
    checkpoint = open_checkpoint(described(saved(tmp_path / "own", made)))
    config = GPT2Config(
        vocab_size=len(WORDS),
        n_embd=WIDTH,
        n_head=HEADS,
        n_layer=2,
        n_inner=40,
        n_positions=LENGTH,
        activation_function="gelu",
    )
    library = GPT2LMHeadModel._from_config(config, attn_implementation="eager").eval()
    stored = {
        name: tensor.T if ".c_" in name and tensor.dim() == 2 else tensor for name, tensor in made.tensors.items()
    }
    library.load_state_dict(stored | {"transformer.ln_f.bias": torch.zeros(WIDTH)})
    both = run(Pair(checkpoint=checkpoint, library=library), TEXT)
    # "Patch a head" changes the library's own module, which has another name.
    differences = {name: analysis(both) for name, analysis in ANALYSES.items() if name != "Patch a head"}
    assert len(differences) >= 6
    assert max(differences.values()) < 1e-5


@torch.inference_mode()
def test_a_silenced_head_changes_the_logits_as_a_head_without_an_output_matrix(tmp_path: Path) -> None:
    made = tutorial("llama2.c")
    checkpoint = open_translator(described(saved(tmp_path / "own", made)))
    head, width = 1, WIDTH // HEADS
    made.tensors["layers.0.attention.wo.weight"][:, head * width : (head + 1) * width] = 0  # no path to the stream
    ids = torch.arange(1, 9)
    with tracing(edits={"decoder.layers.0.self_attention.weights": ablate_heads([head])}):
        found = logits_of(checkpoint, ids)
    agree(found, made.compute(ids)[0])
    assert not torch.allclose(found, logits_of(checkpoint, ids), atol=1e-3)


MASK = torch.ones(LENGTH, LENGTH).tril()
SURPLUS = {
    "another mask": ("minGPT", {"transformer.h.0.attn.bias": MASK.triu(-3)[None, None]}),
    "a part of another model": ("nanoGPT", {"criterion.weight": torch.ones(3)}),
    "one more layer": ("llama2.c", {"layers.2.attention.wq.weight": torch.ones(WIDTH, WIDTH)}),
    "angles of another base": ("llama2.c with stored angles", {"freqs_cos": torch.ones(LENGTH, WIDTH // HEADS // 2)}),
    "positions beside rotary ones": ("llama2.c", {"pos_embedding.weight": torch.ones(LENGTH, WIDTH)}),
}


@pytest.mark.parametrize("surplus", SURPLUS)
def test_a_tensor_that_the_model_does_not_use_is_named(surplus: str, tmp_path: Path) -> None:
    name, tensors = SURPLUS[surplus]
    folder = described(saved(tmp_path / "own", tutorial(name), **tensors))
    with pytest.raises(CheckpointError, match=next(iter(tensors)).replace(".", r"\.")):
        open_checkpoint(folder)


def test_positions_that_are_no_sinusoids_are_used_and_named_as_what_they_are(tmp_path: Path) -> None:
    made = tutorial("PyTorch's tutorial")
    table = made.tensors["pos_encoder.pe"]
    table.copy_(torch.randn_like(table))  # the reference reads the same tensor
    checkpoint = open_translator(described(saved(tmp_path / "own", made)))
    ids = torch.arange(1, 9)
    with torch.inference_mode():
        agree(logits_of(checkpoint, ids), made.compute(ids)[0])
    assert checkpoint.config.model.positional == "table"
    found = checkpoint.model.position_table()
    assert found is not None
    assert torch.equal(found, table[:, 0])


OWN_NAMES = """
task = "continuation"
weights = "ckpt.pt"
vocabulary = "vocab.txt"
ignore = ["criterion.*"]

[model]
d_model = 24
num_heads = 4
d_ff = 40
num_encoder_layers = 0
num_decoder_layers = 2
max_length = 50
vocab_size = 14
norm = "pre"
final_norm = true
activation = "gelu"
positional = "learned"
scale_embeddings = false

[positions]
table = "where"

[norm]
weight = "gamma"
bias = "beta"

[names]
layout = "gpt"
prefix = "net."
target_embedding = "words"
output = "head"

[names.modules]
"decoder.layers.{i}.self_attention.output_projection" = "net.h.{i}.mix"
"""


def test_a_decoder_with_names_of_its_own_is_described_by_hand(tmp_path: Path) -> None:
    made = tutorial("nanoGPT")
    names = {
        "transformer.wte.weight": "words.weight",
        "transformer.wpe.weight": "where",
        "lm_head.weight": "head.weight",
    }
    own = {names.get(name, name): tensor for name, tensor in made.tensors.items()}
    own = {name.replace("transformer.", "net.").replace("attn.c_proj", "mix"): tensor for name, tensor in own.items()}
    parts = {"weight": "gamma", "bias": "beta"}
    own = {
        f"{module}.{parts[part]}" if ".ln_" in name else name: tensor
        for name, tensor in own.items()
        for module, _, part in [name.rpartition(".")]
    }
    folder = saved(tmp_path / "own", replace(made, tensors=own), **{"criterion.w": torch.ones(2)})
    (folder / "headlight.toml").write_text(OWN_NAMES)
    checkpoint = open_translator(folder)
    ids = torch.arange(1, 12)
    with torch.inference_mode():
        agree(logits_of(checkpoint, ids), made.compute(ids)[0])
    assert checkpoint.config.model.max_length == 50
    for wrong, message in {
        "num_encoder_layers = 0": ("num_encoder_layers = 2", "decoder alone has none"),
        "num_heads = 4": ("num_heads = 5", "divisible"),
        "num_decoder_layers = 2": ("num_decoder_layers = 1", r"not used: net\.h\.1"),
        'output = "head"': ('output = "tail"', r"Missing tensors: tail\.weight"),
        "d_ff = 40": ("d_ff = 1000000000", "describes"),
        "d_model = 24": ("", "d_model is missing"),
        "max_length = 50": ("max_length = 4000", "64 positions"),
        'table = "where"': ('table = "there"', "no unused tensor there"),
    }.items():
        (folder / "headlight.toml").write_text(OWN_NAMES.replace(wrong, message[0]))
        with pytest.raises(CheckpointError, match=message[1]):
            open_checkpoint(folder)


def test_what_stands_beside_the_weights_is_found_or_asked_for(tmp_path: Path) -> None:
    folder = saved(tmp_path / "own", tutorial("minGPT"))
    (folder / "model.bin").write_bytes(b"\x18\0\0\0 weights of a program in C")
    logged = {"system": {}, "model": {"model_type": "gpt-micro", "n_head": None}, "trainer": {}}
    (folder / "config.json").write_text(json.dumps(logged))
    assert recognised(folder)["model"]["num_heads"] == 4  # of gpt-micro
    with pytest.raises(CheckpointError, match="model describe"):  # that config.json is no description
        open_checkpoint(folder)
    (folder / "vocab.txt").unlink()
    with pytest.raises(CheckpointError, match=r"meta\.pkl.*vocab\.txt"):
        recognised(folder)
    wide = {"transformer.wte.weight": torch.zeros(50304, WIDTH), "lm_head.weight": torch.zeros(50304, WIDTH)}
    folder = saved(tmp_path / "wide", tutorial("nanoGPT"), **wide)
    (folder / "vocab.txt").unlink()
    with pytest.raises(CheckpointError, match=r"50,304 tokens.*vocab\.json and merges\.txt"):
        recognised(folder)
    folder = saved(tmp_path / "llama", replace(tutorial("llama2.c"), settings={}))
    values = recognised(folder)
    asked = {question.path[-1] for question in questions_for(values, folder)}
    assert asked == {"num_heads", "num_kv_heads", "max_length", "rotary_base", "epsilon"}


CORPUS = ["The dog sat on the mat.", "My brother likes the snow, because it is white.", "Der Hund schläft 猫 12."] * 20
STRANGE = "  The dog  likes snöw 猫\n12"


def test_a_text_has_the_ids_of_the_training_with_the_files_of_gpt2(tmp_path: Path) -> None:
    trained = ByteLevelBPETokenizer()
    trained.train_from_iterator(CORPUS, vocab_size=300, special_tokens=["<|endoftext|>"])
    wide = {name: torch.randn(300, WIDTH) for name in ("transformer.wte.weight", "lm_head.weight")}
    folder = saved(tmp_path / "own", tutorial("nanoGPT"), **wide)
    (folder / "vocab.txt").unlink()
    trained.save_model(str(folder))
    pair = open_translator(described(folder)).tokenizers
    assert pair.source.encode(STRANGE).ids == tuple(trained.encode(STRANGE).ids)
    assert pair.source.decode(trained.encode(STRANGE).ids) == STRANGE.strip()
    assert pair.specials.eos == trained.token_to_id("<|endoftext|>")


def test_a_text_has_the_ids_of_the_training_with_a_model_of_sentencepiece(tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "model_type": "bpe",
        "byte_fallback": True,
        "normalization_rule_name": "identity",
        "split_digits": True,
    }
    wide = {name: torch.randn(320, WIDTH) for name in ("tok_embeddings.weight", "output.weight")}
    folder = saved(tmp_path / "own", tutorial("llama2.c"), **wide)
    (folder / "vocab.txt").unlink()
    with (folder / "tok.model").open("wb") as file:
        texts = iter(CORPUS)
        SentencePieceTrainer.train(
            sentence_iterator=texts, model_writer=file, vocab_size=320, minloglevel=9, **settings
        )
    trained = SentencePieceProcessor(model_file=str(folder / "tok.model"))
    checkpoint = open_translator(described(folder))
    assert checkpoint.tokenizers.source.encode(STRANGE).ids == tuple(trained.encode(STRANGE))
    assert checkpoint.tokenizers.source.decode(trained.encode("snöw 猫")) == "snöw 猫"
    found = translate(checkpoint, "The dog")
    read = [token.id for token in found.read]
    assert read[: found.prompt_length + 1] == [trained.bos_id(), *trained.encode("The dog")]


def test_a_pickle_of_characters_is_read_without_running_it(tmp_path: Path) -> None:
    path = tmp_path / "meta.pkl"
    letters = {letter: i for i, letter in enumerate("\n abc")}
    path.write_bytes(pickle.dumps({"vocab_size": 5, "itos": {i: c for c, i in letters.items()}, "stoi": letters}))
    assert read_vocabulary(path) == letters
    far = b"\x80\x04}r\xff\xff\xff\xff."  # keeps a dictionary in place 4,294,967,295
    for hostile in (pickle.dumps(Path("x")), pickle.dumps({"stoi": len}), far, pickle.dumps(letters)[:-3], b""):
        path.write_bytes(hostile)
        with pytest.raises(ConfigError, match=r"meta\.pkl.*No code in it was run"):
            read_vocabulary(path)
    path.write_bytes(pickle.dumps({"stoi": {"a": "b"}}))
    with pytest.raises(ConfigError, match="not a vocabulary"):
        read_vocabulary(path)
