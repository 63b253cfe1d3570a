"""The grammar's own words: a parser that suggests what was meant, and the options that several commands share."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterable, Sequence
from typing import Any

_SEVERAL = "one log only: several files are named by a folder or by a glob in quotes ('logs/*.jsonl')"


class Parser(argparse.ArgumentParser):
    """A parser whose complaints about unknown words name the nearest known one; its sub-commands complain themselves, with their own usage."""

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> tuple[Any, list[str]]:  # type: ignore[override]
        """As the base class; words that the parser of a sub-command does not know are an error there, where its options are known."""
        found, rest = super().parse_known_args(args, namespace)
        if rest and not any(isinstance(action, argparse._SubParsersAction) for action in self._actions):
            self.error(f"unrecognized arguments: {' '.join(rest)}{self._meant(rest, named=getattr(found, 'source', None))}")
        return found, rest

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            raise argparse.ArgumentError(action, f"{error.message}{_nearest(str(value), map(str, action.choices or ()))}") from None

    def _meant(self, rest: Sequence[str], *, named: str | None) -> str:
        options = [option for action in self._actions for option in action.option_strings if action.help != argparse.SUPPRESS]
        for word in rest:
            if word.startswith("-") and word != "-":
                name = word.partition("=")[0]
                positional = any(not action.option_strings and str(action.metavar).startswith("PATH") for action in self._actions)
                return _nearest(name, options) or ("; a log is named without an option here" if positional and _nearest(name, ["--source"]) else "")
        if "--source" in options and named is not None:  # the shell has replaced a glob
            return f"; {_SEVERAL}"
        if "--source" in options:
            return f"; a log is named with --source: --source {rest[0]}"
        return ""


def _nearest(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else ""


class Once(argparse.Action):
    """An option that may be given once: argparse takes the last of several, and a log that nobody reads must not go by in silence."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option_string: str | None = None) -> None:
        """Keep the value, or complain of the second one."""
        if getattr(namespace, self.dest) is not None:
            raise argparse.ArgumentError(self, f"given twice; {_SEVERAL}")
        setattr(namespace, self.dest, values)


def positive(text: str) -> int:
    """A whole number from 1 on, as an option's type."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number from 1 on")
    return number


def add_config(parser: argparse.ArgumentParser) -> None:
    """`--config`."""
    parser.add_argument("--config", metavar="FILE", help="configuration (default: ./detector.yml if there is one)")


def add_rules(parser: argparse.ArgumentParser) -> None:
    """`--rules`."""
    text = "rule file or folder instead of the configuration's; `shipped` stands for those that ship with detector; may be given more than once"
    parser.add_argument("--rules", metavar="DIR", action="append", default=[], help=text)


def add_format(parser: argparse.ArgumentParser, *names: str) -> None:
    """`--format`; the first name is the default."""
    parser.add_argument("--format", choices=names, default=names[0], help="what to print (default: %(default)s)")


def add_format_of(parser: argparse.ArgumentParser) -> None:
    """`--format-of`."""
    parser.add_argument("--format-of", metavar="NAME", help="read the log as this format instead of finding out (detector formats list)")
