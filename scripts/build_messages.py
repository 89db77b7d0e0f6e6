# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Build the message packages that tests need and that are not on PyPI, for this environment.

What they consist of is in ``test/interfaces.yaml``; packages that Python finds already are left
out.  `make test` calls this once.  Definitions that are on the machine are taken instead from a
folder that has them as ROS packages, ``moveit_msgs/msg/*.msg`` and so on::

    .venv/bin/python scripts/build_messages.py --definitions /opt/ros/jazzy/share

The packages that these need are taken from the environment, and so are the generators.  The C and
C++ code that they make is compiled by ``CC`` and ``CXX``, by default gcc and g++, which need the
headers of Python.  The packages are usable from Python with Fast DDS; headers and CMake files for
others are not made.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
import io
import json
from multiprocessing import get_context
import os
from pathlib import Path
import shlex
import shutil
import subprocess
import sys
import sysconfig
from tempfile import TemporaryDirectory
from time import monotonic

import numpy as np
from rosidl_adapter import convert_to_idl
from rosidl_adapter.parser import (
    MessageSpecification,
    parse_action_file,
    parse_message_file,
    parse_service_file,
)
from rosidl_cli.command.helpers import generate_visibility_control_file
from rosidl_generator_c import generate_c as generate_structs
from rosidl_generator_py import generate_py
from rosidl_generator_type_description import generate_type_hash
import rosidl_parser.parser
from rosidl_typesupport_c import generate_c as generate_dispatch
from rosidl_typesupport_fastrtps_c import generate_typesupport_fastrtps_c
from rosidl_typesupport_introspection_c import generate_c as generate_introspection
import yaml

INTERFACES_FILE = Path(__file__).parents[1] / 'test/interfaces.yaml'
DEFAULT_PREFIX = '.build/messages'
STAMP_FILE = '.built'  # there once all is built
TYPE_SUPPORTS = 'rosidl_typesupport_fastrtps_c', 'rosidl_typesupport_introspection_c'
VISIBILITY_TEMPLATES = 'rosidl_generator_c', *TYPE_SUPPORTS
COMPILER_FLAGS = '-O0', '-fPIC', '-w'
RUNTIME_LIBRARIES = (
    'rosidl_runtime_c', 'rosidl_typesupport_c', 'rosidl_typesupport_fastrtps_c',
    'rosidl_typesupport_fastrtps_cpp', 'rosidl_typesupport_introspection_c', 'rcutils', 'rmw',
    ':libfastcdr.so.2')
PYTHON_GENERATOR = 'rosidl_generator_py'
# Of each library of a package, in the order in which they are linked; and their options.
GENERATORS = {
    'rosidl_generator_c': (generate_structs,),
    'rosidl_typesupport_fastrtps_c': (generate_typesupport_fastrtps_c,),
    'rosidl_typesupport_introspection_c': (generate_introspection,),
    'rosidl_typesupport_c': (generate_dispatch, TYPE_SUPPORTS),
    PYTHON_GENERATOR: (generate_py, ['rosidl_typesupport_c'])}
ENVIRONMENT = Path(sys.prefix)
DESCRIPTIONS_FOLDER = 'descriptions'  # of the build: IDL files, and types with their hashes


class BuildError(Exception):
    """The messages cannot be built; the sentence says why."""


@dataclass
class Package:
    """The interfaces of a package that are to be built."""

    name: str
    interfaces: list[str] = field(default_factory=list)  # 'msg/Name', 'srv/Name' or 'action/Name'
    needs: set[str] = field(default_factory=set)  # other packages, here or in the environment


# ---- what is to be built ------------------------------------------------------

def needed_interfaces() -> list[str]:
    """Return the names of the interfaces that tests need, 'control_msgs/msg/JointJog'."""
    return [f'{package}/{name}' for package, interfaces in _table().items()
            for name in interfaces]


def write_definitions(folder: Path) -> None:
    """Write what the table says into the files that ROS packages have."""
    for package, interfaces in _table().items():
        for name, parts in interfaces.items():
            file = folder / package / f'{name}.{name.split("/")[0]}'
            file.parent.mkdir(parents=True, exist_ok=True)
            parts = parts if isinstance(parts, list) else [parts]
            file.write_text('\n---\n'.join(part.replace(', ', '\n') for part in parts) + '\n')


def _table() -> dict[str, dict[str, str | list[str]]]:
    return yaml.safe_load(INTERFACES_FILE.read_text())


def in_environment(package: str) -> bool:
    """Return whether the environment has a package with its definitions."""
    return (ENVIRONMENT / 'share' / package / 'package.xml').is_file() \
        and (ENVIRONMENT / 'lib' / f'lib{package}__rosidl_generator_c.so').is_file()


def messages_of(package: str, file: Path) -> tuple[MessageSpecification, ...]:
    """Return the messages that an interface file consists of."""
    if file.suffix == '.msg':
        return (parse_message_file(package, str(file)),)
    if file.suffix == '.srv':
        service = parse_service_file(package, str(file))
        return service.request, service.response
    action = parse_action_file(package, str(file))
    return action.goal, action.result, action.feedback


def packages_to_build(definitions: Path, wanted: list[str]) -> list[Package]:
    """
    Return the packages in the order in which they are built.

    Raises
    ------
    BuildError
        If a definition is missing, or packages need each other.

    """
    packages: dict[str, Package] = {}
    waiting = list(wanted)
    while waiting:
        name, kind, stem = waiting.pop().split('/')
        package = packages.setdefault(name, Package(name))
        if f'{kind}/{stem}' in package.interfaces:
            continue
        package.interfaces.append(f'{kind}/{stem}')
        file = definitions / name / kind / f'{stem}.{kind}'
        if not file.is_file():
            raise BuildError(f'{file} is missing; --definitions names a folder with ROS packages')
        if kind != 'msg':
            package.needs.add('service_msgs')
        if kind == 'action':
            package.needs |= {'action_msgs', 'unique_identifier_msgs', 'builtin_interfaces'}
        for message in messages_of(name, file):
            for member in message.fields:
                other = member.type.pkg_name
                if member.type.is_primitive_type():
                    continue
                if other != name:
                    package.needs.add(other)
                if not in_environment(other):
                    waiting.append(f'{other}/msg/{member.type.type}')
    ordered: list[Package] = []
    while len(ordered) < len(packages):
        done = {package.name for package in ordered}
        ready = [package for package in packages.values() if package.name not in done
                 and package.needs & packages.keys() <= done]
        if not ready:
            raise BuildError('these packages need each other: '
                             + ', '.join(packages.keys() - done))
        ordered += ready
    for package in ordered:
        package.interfaces.sort()
        for need in list(package.needs):  # and what these need: their headers name it
            package.needs |= packages[need].needs if need in packages else environment_needs(need)
    return ordered


def environment_needs(package: str) -> set[str]:
    """Return the packages of messages that one of the environment depends on."""
    index = ENVIRONMENT / 'share/ament_index/resource_index/package_run_dependencies' / package
    if not index.is_file():
        raise BuildError(f'the package {package} is neither in the definitions nor in '
                         f'{ENVIRONMENT}')
    needs = {need for need in index.read_text().split(';') if in_environment(need)} - {package}
    for need in list(needs):
        needs |= environment_needs(need)
    return needs


# ---- code ---------------------------------------------------------------------

@dataclass(frozen=True)
class Build:
    """Where the code of one package is made, and of what."""

    package: Package
    # definitions, folder, prefix: of all packages, their definitions, what is made on the way, and
    # what is left of it
    definitions: Path
    folder: Path
    prefix: Path
    built: tuple[str, ...]  # the packages that are built before it, of which it may need some

    @property
    def described(self) -> Path:
        """Return the folder of the IDL files of the package, and of the hashes of its types."""
        return self.folder / DESCRIPTIONS_FOLDER / self.package.name

    def describe(self) -> None:
        """Make the IDL files and the hashes, of which all else is made."""
        package = self.package
        for interface in package.interfaces:
            file = Path(interface)
            with redirect_stdout(io.StringIO()):
                convert_to_idl(self.definitions / package.name, package.name,
                               file.with_suffix('.' + file.parts[0]), self.described)
        generate_type_hash(self._arguments('rosidl_generator_type_description', self.described))
        for generator in VISIBILITY_TEMPLATES:
            name = f'{generator}__visibility_control.h'
            generate_visibility_control_file(
                package_name=package.name,
                output_path=self.folder / generator / package.name / 'msg' / name,
                template_path=ENVIRONMENT / 'share' / generator / 'resource' / f'{name}.in')
        modules = self.prefix / package.name
        shutil.rmtree(modules, ignore_errors=True)
        modules.mkdir(parents=True)
        (modules / '__init__.py').touch()

    def generate(self, generator: str) -> list[str]:
        """Generate the code of one library; return the files that are to be compiled."""
        generate, *options = GENERATORS[generator]
        files = generate(self._arguments(
            generator, self.prefix / self.package.name if generator == PYTHON_GENERATOR else
            self.folder / generator / self.package.name), *options)
        return [file for file in files if file.endswith(('.c', '.cpp'))]

    def _arguments(self, generator: str, folder: Path) -> str:
        """Write what a generator is told, and return where."""
        package, arguments = self.package, self.described / f'{generator}.arguments.json'
        arguments.write_text(json.dumps({
            'package_name': package.name,
            'idl_tuples': [f'{self.described}:{each}.idl' for each in package.interfaces],
            'output_dir': str(folder),
            'template_dir': str(ENVIRONMENT / 'share' / generator / 'resource'),
            'target_dependencies': [], 'ros_interface_dependencies': [],
            'ros_interface_files': [
                str(self.definitions / package.name / f'{each}.{each.split("/")[0]}')
                for each in package.interfaces],
            'include_paths': [f'{need}:' + str(
                self.folder / DESCRIPTIONS_FOLDER / need if need in self.built
                else ENVIRONMENT / 'share' / need) for need in sorted(package.needs)],
            **({'type_description_tuples': [f'{each}.idl:{self.described / each}.json'
                                            for each in package.interfaces]}
               if generator == 'rosidl_generator_c' else {})}))
        return str(arguments)


def generate_all(builds: list[Build]) -> list[dict[str, list[str]]]:
    """
    Generate the code of packages by several processes.

    Returns for each package the files of each library.
    """
    # The generators of a package read the same files; what one has read, the others know.
    rosidl_parser.parser.get_ast_from_idl_string = cache(
        rosidl_parser.parser.get_ast_from_idl_string)
    for build in builds:
        build.describe()
    with ProcessPoolExecutor(mp_context=get_context('fork')) as pool:
        made = [{name: pool.submit(build.generate, name) for name in GENERATORS}
                for build in builds]
        return [{name: files.result() for name, files in each.items()} for each in made]


# ---- libraries ----------------------------------------------------------------

def run(command: list[str]) -> None:
    """Run a compiler; raise BuildError with its first words if it fails."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise BuildError(f'{shlex.join(command)}\n{done.stderr[:2000]}')


def joined(files: list[str]) -> list[Path]:
    """Return fewer files, which include those of a folder together: that compiles faster."""
    folders: dict[Path, list[Path]] = {}
    for file in map(Path, files):
        # Descriptions of types define the same names as others do.
        key = file if file.stem.endswith('__description') else file.parent / f'all{file.suffix}'
        folders.setdefault(key, []).append(file)
    for whole, parts in folders.items():
        if parts != [whole]:
            whole.write_text(''.join(f'#include "{part}"\n' for part in parts))
    return [*folders]


def compile_package(build: Build, sources: dict[str, list[str]]) -> None:
    """Compile the code of a package to its libraries, and to the module that Python loads."""
    package, prefix = build.package, build.prefix
    includes = [*(f'-I{folder}' for folder in build.folder.iterdir()), f'-I{np.get_include()}',
                f'-I{sysconfig.get_path("include")}',
                f'-I{ENVIRONMENT / "include"}',  # of Fast CDR
                *(f'-I{path}' for path in sorted((ENVIRONMENT / 'include').iterdir()))]

    def compiled(file: Path) -> Path:
        made = file.with_name(f'{file.name}.o')
        run([*(compiler_of('CC', 'gcc') if file.suffix == '.c' else compiler_of('CXX', 'g++')),
             *COMPILER_FLAGS, *includes, '-c', str(file), '-o', str(made)])
        return made

    module = Path(sources[PYTHON_GENERATOR].pop())  # its entry point
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        entry = pool.submit(compiled, module)
        objects = {ending: [pool.submit(compiled, file) for file in joined(files)]
                   for ending, files in sources.items()}
    folders = prefix / 'lib', ENVIRONMENT / 'lib'
    folders[0].mkdir(parents=True, exist_ok=True)
    link = [*compiler_of('CXX', 'g++'), '-shared', '-Wl,--no-as-needed',
            *(f'-L{folder}' for folder in folders), *(f'-Wl,-rpath,{each}' for each in folders)]
    libraries = [f'-l{name}' for name in RUNTIME_LIBRARIES]
    libraries += [f'-l{need}__{ending}' for need in sorted(package.needs)
                  for ending in GENERATORS]
    for ending in GENERATORS:
        name = f'lib{package.name}__{ending}.so'
        run([*link, f'-Wl,-soname,{name}', '-o', str(folders[0] / name),
             *(str(part.result()) for part in objects[ending]), *libraries])
        libraries.append(f'-l:{name}')
    suffix = sysconfig.get_config_var('EXT_SUFFIX')
    run([*link, '-o', str(
        prefix / package.name / f'{package.name}_s__rosidl_typesupport_c{suffix}'),
        str(entry.result()), *libraries])


def compiler_of(variable: str, default: str) -> list[str]:
    """Return the compiler that a variable of the environment names, and its options."""
    return shlex.split(os.environ.get(variable, default))


def require_compiler() -> None:
    """Raise a BuildError if there are no compilers, or no headers of Python."""
    for command in (compiler_of('CC', 'gcc'), compiler_of('CXX', 'g++')):
        if shutil.which(command[0]) is None:
            raise BuildError(f'the compiler {command[0]} is missing; install it, or name another '
                             'by CC and CXX')
    header = Path(sysconfig.get_path('include'), 'Python.h')
    if not header.is_file():
        raise BuildError(f'{header} is missing; install python3-dev')


def is_elsewhere(package: str, prefix: Path) -> bool:
    """Return whether Python finds a package, and not only as what was built here before."""
    spec = find_spec(package)
    return spec is not None and prefix not in Path(spec.origin or '/').resolve().parents


def main() -> None:
    """Build, and say where the packages are."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--definitions', type=Path,
                        help='folder with ROS packages, instead of test/interfaces.yaml')
    parser.add_argument('--prefix', type=Path, default=Path(DEFAULT_PREFIX),
                        help='where the packages go, to be named by PYTHONPATH')
    parser.add_argument('interfaces', nargs='*', metavar='PACKAGE/KIND/NAME',
                        help='instead of those that the tests need')
    options = parser.parse_args()
    prefix, start = options.prefix.resolve(), monotonic()
    stamp = prefix / STAMP_FILE
    stamp.unlink(missing_ok=True)
    try:
        require_compiler()
        wanted = options.interfaces or [name for name in needed_interfaces()
                                        if not is_elsewhere(name.split('/')[0], prefix)]
        with TemporaryDirectory() as folder:
            definitions = options.definitions or Path(folder, 'definitions')
            if options.definitions is None:
                write_definitions(definitions)
            packages = packages_to_build(definitions.resolve(), wanted)
            names = tuple(package.name for package in packages)
            builds = [Build(package, definitions.resolve(), Path(folder), prefix, names[:k])
                      for k, package in enumerate(packages)]
            for build, sources in zip(builds, generate_all(builds)):
                compile_package(build, sources)
                print(f'{build.package.name}: {len(build.package.interfaces)} interfaces')
    except BuildError as error:
        sys.exit(str(error))
    prefix.mkdir(parents=True, exist_ok=True)
    stamp.touch()
    print(f'built in {monotonic() - start:.0f} s; use them with PYTHONPATH={prefix}')


if __name__ == '__main__':
    main()
