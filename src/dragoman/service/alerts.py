"""Who is told of alerts: the log, the program's callback, the webhook that the configuration names; and the store's own alert."""

from __future__ import annotations

from collections.abc import Callable

from dragoman.config import checks
from dragoman.config.model import OnAuditFailure
from dragoman.config.secrets import resolve
from dragoman.errors import ConfigError
from dragoman.runtime.alerts import AlertBook, OnAlert
from dragoman.service.context import Context
from dragoman.service.webhook import Webhook
from dragoman.store.records import StoreFailure
from dragoman.wire.alerts import Alert, AlertSink


def book(context: Context, on_alert: OnAlert | None) -> AlertBook:
    """The alerts of a host over the configuration of ``context``.

    Raises:
        ConfigError: The webhook's variables are not set, or make no URL.
    """
    written = context.config.alerts.webhook
    if written is None:
        return AlertBook(on_alert, redact=context.redactor.redact_text)

    def error(message: str) -> ConfigError:
        path = context.config.path
        return ConfigError(message, file=str(path) if path is not None else None, key="alerts.webhook")

    url = resolve(written, context.env, context.redactor, error=error)
    if (problem := checks.webhook(url)) is not None:
        raise error(problem)
    return AlertBook(on_alert, tellers=[Webhook(url)], redact=context.redactor.redact_text)


def audit_stopped(sink: AlertSink, then: OnAuditFailure = "reads-only") -> Callable[[StoreFailure], None]:
    """Tells ``sink`` that the store takes no more records, and what ``[audit] on_failure`` makes of that."""
    refused = "calls of L1 to L3 are refused, those of L0 go on without a record" if then == "reads-only" else "all calls are refused"

    def tell(failure: StoreFailure) -> None:
        text = f"the audit has stopped: {failure.error}; {refused} until the next start"
        sink(Alert(kind="audit stopped", text=text, at=failure.at))

    return tell
