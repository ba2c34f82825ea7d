"""Weights as tutorials save them: of `torch.nn.Transformer`, and of modules named as in "The Annotated Transformer"."""

import copy
import math
import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from model.checkpoints.checkpoint import CheckpointError, find_checkpoints
from model.foreign.open_tutorial import open_tutorial
from model.inference.opening import open_checkpoint, open_translator, read_any_config
from model.inference.translate import translate
from model.network.positional import sinusoidal_table
from model.safety.torch_files import SavedFile, read_saved_file, read_state_dict

WORDS = ["<pad>", "<s>", "</s>", "<unk>", *["a", "small", "dog", "cat", "sees", "the", "red", "house", "and", "runs"]]
D_MODEL, HEADS, D_FF, LAYERS, LENGTH = 32, 4, 48, 2, 40
TEXT = "the small dog sees a zebra"
CLOSE = {"atol": 2e-5, "rtol": 2e-5}  # the same sums in another order, in single precision
TOML = f"""
weights = "model.pt"
vocabulary = "vocab.txt"
tokens = "words"

[model]
d_model = {D_MODEL}
num_heads = {HEADS}
d_ff = {D_FF}
num_encoder_layers = {LAYERS}
num_decoder_layers = {LAYERS}
max_length = {LENGTH}
norm = "post"
final_norm = true
output_bias = true

[specials]
pad = "<pad>"
bos = "<s>"
eos = "</s>"
unknown = "<unk>"

[names]
layout = "torch"
prefix = "transformer."
source_embedding = "source"
target_embedding = "target"
output = "generator"
"""


class Tutorial(nn.Module):
    """What a tutorial writes around `torch.nn.Transformer`."""

    def __init__(self, *, norm_first: bool = False, bias: bool = True) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(len(WORDS), D_MODEL), nn.Embedding(len(WORDS), D_MODEL)
        self.transformer = nn.Transformer(
            *(D_MODEL, HEADS, LAYERS, LAYERS, D_FF),
            dropout=0.0,
            batch_first=True,
            norm_first=norm_first,
            bias=bias,
        )
        self.generator = nn.Linear(D_MODEL, len(WORDS))

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        positions = sinusoidal_table(LENGTH, D_MODEL)
        read = self.source(source) * math.sqrt(D_MODEL) + positions[: source.size(1)]
        written = self.target(target) * math.sqrt(D_MODEL) + positions[: target.size(1)]
        mask = nn.Transformer.generate_square_subsequent_mask(target.size(1))
        return self.generator(self.transformer(read, written, tgt_mask=mask))


def tutorial(**settings: bool) -> Tutorial:
    torch.manual_seed(0)
    model = Tutorial(**settings).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1 and "transformer" in name:
                parameter.mul_(2)  # attention that is sharp, not flat
            elif "norm" in name or "bias" in name:
                parameter.add_(0.1 * torch.randn(parameter.shape))
    return model


def write(folder: Path, model: nn.Module, text: str = TOML) -> Path:
    folder.mkdir()
    (folder / "headlight.toml").write_text(text)
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    torch.save({"epoch": 3, "state_dict": model.state_dict()}, folder / "model.pt")
    return folder


@torch.inference_mode()
@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize(("norm_first", "bias"), [(False, True), (True, True), (False, False)])
def test_weights_of_torch_transformer_give_the_same_numbers(tmp_path: Path, norm_first: bool, bias: bool) -> None:
    model = tutorial(norm_first=norm_first, bias=bias)
    text = TOML.replace('"post"', '"pre"') if norm_first else TOML
    checkpoint = open_translator(write(tmp_path / "mine", model, text))
    found = translate(checkpoint, TEXT)
    source = torch.tensor([[WORDS.index(word) if word in WORDS else 3 for word in TEXT.split()] + [2]])
    assert [token.id for token in found.source] == source[0].tolist()
    assert [token.text for token in found.source] == [*TEXT.split(), "</s>"]
    assert [token.unknown for token in found.source].index(True) == 5
    read = torch.tensor([[token.id for token in found.read]])
    logits = model(source, read)
    torch.testing.assert_close(checkpoint.model(source, read), logits, **CLOSE)
    probabilities = logits.softmax(dim=-1)[0, range(read.size(1)), [token.id for token in found.written]]
    np.testing.assert_allclose([token.probability for token in found.written], probabilities.numpy(), **CLOSE)
    # The library returns the weights of one attention on request: of the first layer of the encoder.
    layer = model.transformer.encoder.layers[0]
    x = model.source(source) * math.sqrt(D_MODEL) + sinusoidal_table(LENGTH, D_MODEL)[: source.size(1)]
    x = layer.norm1(x) if norm_first else x
    weights = layer.self_attn(x, x, x, need_weights=True, average_attn_weights=False)[1]
    np.testing.assert_allclose(found.maps["encoder"][0], weights[0].numpy(), **CLOSE)


class SampleNorm(nn.Module):
    """The LayerNorm of the annotated Transformer divides by the standard deviation of a sample."""

    def __init__(self) -> None:
        super().__init__()
        self.a_2, self.b_2 = nn.Parameter(torch.rand(D_MODEL) + 0.5), nn.Parameter(torch.randn(D_MODEL) / 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.a_2 * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-6) + self.b_2


class Named(nn.Module):
    """A node of a tree of modules that only has to have the right names."""

    def __init__(self, **children: nn.Module) -> None:
        super().__init__()
        for name, child in children.items():
            self.add_module(name, child)


def annotated() -> nn.Module:
    def attention() -> nn.Module:
        return Named(linears=nn.ModuleList(nn.Linear(D_MODEL, D_MODEL) for _ in range(4)))

    def layer(*attentions: str) -> nn.Module:
        feed_forward = Named(w_1=nn.Linear(D_MODEL, D_FF), w_2=nn.Linear(D_FF, D_MODEL))
        sublayers = nn.ModuleList(Named(norm=SampleNorm()) for _ in range(len(attentions) + 1))
        return Named(**{name: attention() for name in attentions}, feed_forward=feed_forward, sublayer=sublayers)

    def stack(*attentions: str) -> nn.Module:
        return Named(layers=nn.ModuleList(layer(*attentions) for _ in range(LAYERS)), norm=SampleNorm())

    torch.manual_seed(0)
    embeddings = [nn.Sequential(Named(lut=nn.Embedding(len(WORDS), D_MODEL))) for _ in range(2)]
    return Named(
        encoder=stack("self_attn"),
        decoder=stack("self_attn", "src_attn"),
        src_embed=embeddings[0],
        tgt_embed=embeddings[1],
        generator=Named(proj=nn.Linear(D_MODEL, len(WORDS))),
    ).eval()


def test_other_parameter_names_are_mapped_to_ours(tmp_path: Path) -> None:
    model = tutorial()
    renamed = {
        name.replace("linear1", "ff.first").replace("linear2", "ff.second"): tensor
        for name, tensor in model.state_dict().items()
    }
    folder = write(tmp_path / "mine", model)
    torch.save(renamed, folder / "model.pt")
    with pytest.raises(CheckpointError, match=r"Missing tensors: transformer\.encoder\.layers\.0\.linear1"):
        open_checkpoint(folder)
    (folder / "headlight.toml").write_text(
        TOML
        + "[names.modules]\n"
        + '"{stack}.layers.{i}.feed_forward.expand" = "{stack}.layers.{i}.ff.first"\n'
        + '"{stack}.layers.{i}.feed_forward.contract" = "{stack}.layers.{i}.ff.second"\n'
    )
    source, target = torch.tensor([[4, 5, 2]]), torch.tensor([[1, 6]])
    with torch.inference_mode():
        torch.testing.assert_close(open_translator(folder).model(source, target), model(source, target), **CLOSE)


@torch.inference_mode()
def test_a_model_trained_without_a_source_mask_reads_its_padding(tmp_path: Path) -> None:
    model = tutorial()
    text = TOML.replace('unknown = "<unk>"', 'unknown = "<unk>"\naround_source = true\nfill_source = 12')
    checkpoint = open_translator(write(tmp_path / "mine", model, text))
    found = translate(checkpoint, "the dog </s> runs")
    ids = [1, WORDS.index("the"), WORDS.index("dog"), 3, WORDS.index("runs"), 2, *[0] * 6]
    assert [token.id for token in found.source] == ids
    assert found.maps["encoder"].shape == (LAYERS, HEADS, 12, 12)
    assert found.maps["encoder"][..., 6:].max() > 0.1  # padding gets attention
    read = torch.tensor([[token.id for token in found.read]])
    written = [token.id for token in found.written]
    probabilities = model(torch.tensor([ids]), read).softmax(dim=-1)[0, range(read.size(1)), written]
    np.testing.assert_allclose([token.probability for token in found.written], probabilities.numpy(), **CLOSE)


def test_tensors_that_do_not_fit_are_named(tmp_path: Path) -> None:
    folder = write(tmp_path / "mine", tutorial())
    state = tutorial().state_dict()

    def refused(changed: dict[str, Tensor]) -> str:
        torch.save(changed, folder / "model.pt")
        with pytest.raises(CheckpointError) as error:
            open_checkpoint(folder)
        return str(error.value)

    lacking = dict(state)
    del lacking["generator.bias"]
    assert "Missing tensors: generator.bias" in refused(lacking)
    surplus = refused(state | {"extra.weight": torch.zeros(2)})
    assert "Tensors that are not used: extra.weight" in surplus
    assert 'write ignore = ["extra.*"] in the first lines' in surplus
    wide = refused(state | {"source.weight": torch.zeros(99, D_MODEL)})
    assert f"another shape than the model needs: source.weight: [99, {D_MODEL}] ≠ [{len(WORDS)}, {D_MODEL}]" in wide


class Bomb:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, ("exploded",)


def test_a_pickle_that_would_run_code_runs_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = write(tmp_path / "mine", tutorial())
    (folder / "model.pt").write_bytes(pickle.dumps({"source.weight": Bomb()}))
    with pytest.raises(CheckpointError, match="No code in it was run"):
        open_checkpoint(folder)
    torch.save({"source.weight": Bomb()}, folder / "model.pt")
    with pytest.raises(CheckpointError, match="No code in it was run"):
        open_checkpoint(folder)
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("d_model = 32", "d_model = 33", "d_model"),
        ("d_model = 32", "d_modell = 32", "d_modell"),
        ('layout = "torch"', 'layout = "keras"', "keras"),
        ('pad = "<pad>"', 'pad = "<padding>"', "have the token '<padding>'"),
        ('weights = "model.pt"', 'weights = "../../secret.pt"', "not in the folder"),
        ('vocabulary = "vocab.txt"', 'vocabulary = "nothing.txt"', "nothing.txt"),
        ('weights = "model.pt"', "", "weights"),
        ("[model]", "[model", "headlight.toml"),
        ("output_bias = true", 'output_bias = "yes"', "true or false"),
    ],
)
def test_a_wrong_description_gets_a_message(tmp_path: Path, old: str, new: str, says: str) -> None:
    folder = write(tmp_path / "mine", tutorial(), TOML.replace(old, new))
    with pytest.raises(CheckpointError, match=f"(?s)mine.*{says}|{says}"):
        open_checkpoint(folder)


def test_it_is_listed_without_reading_its_weights(tmp_path: Path) -> None:
    folder = write(tmp_path / "mine", tutorial())
    (folder / "model.pt").unlink()
    assert find_checkpoints([tmp_path]) == {"mine": folder}
    config = read_any_config(folder)
    assert config.task == "translation"
    assert config.model.kinds == ("cross", "encoder", "decoder")
    with pytest.raises(CheckpointError, match=r"model\.pt cannot be read"):
        open_checkpoint(folder)


def test_opening_a_checkpoint_does_not_change_the_original_model(tmp_path: Path) -> None:
    model = tutorial()
    before = copy.deepcopy(model.state_dict())
    checkpoint = open_translator(write(tmp_path / "mine", model))
    translate(checkpoint, TEXT)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


def test_a_description_that_claims_too_much_is_refused_before_it_is_built(tmp_path: Path) -> None:
    for number, (old, new) in enumerate(
        {
            "d_model = 32": "d_model = 65536",
            "num_encoder_layers = 2": "num_encoder_layers = 100000000",
            "max_length = 40": "max_length = 1000000000",
            'unknown = "<unk>"': 'unknown = "<unk>"\nfill_source = 2000000000',
        }.items()
    ):
        folder = write(tmp_path / str(number), tutorial(), TOML.replace(old, new))
        with pytest.raises(CheckpointError):
            open_checkpoint(folder)


def test_a_tensor_that_is_larger_than_its_file_is_refused(tmp_path: Path) -> None:
    folder = write(tmp_path / "mine", tutorial())
    torch.save({"source.weight": torch.zeros(1).half().expand(10**13)}, folder / "model.pt")
    with pytest.raises(CheckpointError, match="a tensor is larger than its data"):
        open_checkpoint(folder)


def test_one_storage_under_many_names_stays_one(tmp_path: Path) -> None:
    storage = torch.zeros(1000, 1000).half()
    torch.save({f"name_{i}": storage for i in range(60)}, tmp_path / "model.pt")
    found = read_state_dict(tmp_path / "model.pt")
    assert len(found) == 60
    assert len({tensor.data_ptr() for tensor in found.values()}) == 1


def test_the_memory_that_a_description_asks_for_is_bounded_before_the_model_is_built(tmp_path: Path) -> None:
    folder = write(tmp_path / "mine", tutorial(), TOML.replace(f"max_length = {LENGTH}", "max_length = 4096"))
    assert open_checkpoint(folder, max_bytes=2_000_000).name == "mine"
    with pytest.raises(CheckpointError, match=r"The limit here is 0\.0 GB"):  # its positions take 1 MB
        open_checkpoint(folder, max_bytes=1_000_000)


def test_compressed_weights_are_refused_before_they_are_unpacked(tmp_path: Path) -> None:
    torch.save({"source.weight": torch.zeros(1000, 1000)}, tmp_path / "whole.pt")
    with zipfile.ZipFile(tmp_path / "whole.pt") as whole, zipfile.ZipFile(tmp_path / "small.pt", "w", 8) as small:
        for name in whole.namelist():
            small.writestr(name, whole.read(name))
    assert (tmp_path / "small.pt").stat().st_size < 50_000
    with pytest.raises(CheckpointError, match=r"small\.pt is compressed"):
        read_state_dict(tmp_path / "small.pt")


def test_what_stands_around_a_state_dict_is_taken_away_and_plain_values_are_handed_out(tmp_path: Path) -> None:
    path, weights = tmp_path / "model.pt", {"a.weight": torch.ones(2)}

    def read(value: object) -> SavedFile:
        torch.save(value, path)
        return read_saved_file(path)

    optimizer = {"state": {0: torch.ones(1)}}
    for wrapper in ("state_dict", "model_state_dict", "model_state", "model", "net", "ema", "something"):
        found = read({wrapper: weights, "epoch": 3, "args": {"n_head": 4, "lr": (0.1,)}, "optimizer": optimizer})
        assert list(found.tensors) == ["a.weight"]
        assert found.settings == {"epoch": 3, "args": {"n_head": 4, "lr": (0.1,)}}
        assert found.beside == ("optimizer",)
    assert read({"model": weights, "random": torch.ones(5), "ema": weights}).beside == ("random", "ema")
    assert list(read({"encoder": weights, "decoder": weights}).tensors) == ["encoder.a.weight", "decoder.a.weight"]
    found = read({"model": {"module.model.a._orig_mod.weight": torch.ones(2)}})
    assert list(found.tensors) == [found.key("module.model.a._orig_mod.weight")] == ["a.weight"]
    assert list(read({"model.a": torch.ones(2), "criterion.a": torch.ones(2)}).tensors) == ["model.a", "criterion.a"]
    endless: dict[str, object] = {"state_dict": weights}
    endless["args"] = endless
    shared: list[object] = [1]
    for _ in range(100):
        shared = [shared, shared]
    assert read(endless | {"list": shared}).beside == ("args", "list")


class Swelling:
    """PyTorch allows a pickle to make one."""

    def __reduce__(self) -> tuple[object, tuple[int]]:
        return bytearray, (1 << 30,)


@pytest.mark.parametrize("new", [True, False], ids=["archive", "before 1.6"])
def test_a_pickle_can_build_only_tensors(tmp_path: Path, new: bool) -> None:
    path = tmp_path / "model.pt"
    torch.save({"source.weight": torch.arange(6.0)}, path, _use_new_zipfile_serialization=new)
    torch.testing.assert_close(read_state_dict(path)["source.weight"], torch.arange(6.0))
    torch.save({"epoch": Swelling()}, path, _use_new_zipfile_serialization=new)
    with pytest.raises(CheckpointError, match="more than tensors") as error:
        read_state_dict(path)
    assert "bytearray" in str(error.value.__cause__)  # it was not made
    torch.save({"epoch": [0] * 500_000}, path, _use_new_zipfile_serialization=new)
    with pytest.raises(CheckpointError, match="more than tensors"):
        read_state_dict(path)


def test_a_second_pickle_hides_nothing(tmp_path: Path) -> None:
    torch.save({"epoch": Swelling()}, tmp_path / "swells.pt")
    with zipfile.ZipFile(tmp_path / "swells.pt") as swells, zipfile.ZipFile(tmp_path / "two.pt", "w") as two:
        two.writestr("swells/other/data.pkl", pickle.dumps({}, protocol=2))  # PyTorch reads swells/data.pkl
        for name in swells.namelist():
            two.writestr(name, swells.read(name))
    with pytest.raises(CheckpointError, match="more than tensors") as error:
        read_state_dict(tmp_path / "two.pt")
    assert "2 pickles" in str(error.value.__cause__)


def test_a_matrix_of_queries_keys_and_values_has_three_parts(tmp_path: Path) -> None:
    folder, name = write(tmp_path / "mine", tutorial()), "transformer.encoder.layers.0.self_attn.in_proj_weight"
    torch.save(tutorial().state_dict() | {name: torch.zeros(1, D_MODEL)}, folder / "model.pt")
    with pytest.raises(CheckpointError, match=r"in_proj_weight has the shape \[1, 32\]\. Its rows must be queries"):
        open_tutorial(folder)
