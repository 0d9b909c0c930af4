"""The ``spector`` command: parses arguments, runs one command, returns an exit code.

Exit codes: 0 done; 1 done, and the answer is no (check found problems, recall found nothing, a
claim of the demo failed); 2 wrong arguments or input; 3 the store cannot do it; 4 no embedding or
kernel; 70 a bug in spector; 74 the output cannot be written; 130 interrupted; 141 the reader of the
output closed it.
"""

from __future__ import annotations

import _thread
import argparse
import contextlib
import gc
import re
import signal
import sys
import threading
from collections.abc import Sequence
from typing import Final, NoReturn

from spector._version import __version__
from spector.cli.commands import COMMANDS, GROUPS
from spector.cli.output import Console, clean, fill_closed, silence_stdout
from spector.errors import EmbeddingError, KernelUnavailableError, SpectorError, StoreError

EXIT_OK, EXIT_NO, EXIT_USAGE, EXIT_STORE, EXIT_MODEL = 0, 1, 2, 3, 4
EXIT_BUG, EXIT_OUTPUT, EXIT_INTERRUPTED, EXIT_PIPE = 70, 74, 130, 141

#: an option in the help text of a command
_OPTION: Final = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")

#: new objects between two searches for garbage: importing makes fewer, and no garbage
_OBJECTS: Final = 300_000

#: seconds until a swallowed interrupt is raised again
_MOMENT_S: Final = 0.01

_EPILOG = """\
exit codes:
  0  done
  1  done, and the answer is no: problems found, or nothing found or forgotten
  2  wrong arguments or input
  3  the store cannot do it: missing, locked, damaged, full, or made with another model
  4  no embedding or no scan kernel

environment:
  SPECTOR_EMBEDDER  embedder to use without --embedder
  SPECTOR_KERNEL    native, numba or reference, instead of the fastest that loads
  SPECTOR_STORE     store of mcp and hook without STORE
  OPENAI_API_KEY    key of the openai embedder
  NO_COLOR          print no colours
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line ``argv`` (default: that of the process); return the exit code."""
    given = sys.argv[1:] if argv is None else argv
    try:
        code = _main(given)
    except KeyboardInterrupt:  # as an error was being written
        return EXIT_INTERRUPTED
    # an agent takes 2 for a veto of its hook, and drops the prompt
    return EXIT_NO if code == EXIT_USAGE and [*given[:1]] == ["hook"] else code


def _main(argv: Sequence[str]) -> int:
    fill_closed()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            # a character that the terminal cannot show must not end the command
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        args = parse(argv)
    except SystemExit as stop:
        try:
            sys.stdout.flush()
        except OSError:
            silence_stdout()
            return EXIT_OUTPUT
        return stop.code if isinstance(stop.code, int) else EXIT_USAGE
    console = Console(
        as_json=args.as_json, path=getattr(args, "path", getattr(args, "backup", None))
    )
    try:
        if (zone := getattr(args, "timezone", None)) is not None:
            from spector.clock import zone_named

            console.zone = zone_named(zone)
        code: int = args.run(args, console)
        sys.stdout.flush()
        return code
    except SpectorError as error:
        code = exit_code_of(error)
        with contextlib.suppress(OSError):  # the exit code reports it too
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
        silence_stdout()  # otherwise the interpreter flushes again and prints the error
        with contextlib.suppress(OSError):
            console.note(f"the output cannot be written: {error.strerror or error}")
        return EXIT_OUTPUT
    except Exception:
        return _bug(console)


def command() -> NoReturn:
    """Run `main` and end the process.

    Python swallows and prints an interrupt that arrives in the callback of a weak reference; here
    it is raised again a moment later. An interrupt after the command is done ends the process by
    its signal, without a traceback of the interpreter.
    """
    sys.unraisablehook = _raise_again
    gc.set_threshold(_OBJECTS)
    code = main()
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_DFL)
    sys.exit(code)


def _raise_again(unraisable: sys.UnraisableHookArgs) -> None:
    if not isinstance(unraisable.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)
        return
    later = threading.Timer(_MOMENT_S, _interrupt_main)
    later.daemon = True
    later.start()


def _interrupt_main() -> None:
    """Raise an interrupt in the main thread; where the system can, it ends a call that waits."""
    thread = threading.main_thread().ident
    if thread is not None and hasattr(signal, "pthread_kill"):
        signal.pthread_kill(thread, signal.SIGINT)
    else:
        _thread.interrupt_main()


def _bug(console: Console) -> int:
    import traceback

    with contextlib.suppress(OSError):
        traceback.print_exc()
        console.note("a bug in spector, unless spector doctor finds a problem; please report it")
    return EXIT_BUG


def exit_code_of(error: SpectorError) -> int:
    """The documented exit code of an error."""
    if isinstance(error, StoreError):
        return EXIT_STORE
    if isinstance(error, (EmbeddingError, KernelUnavailableError)):
        return EXIT_MODEL
    return EXIT_USAGE


class _Parser(argparse.ArgumentParser):
    """A parser whose errors look like every other error of the command."""

    def error(self, message: str) -> NoReturn:
        self.fail(message)

    def fail(self, message: str, meant: str = "") -> NoReturn:
        """Exit with code 2. ``meant``: the suggested correction, if there is one."""
        asked = f"did you mean {meant}? " if meant else ""
        self.exit(EXIT_USAGE, f"error: {clean(message)}\n hint: {asked}see {self.prog} --help\n")

    def parse_mixed(self, argv: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
        """Parse arguments with options in any position; also return unknown arguments."""
        try:
            return self.parse_known_intermixed_args(argv)
        except TypeError:  # REMAINDER arguments, as of bench, cannot be intermixed
            return self.parse_known_args(argv)


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments; wrong ones end the process with exit code 2."""
    verb = argv[0] if argv else ""
    if verb not in COMMANDS:
        _end_without_command(verb, argv)
    parser = parser_of(verb)
    args, rest = parser.parse_mixed(argv[1:])
    if rest:
        from spector.cli.suggest import suggest_option

        name = next((each for each in rest if each.startswith("-")), rest[0])
        meant = suggest_option(name, _OPTION.findall(parser.format_help()))
        parser.fail(f"unrecognized arguments: {' '.join(rest)}", meant)
    return args


def parser_of(verb: str) -> _Parser:
    """The parser of one command; no module of another one is imported."""
    command = COMMANDS[verb]
    parser = _Parser(
        prog=f"spector {verb}", description=f"{command.help[0].upper()}{command.help[1:]}."
    )
    command.describe(parser)
    return parser


def _end_without_command(verb: str, argv: Sequence[str]) -> NoReturn:
    """Print the help or the version; anything else is wrong."""
    parser = _Parser(
        prog="spector",
        usage="spector [-h] [--version] COMMAND ...",
        description="An embedded memory engine for LLM agents; a store is a directory.",
        epilog=f"{_commands_text()}\n{_EPILOG}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"spector {__version__}")
    if verb and not verb.startswith("-"):
        from spector.cli.suggest import suggest_verb

        meant = suggest_verb(verb, COMMANDS)
        parser.fail(f"unknown command {verb!r}", f"spector {meant}" if meant else "")
    parser.parse_known_args(argv)
    parser.fail("the following arguments are required: COMMAND")


def _commands_text() -> str:
    """The commands with what they do, by group."""
    room = max(map(len, COMMANDS))
    return "\n".join(
        line
        for title, group in GROUPS.items()
        for line in (f"{title}:", *(f"  {each.verb:{room}}  {each.help}" for each in group), "")
    )


if __name__ == "__main__":
    command()
