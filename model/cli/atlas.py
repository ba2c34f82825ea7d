"""`python -m model atlas`: measure what every head does in a whole corpus, or merge the shares of such a run."""

import argparse
import os
import signal
from pathlib import Path

from tqdm import tqdm

from model.cli.resolve import folder_at, note, refuse, with_note
from model.config.section import ConfigError
from model.inference.opening import open_checkpoint
from model.network.device import pick_device

__all__ = ["run_atlas"]


def run_atlas(args: argparse.Namespace) -> None:
    from model.atlas.work import merge  # other commands do not wait for pyarrow

    out, speaks = Path(args.out), os.environ.get("RANK", "0") == "0"
    if args.merge:
        refuse(args, ["corpus", "share", "seed", "syntax"], "{option} has no effect with --merge. Leave it out.")
        merge([Path(folder) for folder in args.merge], out)
    else:
        measure(args, out, speaks)
    if speaks:
        summarize(args, out)


def measure(args: argparse.Namespace, out: Path, speaks: bool) -> None:
    from model.atlas.corpus import open_corpus
    from model.atlas.syntax import NO_SYNTAX, open_syntax
    from model.atlas.work import make_atlas

    if not args.corpus:
        raise ConfigError("Name a file with one text per line: --corpus FILE.")
    corpus = open_corpus(Path(args.corpus))
    names = ["" if name == "-" else name for name in args.syntax or ()]
    if len(names) > 2:
        raise ConfigError("--syntax takes one or two pipelines, not {number}.", number=len(names))
    syntax = open_syntax(*names) if names else NO_SYNTAX
    checkpoint = open_checkpoint(folder_at(args.checkpoint), device=str(pick_device(args.device)))
    if speaks:
        with_note(checkpoint)
        if corpus.texts == 1:
            note("The corpus has only one text, so no number has an interval.")
        if (
            corpus.with_second
            and checkpoint.config.task != "translation"
            and not checkpoint.tokenizers.specials.separator
        ):
            note(
                f"{checkpoint.name} reads single texts: what follows a tab in {corpus.with_second:,} lines is left out."
            )
    # A launcher stops its processes with this signal. They save what they have, as after Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tqdm(unit="line", disable=not speaks) as bar:

        def report(done: int, lines: int) -> None:
            bar.total = lines
            bar.update(done - bar.n)

        try:
            make_atlas(
                checkpoint,
                corpus,
                out,
                share=args.share or (1, 1),
                report=report,
                seed=args.seed or 0,
                syntax=syntax,
            )
        except KeyboardInterrupt:
            if speaks:
                note("Stopped. The same command continues.")
            raise


def summarize(args: argparse.Namespace, out: Path) -> None:
    """Say what is there now."""
    if args.share and args.share != (1, 1):
        print(f"Share {args.share[0]} of {args.share[1]} is in {out}. Merge all shares with --merge.")
        return
    from model.atlas.atlas import open_atlas

    atlas = open_atlas(out)
    facts, size = atlas.facts["facts"], sum(atlas.facts["files"].values())
    print(f"{out}: {len(atlas.heads)} heads in {facts['texts']:,} texts, {size / 1e6:.1f} MB")
    if atlas.facts["left_out_lines"]:
        print(f"{atlas.facts['left_out_lines']:,} empty lines are left out.")
    if facts["cut_texts"]:
        limit = atlas.settings.longest
        print(f"{facts['cut_texts']:,} texts are longer than {limit} tokens: {facts['cut_tokens']:,} are left out.")
