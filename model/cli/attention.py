"""`python -m model attention`: write every attention map of one translation to a file."""

import argparse
from datetime import date
from pathlib import Path

from model.checkpoints.checkpoint import Checkpoint
from model.cli.arguments import CHECKPOINT, Commands, add_continuation_options, add_search_options, positive
from model.cli.resolve import folder_at, note_unused, search_settings
from model.config.section import ConfigError
from model.files import replace_file
from model.inference.continuation import with_continuation
from model.inference.export import FORMATS
from model.inference.opening import open_translator
from model.inference.searching import with_model_settings
from model.inference.translate import translate
from model.inference.translation import Translation

__all__ = ["add_parser", "run"]


def add_parser(commands: Commands) -> None:
    text = "write every attention map of one translation to a file"
    command = commands.add_parser("attention", parents=[CHECKPOINT], help=text)
    command.add_argument("sentence", help="the text to translate")
    command.add_argument("--out", help="an .npz, .csv or .json file; without --html the default is maps.npz")
    command.add_argument("--html", metavar="FILE", help="write all maps into one HTML file that any browser opens")
    text = "number of hypotheses of the beam search, default 1, which is greedy search"
    command.add_argument("--beam", type=positive, help=text)
    add_search_options(command)
    add_continuation_options(command)


def run(args: argparse.Namespace) -> None:
    out = Path(args.out or "maps.npz")
    if out.suffix[1:] not in FORMATS:
        raise ConfigError(f"Maps cannot be written to {out}. The name must end in .{', .'.join(FORMATS)}.")
    search = search_settings(args, usual_beam=1)
    opened = open_translator(folder_at(args.checkpoint))
    note_unused(opened.unused)
    checkpoint = with_continuation(opened, new_tokens=args.new_tokens, chat=args.chat)
    translation = translate(checkpoint, args.sentence, search=with_model_settings(search, checkpoint.config))
    if args.out or not args.html:
        facts = {"checkpoint": checkpoint.name, "sentence": args.sentence, "translation": translation.text}
        replace_file(out, FORMATS[out.suffix[1:]](translation, facts))
    if args.html:
        replace_file(Path(args.html), page_of(translation, args.sentence, checkpoint))
    print(translation.text)
    for name, maps in translation.maps.items():
        print(f"{name:8} {maps.shape}")


def page_of(translation: Translation, text: str, checkpoint: Checkpoint) -> str:
    from viz_app.export.report import report  # only this command needs the app's pictures

    try:
        return report(translation, text=text, name=checkpoint.name, made=date.today(), sizes=checkpoint.config.model)
    except ValueError as error:  # the text has too many tokens for one page
        raise ConfigError(f"{error} Use --out maps.npz instead, which has no limit.") from error
