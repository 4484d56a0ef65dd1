"""Host/client security best practices."""

from __future__ import annotations

from tests.required.entry import Req

TITLE = "Host/client security best practices"
REQUIREMENTS = (
    Req(
        "R-SEC-01",
        "MUST",
        "guidance",
        "Clients on servers guard against being led to inner addresses by metadata.",
        "security_best_practices#ssrf",
        open="OAuth is not built",
    ),
    Req(
        "R-SEC-02",
        "SHOULD",
        "guidance",
        "HTTPS except on this machine, no inner addresses, every redirect checked.",
        "security_best_practices#ssrf",
        tests=("tests/transports/test_http_session.py::test_any_other_redirect_is_reported_and_not_followed",),
        open="addresses are not restricted: the configuration names the server",
    ),
    Req(
        "R-SEC-03",
        "MUST",
        "guidance",
        "Only web addresses are opened for authorization.",
        "security_best_practices#oauth-authorization-url-validation",
        open="OAuth is not built",
    ),
    Req(
        "R-SEC-04",
        "MUST",
        "guidance",
        "URLs are not opened through a shell, and those of servers are made harmless.",
        "security_best_practices#oauth-authorization-url-validation",
        tests=("tests/transports/test_http_target.py::test_text_of_a_server_is_shown_on_one_line_without_controls",),
        open="nothing here opens URLs; no test shows it",
    ),
    Req(
        "R-SEC-05",
        "MUST",
        "guidance",
        "Before a local server is added a person sees the whole command and agrees.",
        "security_best_practices#local-mcp-server-compromise ; SEP-1024",
        tests=(
            "tests/cli/test_servers.py::test_add_asks_on_the_terminal_and_shows_command_tools_and_tiers",
            "tests/cli/test_servers.py::test_add_without_a_terminal_and_without_yes_writes_nothing",
            "tests/cli/test_servers.py::test_a_project_file_starts_nothing_until_a_person_approved_its_exact_command",
        ),
    ),
    Req(
        "R-SEC-06",
        "SHOULD",
        "guidance",
        "Dangerous commands are marked, and servers confined.",
        "security_best_practices#local-mcp-server-compromise",
        tests=("tests/transports/test_process.py::test_child_gets_exactly_the_environment_arguments_and_folder_given",),
        open="servers get a short environment and no sandbox; commands are not judged",
    ),
    Req(
        "R-SEC-07",
        "SHOULD",
        "guidance",
        "A proxy that starts servers confines them.",
        "security_best_practices#stdio-in-proxy",
        na="there is no proxy",
    ),
    Req(
        "R-SEC-08",
        "MUST",
        "guidance",
        "Mixed-up issuers are found.",
        "security_best_practices#mix-up",
        open="OAuth is not built",
    ),
    Req(
        "R-SEC-09",
        "SHOULD",
        "guidance",
        "Scopes begin small, and failures are remembered.",
        "security_best_practices#scope-minimization",
        open="OAuth is not built",
    ),
    Req(
        "R-SEC-10",
        "MUST",
        "guidance (2025-11-25)",
        "A session id is no authentication, and what comes over a resumed stream is as untrusted as all else.",
        "security_best_practices#session-hijacking",
        tests=(
            "tests/transports/test_http_legacy.py::test_session_id_is_a_secret",
            "tests/protocol/test_streams.py::test_an_answer_on_the_stream_of_another_request_settles_neither",
            "tests/policy/test_label.py::test_every_result_is_untrusted_and_says_where_it_came_from",
        ),
    ),
    Req(
        "R-SEC-11",
        "SHOULD",
        "guidance",
        "Data goes out and tools run with consent, and servers are kept apart.",
        "spec index#security-and-trust",
        tests=(
            "tests/policy/test_approve.py::test_nobody_there_means_no_and_says_how_to_approve",
            "tests/service/test_assemble.py::test_server_of_a_project_file_is_held_back_until_its_exact_command_was_approved",
            "tests/transports/test_environment.py::test_children_inherit_the_harmless_names_and_nothing_else",
        ),
    ),
    Req(
        "R-SEC-12",
        "MUST*",
        "guidance",
        "Code of a model is confined, results are bounded, people agree.",
        "develop/clients/client-best-practices",
        na="no code of a model is run; results are bounded all the same",
    ),
    Req(
        "R-SEC-13",
        "MUST*",
        "guidance",
        "A proxy asks each client, passes no token on, and checks redirects.",
        "security_best_practices#confused-deputy ; token-passthrough",
        na="there is no proxy",
    ),
)
