"""What a host sees of a client that programs have no use for: whether it lives, how it ended, what a successor has to set up again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from dragoman.runtime.link import Link
from dragoman.runtime.reopening import Settings
from dragoman.transports.base import Closed

_LEVEL: Final = ("logging/setLevel", "")


class Traffic(NamedTuple):
    """Results that came, and requests with a deadline that wait for theirs."""

    answers: int
    owed: int


def is_reopening(link: Link) -> bool:
    """Whether the connection is just being made again under this client."""
    return link._reopening.busy is not None


def ending(link: Link) -> Closed | None:
    """How the connection ended, once it has."""
    driver = getattr(link._session, "driver", None)
    return driver.closed if driver is not None else None


def traffic(link: Link) -> Traffic:
    """What went over the connection that is in use."""
    delivery = link._connected().driver._delivery
    return Traffic(delivery.answers, delivery.owed)


async def quiet(link: Link, timeout_s: float) -> None:
    """Wait until nothing that was asked over the connection waits for an answer, but no longer than that."""
    await link._connected().driver.quiet(timeout_s)


def settings(link: Link) -> Settings:
    """What was set up at the server (log level, subscribed resources), for :func:`restore`; what ``listen`` set up is not in it."""
    found = {key: params for key, params in link._reopening.settings.items() if key[1] not in link._uris}
    if link._log_level is not None:  # of the stateless era, where it goes with each request
        found[_LEVEL] = {"level": link._log_level}
    return found


async def restore(link: Link, settings: Settings) -> None:
    """Set up what another client had set up, at a server that was started again; what fails is logged. All lists count as changed."""
    if link.server.era == "modern":
        if _LEVEL in settings:
            link._log_level = settings[_LEVEL]["level"]
    elif settings:
        await link._reopening.repeat(settings)


def pid(link: Link) -> int | None:
    """Of the server's process, where the client started one and it has not ended."""
    driver = getattr(link._session, "driver", None)
    return getattr(driver.transport, "pid", None) if driver is not None and link.is_open else None


def on_end(link: Link, callback: Callable[[str], None]) -> None:
    """Call ``callback(reason)`` inside the reader when the connection ended and no other took its place; it must only take note."""
    link._session.endings.append(callback)
