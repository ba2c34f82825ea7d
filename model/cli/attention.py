"""`python -m model attention`: write every attention map of one translation to a file."""

import argparse
from pathlib import Path

from model.checkpoints.checkpoint import Checkpoint
from model.cli.arguments import CHECKPOINT, SECOND, Commands, add_continuation_options, add_search_options, positive
from model.cli.resolve import note, note_cleaning, search_settings, translator_of
from model.config.section import ConfigError
from model.files import replace_file
from model.inference.continuation import with_continuation
from model.inference.export import FORMATS, facts_of
from model.inference.findings import finding_in_run
from model.inference.result import Result
from model.inference.searching import with_model_settings
from model.inference.translate import translate
from model.text.pair import Text, paired

__all__ = ["add_parser", "maps_file", "print_shapes", "run", "run_model", "write_maps"]


def add_parser(commands: Commands) -> argparse.ArgumentParser:
    text = "write every attention map of one translation to a file"
    command = commands.add_parser("attention", parents=[CHECKPOINT, SECOND], help=text)
    command.add_argument("sentence", help="the text to translate")
    command.add_argument("--out", help="an .npz, .csv or .json file; without another output the default is maps.npz")
    text = "number of hypotheses of the beam search, default 1, which is greedy search"
    command.add_argument("--beam", type=positive, help=text)
    add_search_options(command)
    add_continuation_options(command)
    return command


def run(args: argparse.Namespace) -> None:
    out = maps_file(args)
    checkpoint, text, translation = run_model(args)
    write_maps(out, checkpoint, text, translation)
    print_shapes(translation)


def maps_file(args: argparse.Namespace) -> Path:
    """Raises ConfigError if the name of the file names no format."""
    out = Path(args.out or "maps.npz")
    if out.suffix[1:] not in FORMATS:
        raise ConfigError(f"Maps cannot be written to {out}. The name must end in .{', .'.join(FORMATS)}.")
    return out


def run_model(args: argparse.Namespace) -> tuple[Checkpoint, Text, Result]:
    search = search_settings(args, usual_beam=1)
    checkpoint = with_continuation(translator_of(args), new_tokens=args.new_tokens, chat=args.chat)
    note_cleaning(checkpoint, [args.sentence])
    text = paired(args.sentence, args.second)
    translation = translate(checkpoint, text, search=with_model_settings(search, checkpoint.config))
    if finding := finding_in_run(translation):
        note(finding)
    return checkpoint, text, translation


def write_maps(out: Path, checkpoint: Checkpoint, text: Text, translation: Result) -> None:
    facts = {"checkpoint": checkpoint.name, **facts_of(text), "translation": translation.text}
    replace_file(out, FORMATS[out.suffix[1:]](translation, facts))


def print_shapes(translation: Result) -> None:
    print(translation.text)
    for name, maps in translation.maps.items():
        print(f"{name:8} {maps.shape}")
