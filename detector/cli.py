"""The command line: parse, call, print, exit code. Every command is one file in `detector.commands`.

Exit codes: 0 looked and nothing fires, 1 something fires, 2 nothing fires but something could not be looked at (or the call itself can't be
carried out), 3 a message could not be delivered.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import os
import pkgutil
import sys
import traceback
from collections.abc import Sequence

from detector import __version__
from detector.arguments import Parser
from detector.errors import DetectorError

CANNOT = 2  # exit code of a call that can't be carried out: nothing was looked at


def parser() -> argparse.ArgumentParser:
    """The whole command-line grammar, assembled from `detector.commands`."""
    root = Parser(
        prog="detector",
        description="Finds, explains and reports what goes wrong in the answers of LLMs served with vLLM and SGLang.",
        epilog="Exit codes: 0 nothing fires, 1 something fires, 2 something could not be looked at, 3 a message could not be delivered.",
    )
    root.add_argument("--version", action="version", version=f"detector {__version__}")
    commands = root.add_subparsers(dest="command", metavar="COMMAND", required=True)
    package = importlib.import_module("detector.commands")
    for module in sorted(entry.name for entry in pkgutil.iter_modules(package.__path__)):
        importlib.import_module(f"detector.commands.{module}").register(commands)
    return root


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; errors that `detector` knows are printed on stderr without a traceback."""
    args = parser().parse_args(argv)
    if sys.stdout is None:  # the caller closed it
        _say("detector: standard output is closed: nothing could be told")
        return CANNOT
    _prepare_output(for_programs=getattr(args, "format", "text") in ("json", "jsonl"))
    try:
        code: int = args.run(args)
        sys.stdout.flush()
    except DetectorError as error:
        from detector.render.inert import LINE, plain

        _say("\n".join(plain(line, LINE) for line in f"detector: {error}".split("\n")))  # names of files, and words from them
        return CANNOT
    except KeyboardInterrupt:
        _say("detector: interrupted")
        return 130
    except OSError as error:
        if isinstance(error, BrokenPipeError):  # the reader of our output (head, a pager) went away: not our failure
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 141
        if os.environ.get("DETECTOR_TRACEBACK"):
            raise
        _say(f"detector: {error.strerror or type(error).__name__}{f': {error.filename}' if error.filename else ''}")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what could not be written must not fail once more at exit
        return CANNOT
    except Exception as error:  # a fault of ours must not look like a finding (1): nothing was looked at
        if os.environ.get("DETECTOR_TRACEBACK"):
            raise
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{os.path.basename(frame.filename)}:{frame.lineno}"
        _say(f"detector: a fault of detector itself: {type(error).__name__} at {where}; DETECTOR_TRACEBACK=1 shows more. Please report it")
        return CANNOT
    return code


def _say(text: str) -> None:
    """A line on stderr; where that can't be written either, the exit code has to do."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        print(text, file=sys.stderr, flush=True)


def _prepare_output(*, for_programs: bool) -> None:
    """What stdout's encoding lacks (a dash in a cron job's ASCII, half a character in a log's id) is written as an escape; JSON is UTF-8 anywhere."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace", encoding="utf-8" if for_programs else None)


if __name__ == "__main__":
    sys.exit(main())
