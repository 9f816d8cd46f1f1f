"""nvcc as a program, for callers who name it."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from ._errors import CompileError


_versions: dict[str, str] = {}


def version(nvcc: str = "nvcc") -> str:
    """What nvcc says of itself; asked once."""
    if nvcc not in _versions:
        _versions[nvcc] = _run([nvcc, "--version"]).stdout
    return _versions[nvcc]


def _run(command: list[str], folder: str | None = None) -> subprocess.CompletedProcess[str]:
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", cwd=folder, check=False)
    except OSError as error:
        raise CompileError(f"{command[0]} could not be started: {error}", command) from error
    if done.returncode:
        raise CompileError(f"{command[0]} failed", command, done.stdout, done.stderr)
    return done


def preprocess(source: str, options: list[str], nvcc: str) -> str:
    """The source as the preprocessor leaves it."""
    with tempfile.TemporaryDirectory(prefix="ulib-") as folder:
        Path(folder, "kernel.cu").write_text(source)
        return _run([nvcc, "--preprocess", *options, "kernel.cu", "--compiler-options", "-P"], folder).stdout


def run(
    source: str,
    nvcc: str,
    options: list[str],
    arch: str,
    code: str | None,
    folders: list[str],
    target: str,
    keep: bool,
    cache: str | None,
) -> tuple[bytes, str | None]:
    """The image, and the folder in which it was made, which is left there if it is to be kept; None if it was in the cache."""
    flags = [*options, "-arch", arch, *(["-code", code] if code is not None else [])]
    flags += [f"-I{folder}" for folder in folders]
    entry = None
    if cache is not None and not keep:
        text = preprocess(source, flags, nvcc) if "include" in source else source
        key = hashlib.sha256(repr((text, flags, version(nvcc), target)).encode()).hexdigest()
        entry = Path(cache, f"{key}.{target}")
        if entry.is_file():
            return entry.read_bytes(), None
    folder = tempfile.mkdtemp(prefix="ulib-")
    try:
        Path(folder, "kernel.cu").write_text(source)
        command = [nvcc, f"--{target}", *(["--keep"] if keep else []), *flags, "kernel.cu"]
        done = _run(command, folder)
        try:
            image = Path(folder, f"kernel.{target}").read_bytes()
        except FileNotFoundError as error:
            raise CompileError(f"{nvcc} succeeded, but wrote no kernel.{target}", command, done.stdout, done.stderr) from error
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    if entry is not None:
        _put(entry, image)
    return image, folder


def _put(entry: Path, image: bytes) -> None:
    """Writes under another name and renames, so that others see all of it or nothing."""
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix="new-", dir=entry.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(image)
        os.replace(name, entry)
    except OSError:
        # A cache that cannot be written is an empty one.
        return
