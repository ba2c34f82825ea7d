"""Everything in a file is used, proved equal to what is computed, or named."""

import math
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from model.checkpoints.checkpoint import CheckpointError
from model.inference.opening import open_translator, read_any_config
from model.inference.passes import pad_ids
from model.inference.translate import translate
from model.network.positional import FixedPositions, LearnedPositions, SinusoidalPositions, sinusoidal_table
from tests.model.checkpoints.test_state_dict import CLOSE, D_MODEL, LENGTH, TOML, WORDS, Tutorial, tutorial, write

SOURCE, TARGET = torch.tensor([[4, 5, 6, 8, 2]]), torch.tensor([[1, 4, 5]])
SINES = sinusoidal_table(LENGTH, D_MODEL)
LEARNED, OTHER = torch.randn(2, LENGTH, D_MODEL, generator=torch.Generator().manual_seed(1))
WIDE = sinusoidal_table(LENGTH, D_MODEL, base=100.0)
EARLIER = torch.ones(9, 9).tril()


def fairseq() -> Tensor:
    """All sines, then all cosines. Its positions begin at 2, and the slowest wave has the rate 1 / 10,000."""
    rates = torch.exp(torch.linspace(0, -math.log(10_000), D_MODEL // 2, dtype=torch.float64))
    angles = (torch.arange(LENGTH)[:, None] + 2) * rates
    return torch.cat([angles.sin(), angles.cos()], dim=1).float()


def described(*, top: str = "", model: str = "", positions: str = "") -> str:
    text = top + "\n" + TOML.replace('norm = "post"', f'norm = "post"\n{model}')
    return text.replace("[specials]", f"[positions]\n{positions}\n[specials]")


def saved(folder: Path, text: str, more: Mapping[str, Tensor]) -> Tutorial:
    model = tutorial()
    write(folder, model, text)
    torch.save(model.state_dict() | more, folder / "model.pt")
    return model


def own_logits(model: Tutorial, source: Tensor, target: Tensor) -> Tensor:
    """What the model computes with these positions of the source and of the target."""
    read = model.source(SOURCE) * math.sqrt(D_MODEL) + source[: SOURCE.size(1)]
    written = model.target(TARGET) * math.sqrt(D_MODEL) + target[: TARGET.size(1)]
    mask = nn.Transformer.generate_square_subsequent_mask(TARGET.size(1))
    return model.generator(model.transformer(read, written, tgt_mask=mask))


POSITIONS = {  # case → tensors of the file, the description, what the model adds to source and target, its kind
    "learned": ({"pos_embedding.weight": LEARNED}, described(), LEARNED, LEARNED, "learned"),
    "parameter": ({"pos_embedding": LEARNED[None]}, described(), LEARNED, LEARNED, "table"),
    "batch second": ({"pos_emb.encoding": LEARNED[:, None]}, described(), LEARNED, LEARNED, "table"),
    "another base": ({"pe": WIDE}, described(), WIDE, WIDE, "table"),
    "the usual sinusoids": ({"pe": sinusoidal_table(99, D_MODEL)}, described(), SINES, SINES, "sinusoidal"),
    "half precision": ({"pe": SINES.half()}, described(), SINES.half().float(), SINES.half().float(), "sinusoidal"),
    "one for each side": ({"src_pos.pe": LEARNED, "tgt_pos.pe": OTHER}, described(), LEARNED, OTHER, "table"),
    "two copies": ({"encoder.pe": WIDE, "decoder.pe": WIDE.clone()}, described(), WIDE, WIDE, "table"),
    "another name": ({"wpe.weight": LEARNED}, described(positions='table = "wpe.weight"'), LEARNED, LEARNED, "learned"),
    "named sides": (
        {"a": OTHER, "b": LEARNED},
        described(positions='source_table = "b"\ntarget_table = "a"'),
        LEARNED,
        OTHER,
        "table",
    ),
    "rows before the first": (
        {"pos.weight": torch.cat([OTHER[:2], LEARNED])},
        described(positions="first = 2"),
        LEARNED,
        LEARNED,
        "learned",
    ),
    "scaled": ({"pos.weight": LEARNED}, described(positions="scale = 0.5"), LEARNED / 2, LEARNED / 2, "learned"),
    "a formula": ({}, described(positions="base = 100.0"), WIDE, WIDE, "table"),
    "fairseq": ({}, described(positions='order = "fairseq"\nfirst = 2'), fairseq(), fairseq(), "table"),
    "none": ({}, described(model='positional = "none"'), 0 * SINES, 0 * SINES, "none"),
}


@torch.inference_mode()
@pytest.mark.parametrize("case", POSITIONS)
def test_positions_of_the_file_are_used_and_shown_as_what_they_are(tmp_path: Path, case: str) -> None:
    tensors, text, source, target, kind = POSITIONS[case]
    model = saved(tmp_path / "mine", text, tensors)
    checkpoint = open_translator(tmp_path / "mine")
    torch.testing.assert_close(checkpoint.model(SOURCE, TARGET), own_logits(model, source, target), **CLOSE)
    assert read_any_config(tmp_path / "mine").model.positional == checkpoint.config.model.positional == kind
    kinds = {SinusoidalPositions: "sinusoidal", LearnedPositions: "learned", FixedPositions: "table"}
    assert kinds.get(type(checkpoint.model.encoder.embedding.positions), "none") == kind
    if kind == "table" and tensors:
        assert "They are not the usual sinusoids" in checkpoint.config.notes[0]


@torch.inference_mode()
@pytest.mark.parametrize(
    "tensors",
    [
        {"position_ids": torch.arange(LENGTH)[None]},
        {"tgt_mask": ~EARLIER.bool()},
        {"tgt_mask": torch.zeros(9, 9).masked_fill(~EARLIER.bool(), float("-inf"))},
        {"decoder.bias": EARLIER[None, None]},
        {"scale": torch.tensor([math.sqrt(D_MODEL)])},
        {"decoder.embed.weight": tutorial().target.weight.detach().clone()},
    ],
    ids=["position ids", "bool mask", "added mask", "mask with dimensions", "scale", "tied copy"],
)
def test_a_tensor_that_equals_what_is_computed_is_accepted(tmp_path: Path, tensors: dict[str, Tensor]) -> None:
    model = saved(tmp_path / "mine", TOML, tensors)
    found = open_translator(tmp_path / "mine").model(SOURCE, TARGET)
    torch.testing.assert_close(found, own_logits(model, SINES, SINES), **CLOSE)


LAYER = {
    f"transformer.encoder.layers.2.{n}": t for n, t in tutorial().transformer.encoder.layers[1].state_dict().items()
}


@pytest.mark.parametrize(
    ("tensors", "text", "says"),
    [
        ({"position_ids": torch.arange(1, LENGTH)}, TOML, r'position_ids.*ignore = \["position_ids"\]'),
        ({"tgt_mask": torch.ones(9, 9)}, TOML, r"not used: tgt_mask"),
        ({"tgt_mask": EARLIER.T}, TOML, r"not used: tgt_mask"),
        ({"tgt_mask": EARLIER.triu(-2)}, TOML, r"not used: tgt_mask"),
        ({"scale": torch.tensor([3.0])}, TOML, r"not used: scale"),
        (
            {"decoder.embed.weight": tutorial().target.weight.detach() + 0.001},
            TOML,
            r"not used: decoder\.embed\.weight",
        ),
        (LAYER, TOML, r"layers\.2\..*raise num_encoder_layers"),
        ({"where.weight": LEARNED}, TOML, r'where\.weight is a table of positions, write table = "where\.weight"'),
        ({"pe": SINES[:20]}, TOML, r"pe has 20 positions, and max_length is 40\. Set max_length to 20"),
        ({"pos_a": LEARNED, "pos_b": OTHER}, TOML, r"pos_a, pos_b.*with source_table and target_table"),
        ({"encoder.pos.weight": LEARNED}, TOML, r"encoder\.pos\.weight.*with source_table and target_table"),
        ({"pe": SINES}, described(model='positional = "none"'), r"not used: pe"),
        ({}, described(model='positional = "learned"'), r"Name the table in \[positions\]"),
        ({"pos.pe": LEARNED}, described(positions='table = "pos"'), r"no unused tensor pos,.* are: pos\.pe"),
        ({}, described(positions='order = "columns"'), r"order is 'columns'; it must be one of 'interleaved'"),
        ({}, described(model='positional = "relative"'), r"positional is 'relative'\. It must be one of sinusoidal"),
        ({}, described(top='vocabulari = "x"'), r"no setting vocabulari"),
        ({}, described(top='ignore = "criterion"'), r"ignore is 'criterion'\. It must be a list"),
        ({}, TOML.replace("num_heads = 4", ""), r"num_heads is missing in \[model\]\. Add it"),
        ({}, TOML + "[norm]\nepsilon = -1.0", r"epsilon is -1\.0; it must be 0 or larger"),
    ],
)
def test_what_is_neither_used_nor_equal_is_refused_with_a_remedy(
    tmp_path: Path, tensors: dict[str, Tensor], text: str, says: str
) -> None:
    saved(tmp_path / "mine", text, tensors)
    with pytest.raises(CheckpointError, match=says):
        read_any_config(tmp_path / "mine")


def test_an_ignored_tensor_is_noted(tmp_path: Path) -> None:
    saved(tmp_path / "mine", described(top='ignore = ["criterion.*"]'), {"criterion.weight": torch.ones(14)})
    assert read_any_config(tmp_path / "mine").notes == ("headlight.toml ignores these tensors: criterion.weight.",)


@torch.inference_mode()
def test_each_vocabulary_has_its_own_special_tokens(tmp_path: Path) -> None:
    """Ids 1 and 2 of the source are words, which are special tokens of the target; the padding differs too."""
    german = ["<unk>", "ein", "hund", "<eos>", "<pad>", *"abcdefghi"]
    english = ["<pad>", "<bos>", "<eos>", "<unk>", *WORDS[4:]]
    specials = 'pad = "<pad>"\nbos = "<bos>"\neos = "<eos>"\nunknown = "<unk>"\n'
    text = TOML.replace('vocabulary = "vocab.txt"', 'source_vocabulary = "de.txt"\ntarget_vocabulary = "en.txt"')
    before, _, after = text.partition("[specials]\n")
    model = saved(tmp_path / "mine", f"{before}[specials]\n{specials}[names]{after.partition('[names]')[2]}", {})
    (tmp_path / "mine" / "de.txt").write_text("\n".join(german))
    (tmp_path / "mine" / "en.txt").write_text("\n".join(english))
    checkpoint = open_translator(tmp_path / "mine")
    found = translate(checkpoint, "ein hund zebra")
    assert [token.id for token in found.source] == [1, 2, 0, 3]
    assert [token.unknown for token in found.source] == [False, False, True, False]
    assert [token.special for token in found.source] == [False, False, False, True]
    assert found.read[0].id == 1
    forced = translate(checkpoint, "ein hund", forced=dict(enumerate([4, 3, 2]))).written
    assert [(token.text, token.unknown, token.special) for token in forced] == [
        (WORDS[4], False, False),  # its id is the padding of the source
        ("<unk>", True, False),
        ("<eos>", False, True),
    ]
    batch = pad_ids(checkpoint.model, [[1, 2, 3], [3]], [[1, 4], [1]])
    assert (batch.source.tolist(), batch.read.tolist()) == ([[1, 2, 3], [3, 4, 4]], [[1, 4], [1, 0]])
    source = torch.tensor([[1, 2, 3]])
    alone = checkpoint.model(source, torch.tensor([[1, 4, 5]]))
    padded = checkpoint.model(torch.tensor([[1, 2, 3, 4, 4]]), torch.tensor([[1, 4, 5, 0]]))
    torch.testing.assert_close(padded[:, :3], alone, **CLOSE)
    read = torch.tensor([[1, 4, 5]])  # 4 is padding in the source only
    mask = nn.Transformer.generate_square_subsequent_mask(3)
    vectors = [
        part(ids) * math.sqrt(D_MODEL) + SINES[:3] for part, ids in ((model.source, source), (model.target, read))
    ]
    torch.testing.assert_close(alone, model.generator(model.transformer(*vectors, tgt_mask=mask)), **CLOSE)
