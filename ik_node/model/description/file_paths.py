# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Files that are named by a path, file:// or package://, and how they are read and written.

Packages in folders that are no ROS installation: checkouts, which need not be built.

The environment variable IK_NODE_DESCRIPTIONS names such folders.  A folder may be the package,
have it inside, or have checkouts of repositories inside, in which it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import os
from pathlib import Path
import re
import stat
from time import monotonic_ns

from ik_node.base.errors import ParameterError
from ik_node.base.text import quote

NEW_FILE_MODE = 0o666  # less the umask


def plain_uri(path: str) -> str:
    """Return a path with two slashes after its scheme; launch files may have made them one."""
    return re.sub(r'^(package|file):/+', lambda scheme: f'{scheme[1]}://', path)


def file_of(path: str) -> Path:
    """
    Return the file that a path or URI names; it need not exist.

    Parameters
    ----------
    path : str
        A path, ``file:///PATH``, or ``package://NAME/PATH`` for a package in the ament index.

    Raises
    ------
    LookupError
        If there is no such package; its one argument is a sentence.

    """
    scheme, _, rest = plain_uri(path).rpartition('://')
    if scheme == 'file':
        return Path('/' + rest.lstrip('/'))
    if scheme != 'package':
        return Path(os.path.expanduser(path))  # leaves ~UNKNOWN_USER as it is
    package, _, rest = rest.partition('/')
    for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep):
        share = Path(prefix) / 'share' / package
        if prefix and package and share.is_dir():
            return share / rest
    raise LookupError(f'the package {quote(package)} is not in AMENT_PREFIX_PATH. Source the '
                      'workspace that has it, or give the path of the file')


def read_limited(file: Path, what: str, max_bytes: int, advice: str = 'is it the right file?',
                 missing: bytes | None = None) -> bytes:
    """
    Return what a YAML file has, which is no longer than `max_bytes`.

    Parameters
    ----------
    file : Path
    what : str
        What the file is, for the sentences of errors.
    max_bytes : int
        Whole MiB.
    advice : str
        What to do if it is longer.
    missing : bytes or None
        Returned for a file that does not exist; None: that is an error.

    Raises
    ------
    ParameterError
        If it cannot be read, is too long, or is a folder or a pipe, which would block.

    """
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            raise ParameterError(f'cannot read {what}: it is no file; give the path of a YAML '
                                 'file')
        with file.open('rb') as opened:
            data = opened.read(max_bytes + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL character
        if isinstance(error, FileNotFoundError) and missing is not None:
            return missing
        raise ParameterError(f'cannot read {what}: '
                             f'{getattr(error, "strerror", None) or error}') from None
    if len(data) > max_bytes:
        raise ParameterError(f'{what} has more than {max_bytes // 2**20} MiB; {advice}')
    return data


def replace_file(file: Path, data: bytes) -> None:
    """
    Write a file at once, with the permissions of the one before, so that nobody reads half of it.

    Raises
    ------
    OSError
        If it cannot be written.

    """
    before = file.stat() if file.exists() else None
    if before is not None and not os.access(file, os.W_OK):
        raise PermissionError(None, 'it is write-protected')
    part = file.with_name(f'.{file.name}.{os.getpid()}.{monotonic_ns()}.part')
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, NEW_FILE_MODE),
                       'wb') as opened:
            opened.write(data)
            if before is not None:
                os.fchmod(opened.fileno(), stat.S_IMODE(before.st_mode))
            opened.flush()
            os.fsync(opened.fileno())
        os.replace(part, file)
    except OSError:
        part.unlink(missing_ok=True)
        raise


DESCRIPTIONS_VARIABLE = 'IK_NODE_DESCRIPTIONS'
PACKAGE_LEVELS = 4  # folders of a checkout in which a package.xml is looked for
PACKAGE_NAME = re.compile(r'<name>\s*([^<\s]+)\s*</name>')


def named_folders() -> list[Path]:
    """Return the folders that IK_NODE_DESCRIPTIONS names."""
    return [Path(path).expanduser()
            for path in os.environ.get(DESCRIPTIONS_VARIABLE, '').split(os.pathsep) if path]


def packages_in(folders: Sequence[Path]) -> list[Path]:
    """Return the folders of the packages in folders."""
    return [found for folder in folders for found in _packages(folder, PACKAGE_LEVELS)
            if (found / 'package.xml').is_file()]


def package_in(folders: Sequence[Path], name: str) -> Path | None:
    """Return the folder of a package, by its own name or its package.xml; None if not found."""
    for folder in folders:
        for found in _packages(folder, PACKAGE_LEVELS):
            if found.name == name or name_of(found) == name:
                return found
    return None


def name_of(folder: Path) -> str | None:
    """Return the name that the package.xml in a folder gives; None without one."""
    try:
        found = PACKAGE_NAME.search(
            (folder / 'package.xml').read_text(encoding='utf-8', errors='replace'))
    except OSError:
        return None
    return found[1] if found else None


def _packages(folder: Path, levels: int) -> Iterator[Path]:
    """Yield a folder and those inside it, but none inside a package."""
    yield folder
    try:
        inner = sorted(each for each in folder.iterdir()
                       if each.is_dir() and not each.name.startswith('.')) \
            if levels and not (folder / 'package.xml').is_file() and folder.is_dir() else []
    except OSError:  # it may not be read
        return
    for inside in inner:
        yield from _packages(inside, levels - 1)
