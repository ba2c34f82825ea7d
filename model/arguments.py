"""What the commands of the command line can be given: `model/__main__.py` without what they do."""

import argparse
import tomllib
from typing import Any

from model.corpora.download import CORPORA
from model.corpora.toys import TOYS

__all__ = ["make_parser"]

Commands = Any  # argparse keeps the type of what `add_subparsers` returns to itself


def setting(text: str) -> tuple[str, Any]:
    """`name=value`, the value as TOML would read it, else as plain text."""
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form name=value")
    try:
        return name, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return name, value


def positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def shared(*names: str, **settings: Any) -> argparse.ArgumentParser:
    """An argument that several commands take."""
    parent = argparse.ArgumentParser(add_help=False)
    parent.add_argument(*names, **settings)
    return parent


CHECKPOINT = shared("checkpoint", help="name of a bundled checkpoint, or path of a folder")
TEXTS = shared("texts", nargs="*", metavar="TEXT", help="default: the lines of the standard input")
DATA = shared("--data-dir", help="folder of the corpora (default: $HEADLIGHT_DATA, else data/)")
BEAM = shared("--beam", type=positive, help="width of the beam, default 5; 1 is greedy")
DEVICE = shared("--device", default="auto", choices=["auto", "cpu", "cuda", "mps"], help="default: the fastest")


def add_train(commands: Commands) -> None:
    command = commands.add_parser("train", parents=[DATA, DEVICE], help="train a recipe into a checkpoint")
    command.add_argument("recipe", help="name of a bundled recipe, or path of a .toml file")
    command.add_argument("--out", help="folder of the checkpoint (default: RECIPE, where `fetch` puts its own)")
    command.add_argument("--precision", choices=["fp32", "bf16", "fp16"])
    command.add_argument("--max-steps", type=int)
    command.add_argument("--seed", type=int)
    text = "after which the weights are kept too, such as 0 100 1000; the end of the run is added"
    command.add_argument("--snapshots", nargs="+", type=int, metavar="STEP", help=text)
    start = command.add_mutually_exclusive_group()
    start.add_argument("--resume", action="store_true", help="continue the run in --out")
    start.add_argument("--init", metavar="CHECKPOINT", help="start from its weights and tokenizer")
    command.add_argument("--tensorboard", action="store_true", help="log for TensorBoard into OUT/training/tensorboard")
    command.add_argument("--set", action="append", default=[], type=setting, metavar="NAME=VALUE")


def add_evaluate(commands: Commands) -> None:
    text = "BLEU, chrF and perplexity, or accuracy, on a split"
    command = commands.add_parser("evaluate", parents=[CHECKPOINT, BEAM, DATA, DEVICE], help=text)
    command.add_argument("--corpus", help="default: the first that it was trained on")
    command.add_argument("--split", help="default: test_2016_flickr of multi30k, test of all others")
    command.add_argument(
        "--class", dest="class_list", action="store_true", help="what a class types first: the share it gets right"
    )
    command.add_argument("--json", action="store_true", help="print one JSON object")
    command.add_argument("--by-length", action="store_true", help="BLEU of short sentences and of long ones too")
    command.add_argument(
        "--certainty", action="store_true", help="how sure it usually is: below that the page says that it is not"
    )
    command.add_argument("--record", action="store_true", help="write the figures into the checkpoint's config.json")


def add_search_options(command: argparse.ArgumentParser) -> None:
    """How to search. No option has a default here: what was not typed is None, so that none is ignored in silence."""
    command.add_argument("--sample", action="store_true", help="draw tokens at random instead; all below need it")
    command.add_argument("--temperature", type=float, help="below 1 sharpens, above 1 flattens, default 1")
    command.add_argument("--top-k", type=int, help="draw from the k best tokens, default 0: from all")
    command.add_argument("--top-p", type=float, help="draw from the fewest tokens that hold this share, default 1")
    command.add_argument("--seed", type=int, help="of the random numbers, default 0")


def add_use(commands: Commands) -> None:
    """Commands that use a checkpoint."""
    text = "translate texts, or lines from stdin, to stdout"
    command = commands.add_parser("translate", parents=[CHECKPOINT, TEXTS, BEAM, DEVICE], help=text)
    command.add_argument("--from", dest="source", default="", help="of a model of many languages: that of the lines")
    command.add_argument("--into", dest="target", default="", help="of a model of many languages: that to be written")
    add_search_options(command)

    text = "classify texts, or lines from stdin: label and probability"
    commands.add_parser("classify", parents=[CHECKPOINT, TEXTS, DEVICE], help=text)

    text = "write every attention map of one translation to a file"
    command = commands.add_parser("attention", parents=[CHECKPOINT], help=text)
    command.add_argument("sentence")
    command.add_argument("--out", help="an .npz, .csv or .json file, default maps.npz where there is no --html")
    command.add_argument("--html", metavar="FILE", help="one HTML file with all of it, to be opened anywhere")
    command.add_argument("--beam", type=positive, help="width of the beam, default 1, which is greedy")
    add_search_options(command)

    text = "write a checkpoint as a folder that Hugging Face's transformers opens"
    command = commands.add_parser("export", parents=[CHECKPOINT], help=text)
    command.add_argument("--to", choices=["marian"], default="marian", help="the architecture there, default marian")
    command.add_argument("--out", required=True, help="a new folder")


def add_fetch(commands: Commands) -> None:
    text = "download a checkpoint from the Hugging Face Hub, which the app then finds"
    command = commands.add_parser("fetch", help=text)
    command.add_argument("repository", help="such as Helsinki-NLP/opus-mt-en-de")
    command.add_argument("--out", help="folder to put it in (default: the first of $HEADLIGHT_CHECKPOINTS, else ours)")
    command.add_argument("--revision", help="a branch, a tag or a commit; default: the newest")


def add_corpora(commands: Commands) -> None:
    """Commands that write a corpus."""
    command = commands.add_parser("download", parents=[DATA], help="fetch a corpus from its public repository")
    command.add_argument("corpus", choices=list(CORPORA))
    command.add_argument("--mirror", metavar="URL", help="fetch the files from another address")

    text = "write a corpus of variants of the training pairs of English and German or Chinese"
    command = commands.add_parser("vary", parents=[DATA], help=text)
    command.add_argument("corpus")
    command.add_argument("--source", default="en", help="the language that will be read, default en")
    command.add_argument("--target", default="de", help="the language that will be written, default de")
    command.add_argument("--own", type=int, default=6000, help="how many sentences of our own, default 6000")
    command.add_argument("--seed", type=int, default=1)

    text = "write a toy language, such as letters and their reverse, which is learned in a minute"
    command = commands.add_parser("toy", parents=[DATA], help=text)
    command.add_argument("toy", choices=list(TOYS))
    command.add_argument("--longest", type=int, default=8, help="letters of the longest words, default 8")
    command.add_argument("--seed", type=int, default=1)

    text = "write a corpus with a checkpoint's translations, to learn from"
    command = commands.add_parser("distill", parents=[CHECKPOINT, BEAM, DATA, DEVICE], help=text)
    command.add_argument("--corpus", default="multi30k", help="what the checkpoint translates the training split of")

    text = "write a corpus of reviews, their pieces and mixtures, and how sure a count of n-grams is of each"
    command = commands.add_parser("judge", parents=[DATA], help=text)
    command.add_argument("--corpus", default="imdb", help="whose training texts are judged")
    command.add_argument("--more", default="sst2", help="from which to learn to judge too")

    text = "write a corpus of sentences and a checkpoint's translations, to learn the other direction from"
    command = commands.add_parser("backtranslate", parents=[CHECKPOINT, BEAM, DATA, DEVICE], help=text)
    command.add_argument("--corpus", default="multi30k", help="whose training sentences the checkpoint translates")
    command.add_argument("--apart", nargs="*", default=[], metavar="CORPUS", help="of whose tests nothing comes in")


def make_parser(program: str, description: str | None) -> argparse.ArgumentParser:
    """The parser of the whole command line; the name of the command is `command` in what it returns."""
    parser = argparse.ArgumentParser(prog=program, description=description)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for add in (add_train, add_evaluate, add_use, add_fetch, add_corpora):
        add(commands)
    return parser
