"""What all commands share with the console: any encoding, a pipe that closes early, Ctrl-C, errors as one sentence."""

import io
import os
import re
import sys
from collections.abc import Callable, Sequence

from model.checkpoints.checkpoint import CheckpointError
from model.config.section import ConfigError
from model.corpora.corpora import CorpusError
from model.corpora.download import DownloadError
from model.training.diverged import DivergedError

__all__ = ["run_in_console"]

CLOSED, STOPPED = 141, 130  # the exit codes that a shell reports after the signals SIGPIPE and SIGINT
HALF = re.compile(r"[\udc80-\udcff]")  # how Python keeps a byte that is not UTF-8
ERRORS = (CheckpointError, ConfigError, CorpusError, DivergedError, DownloadError)


def run_in_console(arguments: Sequence[str], run: Callable[[], None]) -> int:
    """Run a command, and return its exit code.

    Args:
        arguments: As typed. A byte that is not UTF-8 is refused, because no model and no file can have it.
        run: Prints, raises one of `ERRORS`, or exits as argparse does.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a console without a character shows its number
    for argument in arguments:
        if half := HALF.search(argument):
            return failed(f"{argument!r} is not UTF-8: byte {ord(half[0]) - 0xDC00:#04x}. Set the console to UTF-8.")
    try:
        try:
            run()
        finally:
            print(end="", flush=True)
    except OSError as error:
        # Python flushes the rest when it ends, and that must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        # Where the pipe is broken, the reader has left, as in `| head`.
        return CLOSED if isinstance(error, BrokenPipeError) else failed(str(error))
    except KeyboardInterrupt:
        return STOPPED
    except ERRORS as error:
        return failed(str(error))
    except UnicodeDecodeError as error:
        return failed(f"the input is not {error.encoding.upper()}: byte {error.object[error.start]:#04x}.")
    return 0


def failed(reason: str) -> int:
    print(f"Error: {reason}", file=sys.stderr)
    return 1
