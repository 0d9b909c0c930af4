"""The ``spector`` command: parse, run one command, turn its outcome into an exit code.

Exit codes: 0 done; 1 done, and the answer is no (check found problems, recall found nothing, a
claim of the demo did not hold); 2 wrong arguments or input; 3 the store cannot do it; 4 no
embedding or kernel; 70 a bug in spector; 74 the output cannot be written; 130 interrupted; 141 the
reader of our output went away.
"""

from __future__ import annotations

import _thread
import argparse
import contextlib
import re
import signal
import sys
import threading
from collections.abc import Sequence
from typing import Final, NoReturn

from spector._version import __version__
from spector.cli.commands import COMMANDS
from spector.cli.output import Console, clean
from spector.cli.streams import fill_closed, silence_stdout
from spector.cli.suggest import meant_option, meant_verb
from spector.errors import EmbeddingError, KernelUnavailableError, SpectorError, StoreError

__all__ = ["build_parser", "command", "exit_code_of", "main", "parse"]

EXIT_OK, EXIT_NO, EXIT_USAGE, EXIT_STORE, EXIT_MODEL = 0, 1, 2, 3, 4
EXIT_BUG, EXIT_OUTPUT, EXIT_INTERRUPTED, EXIT_PIPE = 70, 74, 130, 141

#: an option in the help of a verb
_OPTION: Final = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")

#: seconds until a swallowed interrupt comes again
_MOMENT_S: Final = 0.01

_EPILOG = """\
exit codes:
  0  done
  1  done, and the answer is no: check found problems, nothing was found or forgotten
  2  wrong arguments or input
  3  the store cannot do it: absent, locked, damaged, full, made with another model
  4  no embedding or no scan kernel

environment:
  SPECTOR_EMBEDDER  embedder to use when --embedder is not given
  NO_COLOR          never print colours
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line ``argv`` (default: of the process) and return the exit code."""
    fill_closed()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            # a terminal that cannot show a character must not end the command
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        args = parse(sys.argv[1:] if argv is None else argv)
    except SystemExit as stop:
        try:
            sys.stdout.flush()
        except OSError:
            silence_stdout()
            return EXIT_OUTPUT
        return stop.code if isinstance(stop.code, int) else EXIT_USAGE
    store = getattr(args, "path", getattr(args, "backup", None))
    console = Console(as_json=args.as_json, path=store)
    try:
        code: int = args.run(args, console)
        sys.stdout.flush()
        return code
    except SpectorError as error:
        code = exit_code_of(error)
        with contextlib.suppress(OSError):  # the code says it too
            console.failure(error, code)
        return code
    except KeyboardInterrupt:
        console.note("interrupted")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        silence_stdout()
        return EXIT_PIPE
    except OSError as error:
        if error.filename is not None:
            return _bug(console)
        silence_stdout()  # or the interpreter would try again, and say so
        with contextlib.suppress(OSError):
            console.note(f"the output cannot be written: {error.strerror or error}")
        return EXIT_OUTPUT
    except Exception:
        return _bug(console)


def command() -> NoReturn:
    """`main` as the process that it is: what follows it is the interpreter's own end.

    Python swallows an interrupt that comes while it forgets a weak reference, and prints it; here
    it comes again a moment later. One that comes when the command is over ends the process by its
    signal, and no traceback of the interpreter's is shown.
    """
    sys.unraisablehook = _come_again
    code = main()
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_DFL)
    sys.exit(code)


def _come_again(unraisable: sys.UnraisableHookArgs) -> None:
    if not isinstance(unraisable.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)
        return
    later = threading.Timer(_MOMENT_S, _thread.interrupt_main)
    later.daemon = True
    later.start()


def _bug(console: Console) -> int:
    import traceback

    with contextlib.suppress(OSError):
        traceback.print_exc()
        console.note("this is a bug in spector; please report it with the lines above")
    return EXIT_BUG


def exit_code_of(error: SpectorError) -> int:
    """The documented exit code of an error."""
    if isinstance(error, StoreError):
        return EXIT_STORE
    if isinstance(error, (EmbeddingError, KernelUnavailableError)):
        return EXIT_MODEL
    return EXIT_USAGE


class _Parser(argparse.ArgumentParser):
    """Errors in the same words as every other error of the command."""

    def error(self, message: str) -> NoReturn:
        self.refuse(message)

    def refuse(self, message: str, meant: str = "") -> NoReturn:
        """End with exit code 2. ``meant``: what should have been written, where that is known."""
        asked = f"did you mean {meant}? " if meant else ""
        self.exit(EXIT_USAGE, f"error: {clean(message)}\n hint: {asked}see {self.prog} --help\n")


    def take(self, argv: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
        """The arguments, options before, between and behind the others, and what is left over."""
        try:
            return self.parse_known_intermixed_args(argv)
        except TypeError:  # the rest of the line is for a parser of its own, as in bench
            return self.parse_known_args(argv)


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The arguments; ends the process with exit code 2 when they are wrong."""
    parser, verbs = build_parser()
    verb = argv[0] if argv else ""
    if verb not in verbs:
        if verb and not verb.startswith("-"):
            meant = meant_verb(verb, verbs)
            parser.refuse(f"there is no command {verb!r}", f"spector {meant}" if meant else "")
        return parser.parse_args(argv)
    mine = verbs[verb]
    args, rest = mine.take(argv[1:])
    if rest:
        name = next((each for each in rest if each.startswith("-")), rest[0])
        meant = meant_option(name, _OPTION.findall(mine.format_help()))
        mine.refuse(f"unrecognized arguments: {' '.join(rest)}", meant)
    return args


def build_parser() -> tuple[_Parser, dict[str, _Parser]]:
    """The parser of the whole command, and that of each verb."""
    parser = _Parser(
        prog="spector",
        description="An embedded memory engine for LLM agents; one directory is one mind.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"spector {__version__}")
    commands = parser.add_subparsers(
        metavar="COMMAND", required=True, title="commands", parser_class=_Parser
    )
    for add in COMMANDS:
        add(commands)
    verbs: dict[str, _Parser] = dict(commands.choices)
    return parser, verbs


if __name__ == "__main__":
    command()
