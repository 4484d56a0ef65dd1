"""``dragoman add | remove | enable | disable``: servers into the configuration and out of it; a person sees what they agree to."""

from __future__ import annotations

import shlex
from typing import Any

import click

from dragoman.cli import output
from dragoman.cli.options import Settings, agreeing, common
from dragoman.cli.proposal import placeholders, show_facts, show_proposal, tiers_in_words
from dragoman.cli.terminal import confirm, has_terminal
from dragoman.errors import ApprovalDenied
from dragoman.service import adding, configs
from dragoman.service import servers as service
from dragoman.service.notes import Agreement, How, agreement

_USER = click.option("--user", is_flag=True, help="In the user's own file, instead of the one in use.")


class AddCommand(click.Command):
    """Takes the server's command from behind a lone ``--``, so that its options are never taken for ours."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ours, behind = (args[: args.index("--")], args[args.index("--") + 1 :]) if "--" in args else (args, [])
        ctx.meta["behind"] = behind
        return super().parse_args(ctx, list(ours))


@click.command(cls=AddCommand)
@click.argument("name")
@click.argument("target", nargs=-1, metavar="-- CMD ... | URL")
@click.option("--env", "env", multiple=True, metavar="NAME[=VALUE]", help="A variable for the server; without a value, always yours.")
@click.option("--header", "headers", multiple=True, metavar="'K: V'", help="A header for a URL; '${env:NAME}' stands for a variable.")
@click.option("--cwd", metavar="DIR", help="The folder the server starts in.")
@click.option("--timeout", type=float, metavar="S", help="Seconds to connect, and for each call.")
@_USER
@agreeing
@common
@click.pass_context
def add(ctx: click.Context, settings: Settings, /, name: str, target: tuple[str, ...], **options: Any) -> None:
    """Add a server to the configuration.

    Connects to it, shows what it is and what it offers, proposes a tier for each tool and says why, and writes the configuration once you
    agreed; `dragoman tier` changes a tier afterwards. With --yes nothing is asked, and every tool is L2 (a person approves each call).
    """
    context = settings.loaded
    if settings.yes:
        service.refuse_yes(context)
    proposal = settings.run(
        adding.propose(
            name,
            _words(target, ctx.meta["behind"]),
            context,
            env=options["env"],
            headers=options["headers"],
            cwd=options["cwd"],
            timeout_s=options["timeout"],
            user=options["user"],
            cautious=settings.yes,
            tap_for=settings.tracing.tap,
        )
    )
    if not settings.json:
        show_proposal(proposal)
    for warning in proposal.warnings:
        output.warn(warning)
    how = _agreed(settings, f"Add {name} to {proposal.file}?", f"{name} was not added; nothing was written", name)
    settings.run(adding.write_down(proposal, context, how))
    if settings.json:
        output.emit_json({**proposal.for_json(), "written": True})
        return
    output.tell(f"added {name} to {proposal.file}: {tiers_in_words(proposal)}")
    _next_steps(proposal)
    in_use = configs.where(context)
    if in_use.path is not None and in_use.path != str(proposal.file):
        output.warn(f"here {in_use.path} is in use, not {proposal.file}")


@click.command()
@click.argument("name", metavar="SERVER")
@_USER
@common
def remove(settings: Settings, name: str, user: bool) -> None:
    """Take a server out of the configuration. Its audit and its log stay."""
    context = service.for_user(settings.context) if user else settings.loaded
    done = settings.run(service.remove(name, context, _said()))
    if settings.json:
        log = str(done.log) if done.log is not None else None
        output.emit_json({"name": name, "file": str(done.file), "removed": True, "file_deleted": done.file_deleted, "log": log})
        return
    output.tell(f"removed {name} from {done.file}")
    if done.file_deleted:
        output.note("nothing else stood in that file: it was deleted")
    elif done.file_empty:
        instead = ", and is used here in place of your own file" if done.project else ""
        output.note(f"that file has no servers left; it stays for what else stands in it{instead}")
    if done.log is not None:
        output.note(f"its log stays: dragoman logs {name} ({done.log})")


@click.command()
@click.argument("name", metavar="SERVER")
@_USER
@agreeing
@common
def enable(settings: Settings, name: str, user: bool) -> None:
    """Switch a server on; one that came with this folder (a project file) starts only after you approved its exact command line."""
    context = service.for_user(settings.context) if user else settings.loaded
    plan = settings.run(service.enabling(name, context))
    agreed = _said()
    if plan.asks:
        if not settings.json:
            what = "changed since it was approved" if plan.approval == "changed" else "came with this folder; nobody approved it yet"
            output.tell(f"{name} {what} (in {plan.file}):")
            show_facts(plan.facts)
        agreed = _agreed(settings, f"May {name} be started, with these tiers?", f"{name} was not approved", name)
    settings.run(service.enable(plan, context, agreed))
    done = [word for word, was in (("approved", plan.asks), ("switched on", plan.switch_on)) if was]
    if settings.json:
        output.emit_json({"name": name, "file": str(plan.file), "approved": plan.asks, "switched_on": plan.switch_on})
    else:
        output.tell(f"{name}: {' and '.join(done)}" if done else f"{name} is switched on, and needs no approval")


@click.command()
@click.argument("name", metavar="SERVER")
@_USER
@common
def disable(settings: Settings, name: str, user: bool) -> None:
    """Switch a server off; it stays in the configuration."""
    context = service.for_user(settings.context) if user else settings.loaded
    changed = settings.run(service.disable(name, context, _said()))
    if settings.json:
        output.emit_json({"name": name, "switched_off": changed})
    else:
        output.tell(f"{name}: switched off" if changed else f"{name} was switched off already")


def _words(target: tuple[str, ...], behind: list[str]) -> list[str]:
    if behind and target:
        raise click.UsageError(f"{target[0]!r} stands before the lone --; the server's command stands behind it")
    if len(target) > 1:
        raise click.UsageError("put the server's own command behind a lone --:  dragoman add NAME -- CMD ...")
    return behind or list(target)


def _said() -> Agreement:
    """The command line itself says all there is to agree to."""
    return agreement("command", terminal=has_terminal())


def _agreed(settings: Settings, question: str, otherwise: str, server: str) -> Agreement:
    """The person's yes.

    Raises:
        ApprovalDenied: They said no, or nobody is there.
    """
    terminal = has_terminal()
    how: How = "--yes" if settings.yes else "terminal"
    if not settings.yes:
        answer = confirm(question)
        if answer is None:
            hint = "run it on a terminal, or agree beforehand with --yes"
            raise ApprovalDenied(f"there is no terminal to ask on: {otherwise}", layer="approve", hint=hint, server=server)
        if not answer:
            raise ApprovalDenied(otherwise, layer="approve", server=server)
    return agreement(how, terminal=terminal)


def _next_steps(proposal: adding.Proposal) -> None:
    reading, reading_tier = next(((item.tool, item.tier) for item in proposal.tools if "reads only" in item.claims), (None, None))
    first = reading or next((item.tool for item in proposal.tools), None)
    if first is None:
        output.note("next: dragoman status")
        return
    name = shlex.quote(f"{proposal.server.name}.{first.name}")
    if reading is not None and reading_tier not in ("L0", "L1"):
        output.note(f"next: dragoman tier {name} L0   # if it only reads: it then runs without asking")
    output.note(" ".join(["next: dragoman call", name, *placeholders(first.input_schema)]))
