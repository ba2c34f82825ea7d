"""`python -m model attention`: write every attention map of one translation to a file."""

import argparse
from datetime import date
from pathlib import Path

from model.cli.arguments import CHECKPOINT, Commands, add_search_options, positive
from model.cli.resolve import folder_at, search_settings
from model.config.section import ConfigError
from model.files import replace_file
from model.inference.export import FORMATS
from model.inference.opening import open_translator
from model.inference.translate import translate
from model.inference.translation import Translation

__all__ = ["add_parser", "run"]


def add_parser(commands: Commands) -> None:
    text = "write every attention map of one translation to a file"
    command = commands.add_parser("attention", parents=[CHECKPOINT], help=text)
    command.add_argument("sentence")
    command.add_argument("--out", help="an .npz, .csv or .json file, default maps.npz where there is no --html")
    command.add_argument("--html", metavar="FILE", help="one HTML file with all of it, to be opened anywhere")
    command.add_argument("--beam", type=positive, help="width of the beam, default 1, which is greedy")
    add_search_options(command)


def run(args: argparse.Namespace) -> None:
    out = Path(args.out or "maps.npz")
    if out.suffix[1:] not in FORMATS:
        raise ConfigError(f"{out} is no name for a file of maps: it has to end in .{', .'.join(FORMATS)}.")
    search = search_settings(args, usual_beam=1)
    checkpoint = open_translator(folder_at(args.checkpoint))
    translation = translate(checkpoint, args.sentence, search=search)
    if args.out or not args.html:
        facts = {"checkpoint": checkpoint.name, "sentence": args.sentence, "translation": translation.text}
        replace_file(out, FORMATS[out.suffix[1:]](translation, facts))
    if args.html:
        replace_file(Path(args.html), page_of(translation, args.sentence, checkpoint.name))
    print(translation.text)
    for name, maps in translation.maps.items():
        print(f"{name:8} {maps.shape}")


def page_of(translation: Translation, text: str, name: str) -> str:
    from viz_app.export.report import report  # the app's pictures, which no other command needs

    try:
        return report(translation, text=text, name=name, made=date.today())
    except ValueError as error:  # the text has too many tokens for one page
        raise ConfigError(f"{error} A file that --out names, such as maps.npz, holds maps of any size.") from error
