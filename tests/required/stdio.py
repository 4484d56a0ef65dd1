"""stdio transport."""

from __future__ import annotations

from tests.required.entry import Req

TITLE = "stdio transport"
REQUIREMENTS = (
    Req(
        "R-STDIO-01",
        "SHOULD",
        "2024-11-05 to 2025-11-25",
        "Clients should speak stdio.",
        "basic/transports",
        tests=("tests/runtime/test_client.py::test_tools_of_all_pages_are_listed_and_called",),
    ),
    Req(
        "R-STDIO-02",
        "MUST",
        "all",
        "A server is a subprocess; one message on each line, without line breaks inside.",
        "basic/transports stdio",
        tests=(
            "tests/protocol/test_messages.py::test_every_message_of_ours_is_one_line_of_json_rpc_with_an_id_that_is_a_number",
            "tests/transports/test_process.py::test_child_gets_exactly_the_environment_arguments_and_folder_given",
        ),
    ),
    Req(
        "R-STDIO-03",
        "MUST",
        "all",
        "Nothing but messages is written to it.",
        "basic/transports stdio",
        tests=(
            "tests/transports/test_stdio.py::test_message_of_a_cancelled_writer_is_written_whole",
            "tests/transports/test_stdio.py::test_lone_call_is_one_write_and_one_callback",
        ),
    ),
    Req(
        "R-STDIO-04",
        "MUST*",
        "all",
        "What is no message on its output is skipped, and huge lines do no harm.",
        "basic/transports stdio",
        tests=(
            "tests/runtime/test_robustness.py::test_garbage",
            "tests/cli/test_bad_input.py::test_a_banner_does_no_harm",
            "tests/runtime/test_robustness.py::test_big_line",
            "tests/transports/test_stdio.py::test_long_line_arrives_whole_and_a_longer_one_is_discarded",
        ),
    ),
    Req(
        "R-STDIO-05",
        "MAY",
        "all",
        "stderr may be kept, passed on or ignored.",
        "basic/transports stdio",
        tests=("tests/transports/test_stdio.py::test_stderr_is_drained_kept_and_never_blocks_the_server",),
    ),
    Req(
        "R-STDIO-06",
        "SHOULD",
        "2025-11-25 to 2026-07-28",
        "stderr is no sign of an error, and is always drained.",
        "basic/transports stdio",
        tests=(
            "tests/transports/test_stdio.py::test_stderr_is_drained_kept_and_never_blocks_the_server",
            "tests/runtime/test_robustness_of_calls.py::test_stderr_flood",
        ),
    ),
    Req(
        "R-STDIO-07",
        "SHOULD",
        "2024-11-05 to 2025-11-25",
        "It is ended by closing stdin, then SIGTERM, then SIGKILL, with waits between.",
        "basic/lifecycle#shutdown",
        tests=("tests/transports/test_process.py::test_each_rung_of_the_ladder_ends_what_the_one_before_did_not",),
    ),
    Req(
        "R-STDIO-08",
        "SHOULD",
        "2026-07-28",
        "The same in the stateless era.",
        "basic/transports/stdio#shutdown",
        tests=(
            "tests/transports/test_process.py::test_each_rung_of_the_ladder_ends_what_the_one_before_did_not",
            "tests/transports/test_stdio.py::test_server_that_writes_without_end_is_closed_politely",
        ),
    ),
    Req(
        "R-STDIO-09",
        "MAY*",
        "all",
        "The end of its output ends the connection and the open requests.",
        "basic/transports stdio",
        tests=(
            "tests/runtime/test_robustness_of_calls.py::test_closes_stdout",
            "tests/runtime/test_driver.py::test_end_of_the_connection_frees_all_with_status_and_last_words",
        ),
    ),
    Req(
        "R-STDIO-10",
        "SHOULD",
        "2026-07-28",
        "A server that exited is started again, without haste; what was open is lost.",
        "basic/transports/stdio#unexpected-termination",
        tests=(
            "tests/runtime/test_host.py::test_crash_in_a_call_is_that_calls_alone_and_the_next_call_starts_the_server_again",
            "tests/runtime/test_slots.py::test_server_that_died_is_started_again",
            "tests/runtime/test_slots.py::test_failure_is_named_and_kept_for_a_moment",
            "tests/runtime/test_features_asked.py::test_server_that_was_started_again_is_listened_to_again",
        ),
    ),
    Req(
        "R-STDIO-11",
        "MUST",
        "2026-07-28",
        "After a restart the subscriptions are asked for again.",
        "basic/patterns/subscriptions",
        tests=("tests/runtime/test_features_asked.py::test_server_that_was_started_again_is_listened_to_again",),
    ),
    Req(
        "R-STDIO-12",
        "MUST",
        "2026-07-28",
        "In the stateless era nothing but requests and notices is written.",
        "basic/transports/stdio#sending-messages",
        tests=("tests/protocol/test_pair.py::test_a_modern_client_answers_no_requests",),
    ),
    Req(
        "R-STDIO-13",
        "MUST",
        "2026-07-28",
        "Notices of a subscription are told apart by its id.",
        "basic/transports/stdio#receiving-messages",
        tests=("tests/runtime/test_subscriptions.py::test_two_subscriptions_are_told_apart_by_id_and_its_type",),
    ),
    Req(
        "R-STDIO-14",
        "MUST",
        "2026-07-28",
        "A request in flight is cancelled by a notice.",
        "basic/transports/stdio#cancellation",
        tests=(
            "tests/protocol/test_connection.py::test_cancelling_is_a_notice_or_a_closed_stream_as_era_and_transport_want",
            "tests/runtime/test_robustness_of_calls.py::test_hangs_in_calls",
        ),
    ),
    Req(
        "R-STDIO-15",
        "SHOULD",
        "all",
        "No OAuth over stdio; credentials come by the environment.",
        "basic/authorization#protocol-requirements",
        tests=(
            "tests/test_main_path.py::test_child_gets_the_documented_variables_and_what_the_configuration_names",
            "tests/transports/test_environment.py::test_children_inherit_the_harmless_names_and_nothing_else",
        ),
    ),
    Req(
        "R-STDIO-16",
        "SHOULD",
        "2026-07-28",
        "Sockets reuse the lines, and own transports keep messages and metadata.",
        "basic/transports#custom-transports",
        tests=(
            "tests/transports/test_unix.py::test_line_in_pieces_and_lines_in_one_piece_arrive_whole",
            "tests/transports/test_tcp.py::test_client_takes_a_port_and_finds_the_era",
            "tests/transports/test_contract.py::test_transport_keeps_the_contract",
            "tests/testing/test_transports.py::test_right_transport_passes",
            "tests/testing/test_transports.py::test_wrong_transport_is_told_which_rule_it_breaks",
        ),
    ),
)
