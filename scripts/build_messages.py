# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Build the message packages that tests need and that are not on PyPI, for this environment.

The definitions are found on this machine, none is downloaded: a folder that has them as ROS
packages, ``moveit_msgs/msg/*.msg`` and so on, such as ``/opt/ros/jazzy/share``::

    .venv/bin/python scripts/build_messages.py --definitions /opt/ros/jazzy/share
    PYTHONPATH=.build/messages .venv/bin/python -m pytest test/ros/test_moveit_scene.py

What the environment has already is taken from there.  The generators are those of the
environment; the C and C++ code that they make is compiled by ``CC`` and ``CXX``, by default gcc
and g++, which need the headers of Python.  The packages are usable from Python with Fast DDS;
headers and CMake files for others are not made.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from dataclasses import dataclass, field
import io
import json
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
from rosidl_typesupport_c import generate_c as generate_dispatch
from rosidl_typesupport_fastrtps_c import generate_typesupport_fastrtps_c
from rosidl_typesupport_introspection_c import generate_c as generate_introspection

DEFINITIONS_VARIABLE = 'IK_NODE_MESSAGE_DEFINITIONS'
DEFAULT_PREFIX = '.build/messages'
# What tests need; what these consist of is built as well.
NEEDED_INTERFACES = (
    'control_msgs/action/ExecuteMotionPrimitiveSequence',
    'control_msgs/action/FollowJointTrajectory',
    'control_msgs/action/GripperCommand',
    'control_msgs/msg/JointJog',
    'moveit_msgs/action/ExecuteTrajectory',
    'moveit_msgs/action/MoveGroup',
    'moveit_msgs/msg/PlanningScene',
    'moveit_msgs/srv/ApplyPlanningScene',
    'moveit_msgs/srv/GetCartesianPath',
    'moveit_msgs/srv/GetMotionPlan',
    'moveit_msgs/srv/GetPlanningScene',
    'moveit_msgs/srv/GetPositionFK',
    'moveit_msgs/srv/GetPositionIK',
    'moveit_msgs/srv/ServoCommandType',
    'nav2_msgs/action/NavigateThroughPoses',
    'nav2_msgs/action/NavigateToPose')
TYPE_SUPPORTS = 'rosidl_typesupport_fastrtps_c', 'rosidl_typesupport_introspection_c'
VISIBILITY_TEMPLATES = 'rosidl_generator_c', *TYPE_SUPPORTS
COMPILER_FLAGS = '-O1', '-fPIC', '-w'
RUNTIME_LIBRARIES = (
    'rosidl_runtime_c', 'rosidl_typesupport_c', 'rosidl_typesupport_fastrtps_c',
    'rosidl_typesupport_fastrtps_cpp', 'rosidl_typesupport_introspection_c', 'rcutils', 'rmw',
    ':libfastcdr.so.2')
# Of each package, in the order in which they are linked.
LIBRARY_ENDINGS = (
    'rosidl_generator_c', *TYPE_SUPPORTS, 'rosidl_typesupport_c', 'rosidl_generator_py')
ENVIRONMENT = Path(sys.prefix)
DESCRIPTIONS_FOLDER = 'descriptions'  # of the build: IDL files, and types with their hashes


class BuildError(Exception):
    """The messages cannot be built; the sentence says why."""


@dataclass
class Package:
    """
    The interfaces of a package that are to be built.

    Attributes
    ----------
    name : str
    interfaces : list of str
        'msg/Name', 'srv/Name' or 'action/Name'.
    needs : set of str
        Other packages, here or in the environment.

    """

    name: str
    interfaces: list[str] = field(default_factory=list)
    needs: set[str] = field(default_factory=set)


# ---- what is to be built ------------------------------------------------------

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

def generate(package: Package, definitions: Path, build: Path, prefix: Path,
             built: list[str]) -> dict[str, list[str]]:
    """Generate the code of a package; return the files by the library for which they are."""
    source, described = definitions / package.name, build / DESCRIPTIONS_FOLDER / package.name
    tuples = []
    for interface in package.interfaces:
        file = Path(interface)
        with redirect_stdout(io.StringIO()):
            convert_to_idl(source, package.name, file.with_suffix('.' + file.parts[0]), described)
        tuples.append(f'{described}:{interface}.idl')
    arguments = described / 'arguments.json'

    def given(generator: str, folder: Path | None = None) -> str:
        """Write what a generator is told; its files go where no other generator's are."""
        arguments.write_text(json.dumps({
            'package_name': package.name, 'idl_tuples': tuples,
            'output_dir': str(folder or build / generator / package.name),
            'template_dir': str(ENVIRONMENT / 'share' / generator / 'resource'),
            'target_dependencies': [], 'ros_interface_dependencies': [],
            'ros_interface_files': [str(source / f'{each}.{each.split("/")[0]}')
                                    for each in package.interfaces],
            'include_paths': [f'{need}:' + str(
                build / DESCRIPTIONS_FOLDER / need if need in built
                else ENVIRONMENT / 'share' / need) for need in sorted(package.needs)],
            **({'type_description_tuples': [f'{each}.idl:{described / each}.json'
                                            for each in package.interfaces]}
               if generator == 'rosidl_generator_c' else {})}))
        return str(arguments)

    for generator in VISIBILITY_TEMPLATES:
        name = f'{generator}__visibility_control.h'
        generate_visibility_control_file(
            package_name=package.name,
            output_path=build / generator / package.name / 'msg' / name,
            template_path=ENVIRONMENT / 'share' / generator / 'resource' / f'{name}.in')
    modules = prefix / package.name
    shutil.rmtree(modules, ignore_errors=True)
    modules.mkdir(parents=True)
    generate_type_hash(given('rosidl_generator_type_description', described))
    made = {
        'rosidl_generator_c': generate_structs(given('rosidl_generator_c')),
        'rosidl_typesupport_fastrtps_c': generate_typesupport_fastrtps_c(
            given('rosidl_typesupport_fastrtps_c')),
        'rosidl_typesupport_introspection_c': generate_introspection(
            given('rosidl_typesupport_introspection_c')),
        'rosidl_typesupport_c': generate_dispatch(given('rosidl_typesupport_c'), TYPE_SUPPORTS),
        'rosidl_generator_py': generate_py(given('rosidl_generator_py', modules),
                                           ['rosidl_typesupport_c'])}
    (modules / '__init__.py').touch()
    return {ending: [file for file in files if file.endswith(('.c', '.cpp'))]
            for ending, files in made.items()}


# ---- libraries ----------------------------------------------------------------

def run(command: list[str]) -> None:
    """Run a compiler; raise BuildError with its first words if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        raise BuildError(f'the compiler {command[0]} is missing; install it, or name another by '
                         'CC and CXX') from None
    if done.returncode:
        raise BuildError(f'{shlex.join(command)}\n{done.stderr[:2000]}')


def compile_package(package: Package, sources: dict[str, list[str]], build: Path,
                    prefix: Path) -> None:
    """Compile the code of a package to its libraries, and to the module that Python loads."""
    includes = [*(f'-I{folder}' for folder in build.iterdir()), f'-I{np.get_include()}',
                f'-I{sysconfig.get_path("include")}',
                f'-I{ENVIRONMENT / "include"}',  # of Fast CDR
                *(f'-I{path}' for path in sorted((ENVIRONMENT / 'include').iterdir()))]

    def compiled(file: str) -> str:
        compiler = compiler_of('CC', 'gcc') if file.endswith('.c') else compiler_of('CXX', 'g++')
        run([*compiler, *COMPILER_FLAGS, *includes, '-c', file, '-o', f'{file}.o'])
        return f'{file}.o'

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = {ending: [*pool.map(compiled, files)] for ending, files in sources.items()}
    module = objects['rosidl_generator_py'].pop()  # its entry point
    folders = prefix / 'lib', ENVIRONMENT / 'lib'
    folders[0].mkdir(parents=True, exist_ok=True)
    link = [*compiler_of('CXX', 'g++'), '-shared', '-Wl,--no-as-needed',
            *(f'-L{folder}' for folder in folders), *(f'-Wl,-rpath,{each}' for each in folders)]
    libraries = [f'-l{name}' for name in RUNTIME_LIBRARIES]
    libraries += [f'-l{need}__{ending}' for need in sorted(package.needs)
                  for ending in LIBRARY_ENDINGS]
    for ending in LIBRARY_ENDINGS:
        name = f'lib{package.name}__{ending}.so'
        run([*link, f'-Wl,-soname,{name}', '-o', str(folders[0] / name), *objects[ending],
             *libraries])
        libraries.append(f'-l:{name}')
    suffix = sysconfig.get_config_var('EXT_SUFFIX')
    run([*link, '-o', str(
        prefix / package.name / f'{package.name}_s__rosidl_typesupport_c{suffix}'),
        module, *libraries])


def compiler_of(variable: str, default: str) -> list[str]:
    """Return the compiler that a variable of the environment names, and its options."""
    return shlex.split(os.environ.get(variable, default))


def main() -> None:
    """Build, and say where the packages are."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--definitions', type=Path,
                        default=os.environ.get(DEFINITIONS_VARIABLE),
                        help=f'folder with ROS packages (default: ${DEFINITIONS_VARIABLE})')
    parser.add_argument('--prefix', type=Path, default=Path(DEFAULT_PREFIX),
                        help='where the packages go, to be named by PYTHONPATH')
    parser.add_argument('interfaces', nargs='*', metavar='PACKAGE/KIND/NAME',
                        help='instead of those that the tests need')
    options = parser.parse_args()
    if options.definitions is None:
        parser.error(f'give --definitions, or set {DEFINITIONS_VARIABLE}')
    definitions, prefix = options.definitions.resolve(), options.prefix.resolve()
    wanted = options.interfaces or [
        name for name in NEEDED_INTERFACES if (definitions / name.split('/')[0]).is_dir()]
    if not wanted:
        parser.error(f'{definitions} has none of the packages that the tests need: '
                     + ', '.join(sorted({name.split('/')[0] for name in NEEDED_INTERFACES})))
    start = monotonic()
    try:
        packages = packages_to_build(
            definitions, [name for name in wanted if not in_environment(name.split('/')[0])])
        built: list[str] = []
        with TemporaryDirectory() as folder:
            for package in packages:
                sources = generate(package, definitions, Path(folder), prefix, built)
                compile_package(package, sources, Path(folder), prefix)
                built.append(package.name)
                print(f'{package.name}: {len(package.interfaces)} interfaces')
    except BuildError as error:
        sys.exit(str(error))
    print(f'built in {monotonic() - start:.0f} s; use them with PYTHONPATH={prefix}')


if __name__ == '__main__':
    main()
