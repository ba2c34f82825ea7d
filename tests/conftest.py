"""What many tests need: a corpus of our own, a model trained on it, and untrained models of every variant."""

import gc
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

# Before torch: on small models a second thread waits more than it works, above all where other work runs beside it.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
import torch
from filelock import FileLock
from hypothesis import HealthCheck, settings

from model.checkpoints.checkpoint import Checkpoint, load_checkpoint
from model.config.model import ModelConfig
from model.config.recipe import Recipe
from model.config.run import TrainConfig
from model.config.tokenizer import TokenizerConfig
from model.network.transformer import Transformer
from model.training.train import train
from tests.chromium import chromium as chromium

ROOT = Path(__file__).parent.parent
TOY_DATA = ROOT / "tests" / "data"
BUNDLED = ROOT / "checkpoints"
PATIENCE = 600  # seconds until a test gives up: a guard against waiting for ever, no measure of speed

# A busy machine makes no example wrong.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


def toy_recipe(kind: str = "bpe", **train_settings: object) -> Recipe:
    words = kind == "words"
    return Recipe(
        name=f"toy-{kind}",
        tokenizer=TokenizerConfig(
            kind="words" if words else "bpe",
            source_language="en",
            target_language="de",
            vocab_size=400,
            min_freq=1,
            lowercase=words,
        ),
        model={
            "d_model": 64,
            "num_heads": 4,
            "d_ff": 128,
            "num_encoder_layers": 2,
            "num_decoder_layers": 1,
            "dropout": 0.0,
            "positional": "learned" if words else "sinusoidal",
            "tie_embeddings": "target" if words else "all",
            "max_length": 64,
        },
        train=TrainConfig.from_dict(
            {
                "corpus": "toy",
                "batch_tokens": 512,
                "max_epochs": 20,
                "learning_rate": 4e-3,
                "warmup_steps": 40,
                "average_epochs": 2,
            }
            | train_settings
        ),
    )


def recurrent_recipe(attention: str) -> Recipe:
    """As `toy_recipe`, a recurrent network with "additive" attention or with "none"."""
    sizes = {"architecture": "recurrent", "d_model": 48, "d_hidden": 48, "attention": attention, "dropout": 0.0}
    like = toy_recipe("bpe", learning_rate=1e-2, max_epochs=12)
    model = sizes | {"max_length": 64}
    return Recipe(name=f"toy-recurrent-{attention}", tokenizer=like.tokenizer, train=like.train, model=model)


def toy_toml(**settings: object) -> str:
    """A tiny recipe as the file that a person writes, for tests that start the command line."""
    train = "\n".join(f"{name} = {value}" for name, value in settings.items())
    return (
        '[tokenizer]\nkind = "words"\nsource_language = "en"\ntarget_language = "de"\nmin_freq = 1\n'
        "[model]\nd_model = 32\nnum_heads = 2\nd_ff = 32\nnum_encoder_layers = 1\nnum_decoder_layers = 1\n"
        f'tie_embeddings = "target"\n[train]\ncorpus = "toy"\n{train}\n'
    )


# What takes long: folders and files of tests that train, serve or open large models, and fixtures that do.
SLOW_FOLDERS = ("browser", "deploy", "live", "model/training", "model/foreign", "model/corpora", "weights")
SLOW_FILES = {
    "test_hostile_input",  # it measures times
    *("test_agreement", "test_alignment", "test_benchmarks", "test_bundled_checkpoints", "test_command_line"),
    *("test_docs", "test_installation", "test_own_checkpoints", "test_patching", "test_presence", "test_promises"),
    *("test_services", "test_streams", "test_training_jobs", "test_translate_page"),
    *(
        "test_bundle",
        "test_classes_of_processes",
        "test_run",
        "test_store",
        "test_tiny_checkpoints",
        "test_upload_memory",
        "test_warm_process",
    ),
}
SLOW_FIXTURES = {"bundled", "checkpoint", "open_app", "toy", "toy_folder", "toys", "trained"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is quick, for `pytest -m quick`."""
    for item in items:
        folder = item.path.parent.relative_to(ROOT / "tests").as_posix()
        slow = folder.startswith(SLOW_FOLDERS) or item.path.stem in SLOW_FILES
        if not (slow or SLOW_FIXTURES & set(getattr(item, "fixturenames", ()))):
            item.add_marker(pytest.mark.quick)


@pytest.fixture(scope="module", autouse=True)
def collections_see_only_what_is_new() -> None:
    """Leave what lives before a file of tests out of garbage collections.

    Libraries are half a million objects, and each training run ends with a collection: it took half of a short run.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def seed() -> None:
    """Every test draws the same random numbers, independent of the tests before it.

    Only on the CPU: `torch.manual_seed` keeps the stack of its caller for a GPU that may be used later.
    """
    torch.default_generator.manual_seed(0)


@pytest.fixture(scope="session")
def toy_data() -> Path:
    return TOY_DATA


@pytest.fixture(scope="session")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Train each toy once, at its first use, for all processes of the run.

    Parametrized fixtures would train it again for each file of tests.
    """
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own  # of this run alone

    @cache
    def trained(kind: str) -> Path:
        attention = kind.removeprefix("recurrent-")
        recipe = toy_recipe(kind) if attention == kind else recurrent_recipe(attention)
        place = shared / f"trained-{recipe.name}"  # with nothing else in it: a test may serve the whole folder
        with FileLock(f"{place}.lock"):
            if not place.exists():
                train(recipe, data_root=TOY_DATA, out=place / recipe.name, device="cpu")
        return place / recipe.name

    return trained


@pytest.fixture(scope="session", params=["bpe", "words"])
def toy_folder(request: pytest.FixtureRequest, toys: Callable[[str], Path]) -> Path:
    """A checkpoint trained on the toy corpus, once with each tokenizer; never changed."""
    return toys(request.param)


@pytest.fixture(scope="session")
def toy(toy_folder: Path) -> Checkpoint:
    return load_checkpoint(toy_folder)


def make_model(**changes: object) -> Transformer:
    """A small untrained model, every weight random, so that no shortcut through zeros can pass a test."""
    settings: dict[str, object] = {
        "source_vocab_size": 50,
        "target_vocab_size": 50,
        "d_model": 32,
        "num_heads": 4,
        "d_ff": 64,
        "num_encoder_layers": 2,
        "num_decoder_layers": 3,
        "dropout": 0.1,
        "max_length": 40,
    }
    torch.manual_seed(0)
    model = Transformer(ModelConfig.from_dict(settings | changes)).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith(("bias", "sinks", "table")) or "norm" in name:
                parameter.add_(0.1 * torch.randn_like(parameter))
    return model


ATTENTION_VARIANTS: list[dict[str, object]] = [
    {"positional": "rotary", "num_kv_heads": 2},
    {"positional": "alibi"},
    {"positional": "relative", "num_kv_heads": 1},
    {"score_cap": 0.5, "attention_sinks": True},
]
# Every two of norm, positions and tied embeddings meet, which six of the twelve combinations suffice for.
VARIANTS: list[dict[str, object]] = [
    {"norm": norm, "positional": positional, "tie_embeddings": tie}
    for norm, positional, tie in (
        ("post", "sinusoidal", "none"),
        ("post", "learned", "target"),
        ("post", "sinusoidal", "all"),
        ("pre", "learned", "none"),
        ("pre", "sinusoidal", "target"),
        ("pre", "learned", "all"),
    )
]


VARIANTS += [{"attention": "additive"}, {"activation": "gelu"}, *ATTENTION_VARIANTS]


@pytest.fixture(params=VARIANTS, ids=lambda v: "-".join(map(str, v.values())))
def model(request: pytest.FixtureRequest) -> Transformer:
    return make_model(**request.param)


@pytest.fixture
def source() -> torch.Tensor:
    """Three sentences of 7, 4 and 5 tokens, padded with 0."""
    torch.manual_seed(1)
    ids = torch.randint(4, 50, (3, 7))
    ids[1, 4:] = 0
    ids[2, 5:] = 0
    return ids


@pytest.fixture
def target() -> torch.Tensor:
    torch.manual_seed(2)
    ids = torch.randint(4, 50, (3, 6))
    ids[0, 5:] = 0
    ids[2, 3:] = 0
    return ids
