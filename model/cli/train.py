"""`python -m model train`: train a recipe into a checkpoint."""

import argparse
from pathlib import Path

from model.cli.arguments import DATA, DEVICE, Commands, setting
from model.cli.resolve import own_folder_at, require_training_packages
from model.config.paths import folder_for_new
from model.config.recipe import load_recipe
from model.corpora.corpora import data_dir

__all__ = ["add_parser", "run"]


def add_parser(commands: Commands) -> None:
    command = commands.add_parser("train", parents=[DATA, DEVICE], help="train a recipe into a checkpoint")
    command.add_argument("recipe", help="name of a bundled recipe, or path of a .toml file")
    text = "folder of the new checkpoint (default: RECIPE, in the folder that `fetch` uses)"
    command.add_argument("--out", help=text)
    text = "number format of the computation (default: as in the recipe)"
    command.add_argument("--precision", choices=["fp32", "bf16", "fp16"], help=text)
    command.add_argument("--max-steps", type=int, help="end after this many steps")
    command.add_argument("--seed", type=int, help="seed of the random numbers (default: as in the recipe)")
    text = "save the weights after these steps, such as 0 100 1000, and at the end of the run"
    command.add_argument("--snapshots", nargs="+", type=int, metavar="STEP", help=text)
    start = command.add_mutually_exclusive_group()
    start.add_argument("--resume", action="store_true", help="continue the run in --out")
    start.add_argument("--init", metavar="CHECKPOINT", help="start from the weights and tokenizers of a checkpoint")
    command.add_argument("--tensorboard", action="store_true", help="log for TensorBoard into OUT/training/tensorboard")
    text = "replace a setting of the recipe; can be repeated"
    command.add_argument("--set", action="append", default=[], type=setting, metavar="NAME=VALUE", help=text)


def run(args: argparse.Namespace) -> None:
    require_training_packages()
    from model.training.train import train  # other commands do not wait for these packages

    recipe = load_recipe(args.recipe)
    settings = dict(args.set)
    for name in ("precision", "max_steps", "seed"):
        if getattr(args, name) is not None:
            settings[f"train.{name}"] = getattr(args, name)
    if args.snapshots:
        settings["train.snapshot_steps"] = args.snapshots
    recipe = recipe.with_settings(settings)
    out = Path(args.out) if args.out else folder_for_new() / recipe.name
    train(
        recipe,
        data_root=data_dir(args.data_dir),
        out=out,
        device=args.device,
        resume=args.resume,
        init=own_folder_at(args.init, "train --init") if args.init else None,
        tensorboard=args.tensorboard,
    )
