"""Tasks, experimental core feature (2025-11-25 only)."""

from __future__ import annotations

from tests.required.entry import Req

TITLE = "Tasks, experimental core feature (2025-11-25 only)"
REQUIREMENTS = (
    Req(
        "R-TASKL-01",
        "MUST",
        "2025-11-25",
        "Calls become tasks only where the server declares it.",
        "basic/utilities/tasks#tool-level-negotiation",
        tests=(
            "tests/runtime/test_tasks.py::test_tool_is_called_plainly_where_no_task_is_needed_or_known_of",
            "tests/runtime/test_tasks.py::test_task_is_started_only_where_tool_and_server_take_it",
        ),
    ),
    Req(
        "R-TASKL-02",
        "MUST",
        "2025-11-25",
        "A tool says whether its calls may, must or must not be tasks.",
        "basic/utilities/tasks#tool-level-negotiation",
        tests=(
            "tests/runtime/test_tasks.py::test_tool_that_must_run_as_a_task_does_and_its_result_is_awaited",
            "tests/runtime/test_tasks.py::test_tool_is_called_plainly_where_no_task_is_needed_or_known_of",
            "tests/runtime/test_tasks.py::test_task_is_started_only_where_tool_and_server_take_it",
        ),
    ),
    Req(
        "R-TASKL-03",
        "MUST*",
        "2025-11-25",
        "The request asks for a task, and the answer describes it.",
        "basic/utilities/tasks#creating",
        tests=(
            "tests/runtime/test_tasks.py::test_handle_of_a_task_has_status_result_and_cancel_and_can_be_found_again",
            "tests/runtime/test_tasks.py::test_tool_that_must_run_as_a_task_does_and_its_result_is_awaited",
        ),
    ),
    Req(
        "R-TASKL-04",
        "SHOULD",
        "2025-11-25",
        "Tasks are asked after as often as the server wants.",
        "basic/utilities/tasks#getting",
        tests=(
            "tests/runtime/test_features_asked.py::test_task_is_asked_after_as_often_as_its_server_wants",
            "tests/runtime/test_tasks.py::test_tool_that_must_run_as_a_task_does_and_its_result_is_awaited",
        ),
    ),
    Req(
        "R-TASKL-05",
        "SHOULD",
        "2025-11-25",
        "When a task wants input, its result is asked for early.",
        "basic/utilities/tasks#input-required",
        tests=("tests/runtime/test_tasks.py::test_server_may_ask_while_a_task_waits_for_input",),
    ),
    Req(
        "R-TASKL-06",
        "MUST*",
        "2025-11-25",
        "The result waits for the end and is that of the call.",
        "basic/utilities/tasks#result",
        tests=(
            "tests/runtime/test_tasks.py::test_failed_task_is_what_its_result_says",
            "tests/runtime/test_tasks.py::test_tool_that_must_run_as_a_task_does_and_its_result_is_awaited",
        ),
    ),
    Req(
        "R-TASKL-07",
        "MUST",
        "2025-11-25",
        "Notices of status are extra.",
        "basic/utilities/tasks#notifications",
        tests=(
            "tests/runtime/test_tasks.py::test_tool_that_must_run_as_a_task_does_and_its_result_is_awaited",
            "tests/runtime/test_tasks.py::test_notice_of_a_change_is_asked_about_at_once_and_is_not_needed",
        ),
    ),
    Req(
        "R-TASKL-08",
        "MUST",
        "2025-11-25",
        "Messages of a task name it.",
        "basic/utilities/tasks#related-task",
        tests=(
            "tests/runtime/test_tasks.py::test_server_may_ask_while_a_task_waits_for_input",
            "tests/runtime/test_asking.py::test_answer_to_an_ask_of_a_task_names_the_task",
        ),
    ),
    Req(
        "R-TASKL-09",
        "MUST",
        "2025-11-25",
        "Tasks are cancelled by their own request.",
        "basic/utilities/tasks#cancellation",
        tests=(
            "tests/runtime/test_tasks.py::test_call_that_is_given_up_is_cancelled_on_the_server",
            "tests/runtime/test_tasks.py::test_handle_of_a_task_has_status_result_and_cancel_and_can_be_found_again",
        ),
    ),
    Req(
        "R-TASKL-10",
        "MUST",
        "2025-11-25",
        "A client that hosts tasks itself does all that a server does.",
        "basic/utilities/tasks#client-capabilities",
        na="we declare no tasks of our own, so nothing may ask for them",
    ),
    Req(
        "R-TASKL-11",
        "MUST*",
        "2025-11-25",
        "Failed tasks include tools that failed.",
        "basic/utilities/tasks#status",
        tests=("tests/runtime/test_tasks.py::test_failed_task_is_what_its_result_says",),
    ),
    Req(
        "R-TASKL-12",
        "MAY*",
        "2025-11-25",
        "A first answer for the model may come at once.",
        "basic/utilities/tasks",
        na="allowed and not used: a handle says how its task is doing",
    ),
)
