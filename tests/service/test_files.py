"""What is not text in a result lands in private files whose names no server chooses."""

from __future__ import annotations

import base64
import stat
from pathlib import Path

import pytest

from dragoman.errors import DragomanError
from dragoman.service.files import Broken, Saved, save_blobs
from dragoman.wire.results import PromptResult, ReadResult, ToolResult, decode_prompt_result, decode_read_result, decode_tool_result

DATA = bytes(range(256))
B64 = base64.b64encode(DATA).decode()


def tool_result(*blocks: str) -> ToolResult:
    return decode_tool_result(('{"content": [' + ", ".join(blocks) + "]}").encode())


def test_text_alone_touches_no_disk(tmp_path: Path) -> None:
    """Our contract."""
    assert save_blobs(tool_result('{"type": "text", "text": "a"}'), tmp_path / "files") == []
    assert not (tmp_path / "files").exists()


def test_every_kind_of_blob_is_saved_in_order(tmp_path: Path) -> None:
    """Our contract: a number of our own, an ending from our own list; 0600 in a folder of 0700."""
    result = tool_result(
        '{"type": "text", "text": "a"}',
        f'{{"type": "image", "mimeType": "image/jpeg; q=1", "data": "{B64}"}}',
        f'{{"type": "audio", "mimeType": "audio/wav", "data": "{B64}"}}',
        f'{{"type": "resource", "resource": {{"uri": "x:///../../etc/passwd", "mimeType": "application/../../x", "blob": "{B64}"}}}}',
        '{"type": "resource", "resource": {"uri": "x:///t", "text": "text"}}',
    )
    saved = save_blobs(result, tmp_path / "new" / "files")
    assert [type(file) for file in saved] == [Saved, Saved, Saved]
    assert [file.block for file in saved] == [1, 2, 3]
    paths = [Path(file.path) for file in saved if isinstance(file, Saved)]
    assert [path.name for path in paths] == ["1.jpg", "1.wav", "1.bin"]
    for path in paths:
        assert path.parent == tmp_path / "new" / "files"
        assert path.read_bytes() == DATA
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(paths[0].parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "result",
    [
        decode_read_result(f'{{"contents": [{{"uri": "x:///t", "text": "t"}}, {{"uri": "x:///b", "blob": "{B64}"}}]}}'.encode()),
        decode_prompt_result(
            (
                '{"messages": [{"role": "user", "content": {"type": "text", "text": "t"}},'
                f' {{"role": "user", "content": {{"type": "image", "mimeType": "", "data": "{B64}"}}}}]}}'
            ).encode()
        ),
    ],
    ids=["resource", "prompt"],
)
def test_resources_and_prompts_have_blobs_too(result: ReadResult | PromptResult, tmp_path: Path) -> None:
    """Our contract."""
    (saved,) = save_blobs(result, tmp_path)
    assert isinstance(saved, Saved)
    assert (saved.block, saved.mime, saved.size, Path(saved.path).name) == (1, "", 256, "1.bin")


def test_base64_with_line_breaks_and_without_padding_is_read(tmp_path: Path) -> None:
    """Servers send both."""
    (saved,) = save_blobs(tool_result('{"type": "image", "mimeType": "image/png", "data": "YWJj\\nZGU"}'), tmp_path)
    assert isinstance(saved, Saved)
    assert Path(saved.path).read_bytes() == b"abcde"


def test_broken_base64_is_reported_and_the_rest_is_saved(tmp_path: Path) -> None:
    """Our contract: one broken block does not hide the others."""
    broken, saved = save_blobs(
        tool_result(
            '{"type": "image", "mimeType": "image/png", "data": "&&&"}', f'{{"type": "image", "mimeType": "image/png", "data": "{B64}"}}'
        ),
        tmp_path,
    )
    assert isinstance(broken, Broken)
    assert isinstance(saved, Saved)


def test_nothing_is_overwritten_or_followed(tmp_path: Path) -> None:
    """Our contract: neither a file nor a link that lies in wait."""
    (tmp_path / "1.png").symlink_to(tmp_path / "target")
    (saved,) = save_blobs(tool_result(f'{{"type": "image", "mimeType": "image/png", "data": "{B64}"}}'), tmp_path)
    assert isinstance(saved, Saved)
    assert Path(saved.path).name == "2.png"
    assert not (tmp_path / "target").exists()


def test_a_folder_that_cannot_be_is_an_error_with_a_way_out(tmp_path: Path) -> None:
    """Every error is one of ours."""
    (tmp_path / "file").write_text("")
    with pytest.raises(DragomanError, match="cannot be saved in") as caught:
        save_blobs(tool_result(f'{{"type": "image", "mimeType": "image/png", "data": "{B64}"}}'), tmp_path / "file" / "x")
    assert caught.value.hint
