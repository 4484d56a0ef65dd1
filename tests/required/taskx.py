"""Tasks extension io.modelcontextprotocol/tasks (with 2026-07-28)."""

from __future__ import annotations

from tests.required.entry import Req

TITLE = "Tasks extension io.modelcontextprotocol/tasks (with 2026-07-28)"
REQUIREMENTS = (
    Req(
        "R-TASKX-01",
        "MUST*",
        "extension tasks",
        "The extension is declared with each request.",
        "SEP-2663#capability-negotiation",
        tests=(
            "tests/runtime/test_features_asked.py::test_extension_is_declared_where_it_was_switched_on_and_in_the_place_of_its_era",
            "tests/runtime/test_tasks.py::test_call_that_becomes_a_task_is_awaited",
        ),
    ),
    Req(
        "R-TASKX-02",
        "MUST",
        "extension tasks",
        "Every call may answer with a task, and no other method.",
        "SEP-2663#capability-negotiation",
        tests=(
            "tests/runtime/test_tasks.py::test_call_that_becomes_a_task_is_awaited",
            "tests/runtime/test_tasks.py::test_call_that_is_answered_at_once_is_no_task",
            "tests/runtime/test_tasks.py::test_task_in_answer_to_anything_else_is_refused",
        ),
    ),
    Req(
        "R-TASKX-03",
        "SHOULD",
        "extension tasks",
        "Tasks are asked after until they end, and their ids can be kept.",
        "SEP-2663#task-polling",
        tests=(
            "tests/runtime/test_features_asked.py::test_task_is_asked_after_as_often_as_its_server_wants",
            "tests/runtime/test_tasks.py::test_call_that_becomes_a_task_is_awaited",
            "tests/runtime/test_tasks.py::test_handle_of_a_task_has_status_result_and_cancel_and_can_be_found_again",
        ),
    ),
    Req(
        "R-TASKX-04",
        "MUST",
        "extension tasks",
        "Input that a task wants is sent by an update, once for each key.",
        "SEP-2663#task-status",
        tests=("tests/runtime/test_tasks.py::test_questions_of_a_task_are_answered_once_each",),
    ),
    Req(
        "R-TASKX-05",
        "MUST*",
        "extension tasks",
        "The last answer holds the result or the error.",
        "SEP-2663",
        tests=(
            "tests/runtime/test_tasks.py::test_call_that_becomes_a_task_is_awaited",
            "tests/runtime/test_tasks.py::test_failed_task_of_the_extension_is_the_error_of_the_server",
        ),
    ),
    Req(
        "R-TASKX-06",
        "MUST",
        "extension tasks",
        "Tasks are cancelled by their own request, which promises nothing.",
        "SEP-2663#task-cancellation",
        tests=("tests/runtime/test_tasks.py::test_call_that_is_given_up_is_cancelled_on_the_server",),
    ),
    Req(
        "R-TASKX-07",
        "MAY",
        "extension tasks",
        "Expired tasks may be given up.",
        "SEP-2663#ttl",
        na="allowed and not used: a call is given up at its own deadline",
    ),
    Req(
        "R-TASKX-08",
        "MAY",
        "extension tasks",
        "Tasks may be subscribed to.",
        "SEP-2663#status-notifications",
        na="allowed and not used: tasks are asked after",
    ),
    Req(
        "R-TASKX-09",
        "MUST",
        "extension tasks",
        "Which of the two protocols counts is a matter of the revision.",
        "SEP-2663#backward-compatibility",
        tests=(
            "tests/runtime/test_tasks.py::test_legacy_client_does_not_declare_the_extension",
            "tests/runtime/test_tasks.py::test_tool_that_must_run_as_a_task_does_and_its_result_is_awaited",
            "tests/runtime/test_tasks.py::test_call_that_becomes_a_task_is_awaited",
        ),
    ),
    Req(
        "R-TASKX-10",
        "MUST*",
        "extension tasks",
        "Rounds may come before a task, with keys of their own.",
        "SEP-2663#composition",
        tests=("tests/runtime/test_features_asked.py::test_rounds_before_a_task_have_keys_of_their_own",),
    ),
)
