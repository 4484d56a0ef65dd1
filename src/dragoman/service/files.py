"""Keeps what is not text in a result: images, sound and blobs become private files under names of our own.

No part of a path ever comes from a server: a file is named by a counter, and its ending comes from a short list.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from dragoman.errors import DragomanError
from dragoman.wire.content import AudioContent, Content, EmbeddedResource, ImageContent, ResourceContents
from dragoman.wire.results import PromptResult, ReadResult, ToolResult

_ENDINGS: Final = {
    "application/gzip": ".gz",
    "application/json": ".json",
    "application/pdf": ".pdf",
    "application/zip": ".zip",
    "audio/flac": ".flac",
    "audio/mp3": ".mp3",
    "audio/mp4": ".m4a",
    "audio/mpeg": ".mp3",
    "audio/ogg": ".ogg",
    "audio/wav": ".wav",
    "audio/webm": ".weba",
    "audio/x-wav": ".wav",
    "image/avif": ".avif",
    "image/bmp": ".bmp",
    "image/gif": ".gif",
    "image/jpeg": ".jpg",
    "image/png": ".png",
    "image/svg+xml": ".svg",
    "image/tiff": ".tiff",
    "image/webp": ".webp",
    "text/csv": ".csv",
    "text/html": ".html",
    "text/plain": ".txt",
    "video/mp4": ".mp4",
    "video/webm": ".webm",
}
_MOST: Final = 10_000


class Saved(msgspec.Struct, frozen=True, kw_only=True):
    """One file: the place of its block in the result (from 0), where it is, its type as the server calls it, its size in bytes."""

    block: int
    path: str
    mime: str
    size: int


class Broken(msgspec.Struct, frozen=True, kw_only=True):
    """A block whose base64 cannot be read."""

    block: int
    mime: str
    problem: str


def save_blobs(result: ToolResult | ReadResult | PromptResult, folder: Path) -> list[Saved | Broken]:
    """Save every image, sound and blob of a result, in order; a result of text touches no disk.

    Args:
        folder: Made if missing, for the owner only. Files that are there are never overwritten.

    Raises:
        DragomanError: A file cannot be written.
    """
    done: list[Saved | Broken] = []
    for block, mime, data in _blobs(result):
        try:
            raw = _decoded(data)
        except ValueError as exc:
            done.append(Broken(block=block, mime=mime, problem=f"no valid base64: {exc}"))
            continue
        try:
            path = _write(folder, raw, _ENDINGS.get(mime.partition(";")[0].strip().lower(), ".bin"))
        except OSError as exc:
            hint = "name another folder with --output-dir"
            raise _cannot(f"a part of the result cannot be saved in {folder}: {exc.strerror or exc}", hint) from exc
        done.append(Saved(block=block, path=str(path), mime=mime, size=len(raw)))
    return done


def _blobs(result: ToolResult | ReadResult | PromptResult) -> Iterator[tuple[int, str, str]]:
    if isinstance(result, ReadResult):
        for index, part in enumerate(result.contents):
            yield from _of_resource(index, part)
        return
    blocks: list[Content] = result.content if isinstance(result, ToolResult) else [message.content for message in result.messages]
    for index, block in enumerate(blocks):
        match block:
            case ImageContent(data=data, mime_type=mime) | AudioContent(data=data, mime_type=mime):
                yield index, mime, data
            case EmbeddedResource(resource=resource):
                yield from _of_resource(index, resource)


def _of_resource(index: int, part: ResourceContents) -> Iterator[tuple[int, str, str]]:
    if part.text is None and part.blob is not None:
        yield index, part.mime_type or "", part.blob


def _decoded(text: str) -> bytes:
    """Base64, with line breaks or without, padded or not."""
    compact = "".join(text.split())
    try:
        return base64.b64decode(compact + "=" * (-len(compact) % 4), validate=True)
    except (binascii.Error, ValueError) as exc:
        raise ValueError(str(exc)) from exc


def _write(folder: Path, data: bytes, ending: str) -> Path:
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder.mkdir(exist_ok=True, mode=0o700)
    for number in range(1, _MOST):
        path = folder / f"{number}{ending}"
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
        except FileExistsError:
            continue
        with open(fd, "wb") as file:
            file.write(data)
        return path
    raise OSError(f"it holds {_MOST} files already")


def _cannot(message: str, hint: str) -> DragomanError:
    error = DragomanError(message)
    error.hint = hint
    return error
