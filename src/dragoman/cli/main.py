"""The program ``dragoman``: finds the command, loads it alone, and turns trouble into a message and an exit code."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module

import click

from dragoman.cli.errors import INTERRUPTED, UnknownCommand, report
from dragoman.cli.options import Settings, add_common, forget_log

#: Command → module:attribute, what it does. Loaded only when it is called, so that every command starts fast.
COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("dragoman.cli.demo:demo", "The main job on bundled servers, offline, nothing to configure."),
    "probe": ("dragoman.cli.probe:probe", "Connect to a server and say what it is: probe -- CMD ... | URL."),
    "call": ("dragoman.cli.call:call", "Call a tool: call SERVER.TOOL k=v ... | --on CMD TOOL k=v ..."),
    "tools": ("dragoman.cli.tools:tools", "List tools, their tiers, and what they are for."),
    "resources": ("dragoman.cli.read:resources", "List what a server offers to read."),
    "prompts": ("dragoman.cli.read:prompts", "List a server's prompts."),
    "read": ("dragoman.cli.read:read", "Read a resource: read SERVER URI."),
    "prompt": ("dragoman.cli.read:prompt", "Fill in a prompt: prompt SERVER NAME k=v ..."),
    "complete": ("dragoman.cli.read:complete", "Ask a server to complete an argument."),
    "add": ("dragoman.cli.servers:add", "Add a server to the configuration: add NAME -- CMD ... | URL."),
    "remove": ("dragoman.cli.servers:remove", "Take a server out of the configuration."),
    "enable": ("dragoman.cli.servers:enable", "Switch a server on, or approve one of a project file."),
    "disable": ("dragoman.cli.servers:disable", "Switch a server off."),
    "restart": ("dragoman.cli.status:restart", "Start a server anew and see whether it answers."),
    "doctor": ("dragoman.cli.doctor:doctor", "Say what is wrong with a server, and whose fault: doctor SERVER | -- CMD ... | URL."),
    "logs": ("dragoman.cli.logs:logs", "Show what a server wrote on stderr, and its log messages."),
    "record": ("dragoman.cli.record:record", "Write down a conversation: record -o FILE -- CMD ... | URL | SERVER."),
    "replay": ("dragoman.cli.record:replay", "Play a recorded conversation as a server."),
    "import": ("dragoman.cli.importcmd:import_", "Take over servers: import claude|cursor|vscode|FILE."),
    "status": ("dragoman.cli.status:status", "Every server: its tools, their tiers, its last check."),
    "tier": ("dragoman.cli.tier:tier", "Show or set the tier of a tool."),
    "audit": ("dragoman.cli.audit:audit", "The audit: audit tail | show | search | verify | export | prune."),
    "policy": ("dragoman.cli.policy:policy", "Say what decides about a call: policy explain SERVER.TOOL."),
    "config": ("dragoman.cli.configcmd:config", "Show the configuration in use, or check it."),
}

#: Set by the completion scripts of bash, zsh and fish, which `_DRAGOMAN_COMPLETE=bash_source dragoman` prints.
COMPLETE = "_DRAGOMAN_COMPLETE"
EPILOG = "Exit codes: 0 done, 1 failed, 2 usage or configuration, 3 refused, 4 no connection, 5 timeout."


class Commands(click.Group):
    """Subcommands from :data:`COMMANDS`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        command = self.get_command(ctx, args[0])
        if command is None:
            raise UnknownCommand(args[0], list(COMMANDS), ctx)
        return args[0], command, args[1:]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.command(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog=EPILOG,
    no_args_is_help=False,
    invoke_without_command=True,
)
@add_common
@click.pass_context
def dragoman(ctx: click.Context) -> None:
    """Use MCP servers that others wrote: every dialect of the protocol, every call governed and written down."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
        ctx.exit()


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        argv: Without the program's name; ``sys.argv`` by default.

    Returns:
        The exit code. Nothing is raised.
    """
    before = signal.getsignal(signal.SIGINT)
    try:
        return _run(list(sys.argv[1:] if argv is None else argv))
    except KeyboardInterrupt:  # while something else was being told
        _no_more_ctrl_c()
        return INTERRUPTED
    finally:
        # As a program it stays off till the end of the process: Python's own end can be interrupted, too, with a traceback.
        if argv is not None and signal.getsignal(signal.SIGINT) is not before:
            signal.signal(signal.SIGINT, before)


def _no_more_ctrl_c() -> None:
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    except ValueError:  # not the main thread
        pass


def _run(words: list[str]) -> int:
    _survive_odd_streams()
    settings = Settings()
    if "--json" in words[: words.index("--") if "--" in words else None]:
        settings.json = True  # trouble with the words before it is told as JSON too
    try:
        if COMPLETE in os.environ:
            from click.shell_completion import shell_complete

            return shell_complete(dragoman, {}, "dragoman", COMPLETE, os.environ[COMPLETE])
        # Not dragoman.main(): it has its own idea of what a closed pipe means.
        with dragoman.make_context("dragoman", words, obj=settings) as ctx:
            result = dragoman.invoke(ctx)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except BaseException as exc:
        if isinstance(exc, KeyboardInterrupt | click.Abort):
            _no_more_ctrl_c()
        return report(exc, settings)
    finally:
        settings.close()
        forget_log()


def _survive_odd_streams() -> None:
    """A stream that was closed before we began leads nowhere: no file that is opened later may get its number, and its words.

    A terminal of another encoding gets escapes for what it cannot show, instead of an error in the middle of a result.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free, which is this one
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8", closefd=False))
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
