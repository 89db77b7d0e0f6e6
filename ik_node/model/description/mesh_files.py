# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Finds the mesh files of a URDF; all programs search by :func:`mesh_search`.

Meshes are searched for in the search paths, in the package that has the URDF, in the share
folders of packages in the ament index (AMENT_PREFIX_PATH), and in the folders of
IK_NODE_DESCRIPTIONS.  A path with ``..`` that leaves these folders is refused; a relative one may
lead from the URDF into a search path, which the user has named.  Symbolic links are followed,
because ``colcon build --symlink-install`` creates them.  An absolute path, as xacro writes it,
may lead anywhere: what has the name, the size and the form of a mesh is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
import os
from pathlib import Path
import re
import stat
from urllib.parse import unquote
from xml.parsers import expat

from ik_node.base.errors import UrdfError
from ik_node.base.text import quote
from ik_node.model.description.file_paths import named_folders, package_in
from ik_node.model.description.urdf import Tree

MESH_SUFFIXES = ('.stl', '.dae', '.obj', '.ply', '.glb', '.gltf')
MAX_MESH_BYTES = 256 * 2**20
MAX_URI_LENGTH = 1_000
URDF_FOLDERS = ('urdf', 'robots')  # beside which a checkout has its meshes
LFS_HEADER = b'version https://git-lfs'

Resolve = Callable[[str], tuple[Path | None, str]]


def mesh_search(tree: Tree, mesh_paths: Sequence[str | Path] = ()) -> Resolve:
    """
    Return what finds the meshes of a robot, by their URI, as :func:`resolve` does.

    Parameters
    ----------
    tree : Tree
        It knows where its URDF is, unless that came as text.
    mesh_paths : sequence of paths
        Folders that are searched first.

    """
    return partial(resolve, search_paths=mesh_paths, urdf_folder=tree.folder)


def resolve(uri: str, search_paths: Sequence[str | Path] = (),
            urdf_folder: str | Path | None = None) -> tuple[Path | None, str]:
    """
    Return the file of a mesh and ``''``, or None and a sentence that says why it was not found.

    Parameters
    ----------
    uri : str
        ``package://NAME/PATH``, ``file:///PATH``, or a relative or absolute path.  An absolute
        one names its file.
    search_paths : sequence of paths
        Folders with packages, or with what follows the package name, or the first ``..`` of a
        relative path.  They are tried first; empty names are left out.
    urdf_folder : path, optional
        Folder of the URDF; None if it came as text.  Relative paths start here.  A package
        may be a parent of this folder, by the name of the folder or by its package.xml.

    """
    if len(uri) > MAX_URI_LENGTH:
        return None, f'the mesh {quote(uri)} has a name of more than {MAX_URI_LENGTH} characters'
    what = f'the mesh {quote(uri, 300)}'
    search_paths = [Path(os.path.abspath(Path(path).expanduser())) for path in search_paths
                    if path != '']
    folder = None if urdf_folder is None else Path(os.path.abspath(urdf_folder))
    try:
        package, paths = _split(uri)
        return _look(_candidates(package, paths, search_paths, folder), package, paths[0]), ''
    except UrdfError as error:
        return None, f'{what} {error}'


def _split(uri: str) -> tuple[str | None, list[str]]:
    """Return the package ('' for a relative, None for an absolute path) and possible paths."""
    scheme = re.match(r'([A-Za-z][A-Za-z0-9+.-]*):/', uri)
    package, path = '', uri
    if scheme is not None:
        kind, path = scheme[1].lower(), uri[scheme.end():]
        if kind == 'package':
            package, _, path = path.lstrip('/').partition('/')
            if package in ('', '.', '..'):
                raise UrdfError('names no package; write package://NAME/PATH')
        elif kind == 'file':
            if path.startswith('/'):
                host, _, path = path[1:].partition('/')
                if host not in ('', 'localhost'):
                    raise UrdfError(f'is on the machine {quote(host)}; write file:///PATH, or a '
                                    'path without file:// that starts at the URDF')
            path = '/' + path.lstrip('/')
        else:
            raise UrdfError(f'has the scheme {quote(kind)}; meshes are read by package://, '
                            'file:// or a path')
    if not package and path.startswith('/'):
        package = None
    paths = list(dict.fromkeys([path, unquote(path)] if scheme else [path]))
    if any('\0' in path for path in paths):
        raise UrdfError('has a NUL character in its name')
    if not paths[-1].lower().endswith(MESH_SUFFIXES):
        raise UrdfError(f'is no mesh by its name; known are {", ".join(MESH_SUFFIXES)}')
    return package, paths


def _candidates(package: str | None, paths: list[str], search_paths: list[Path],
                folder: Path | None) -> Iterator[tuple[Path, list[Path]]]:
    """Yield the files that may be the mesh, each with the folders of which one must have it."""
    if package is None:
        places = [(Path('/'), [Path('/')])]
    elif package:
        places = ((place, [place]) for place in _package_folders(package, search_paths, folder))
    else:
        for place in search_paths:
            yield from ((_joined(place, _without_way_up(path)), [place]) for path in paths)
        places = [] if folder is None else [(folder, [_tree_of(folder), *search_paths])]
    for start, roots in places:
        yield from ((_joined(start, path), roots) for path in paths)


def _joined(start: Path, path: str) -> Path:
    """Return a file by its path from a folder, before links are followed: ``..`` may not."""
    return Path(os.path.normpath(start / path.lstrip('/')))


def _without_way_up(path: str) -> str:
    """Return a relative path without the ``..`` that it begins with."""
    return re.sub(r'^(\.\./)+', '', os.path.normpath(path))


def _package_folders(package: str, search_paths: list[Path],
                     folder: Path | None) -> Iterator[Path]:
    """Yield the folders that may be a package."""
    for path in search_paths:
        yield from (path / package, path)
    if folder is not None:
        yield from (above for above in (folder, *folder.parents)
                    if above.name == package or _is_package(above, package))
    for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep):
        share = Path(prefix).absolute() / 'share'
        if prefix and (share / 'ament_index/resource_index/packages' / package).is_file():
            yield share / package
    checkout = package_in(named_folders(), package)
    if checkout is not None:
        yield checkout


def _tree_of(folder: Path) -> Path:
    """Return the folder that may have the meshes of a URDF: its package."""
    for above in (folder, *folder.parents):
        if _is_package(above):
            return above
    return folder.parent if folder.name in URDF_FOLDERS else folder


def _is_package(folder: Path, name: str | None = None) -> bool:
    """Return whether a folder has a package.xml, for a package of that name if one is given."""
    manifest = folder / 'package.xml'
    try:
        if not manifest.is_file() or name is None:
            return manifest.is_file()
        with manifest.open('rb') as file:
            found = re.search(rb'<name>\s*([^<\s]+)\s*</name>', file.read(2**16))
        return found is not None and found[1] == name.encode(errors='replace')
    except OSError:
        return False


def _look(candidates: Iterable[tuple[Path, list[Path]]], package: str | None,
          path: str) -> Path:
    """Return the first file that there is; raise UrdfError, with the reason, if there is none."""
    complaint = ''
    hint = f'; name the folder that has {quote(_without_way_up(path), 200)} in mesh_paths'
    for file, roots in candidates:
        if not any(root in file.parents for root in roots):
            complaint = complaint or f'lies outside {quote(roots[0], 200)}' + (
                '' if package else hint)
            continue
        fault = file_fault(file)
        if fault is None:
            return file
        if fault:
            raise UrdfError(fault)
        complaint = f'is missing: there is no {quote(file, 300)}' + (
            _other_case(file) or ('' if package is None else hint))
    if complaint:
        raise UrdfError(complaint)
    raise UrdfError('is missing: ' + (
        f'no package {quote(package)} is in the ament index; source the workspace that has it, or '
        'name the folder that has it in mesh_paths' if package
        else f'the URDF came without a folder{hint}'))


def file_fault(file: Path) -> str | None:
    """Return the fault of a mesh file: None if it is good, '' if it does not exist."""
    try:
        status = file.stat()
        if not stat.S_ISREG(status.st_mode):
            return f'is no file: {quote(file, 300)}'
        if status.st_size > MAX_MESH_BYTES:
            return (f'has {status.st_size / 2**20:.0f} MiB; at most '
                    f'{MAX_MESH_BYTES // 2**20} MiB are read')
        with file.open('rb') as opened:
            head = opened.read(len(LFS_HEADER))
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: not encodable
        return ''
    except OSError as error:
        return f'cannot be read: {error.strerror}'
    if head == LFS_HEADER:
        return 'is a Git LFS pointer; run `git lfs pull` in its checkout'
    if not head:
        return 'is an empty file'
    return _fault_of_xml(file) if file.suffix.lower() == '.dae' else None


def _fault_of_xml(file: Path) -> str | None:
    """
    Return a fault if an XML file has a document type, whose entities could expand without end.

    Other faults are left to the reader of the mesh; only the part before the root is read.
    """
    def refuse(*_args: object) -> None:
        raise UrdfError('has a document type (<!DOCTYPE ...>), which is refused for safety')

    def leave(*_args: object) -> None:
        raise EOFError

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = leave
    try:
        with file.open('rb') as opened:
            parser.ParseFile(opened)
    except UrdfError as error:
        return str(error)
    except (EOFError, expat.ExpatError, LookupError, ValueError):
        pass
    return None


def _other_case(file: Path) -> str:
    """Return a hint if a file exists whose name differs only in case, else ''."""
    try:
        for name in os.listdir(file.parent):
            if name.lower() == file.name.lower():
                return f', but {quote(name)}: upper and lower case must agree'
    except (OSError, ValueError):
        pass
    return ''
