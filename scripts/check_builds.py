# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Check the package as a user has it: its types by mypy, and what colcon and pip build of it.

    python scripts/check_builds.py types    `mypy --strict` of a user's script, the examples, and
                                            lines that are wrong; `make lint` calls it
    python scripts/check_builds.py builds   colcon build and pip wheel; `make builds` calls it

What was built runs in :mod:`check_wheel`, without the source tree.
"""

from __future__ import annotations

import os
from pathlib import Path
import re
import shutil
import subprocess
import sys
import tempfile
from zipfile import ZipFile

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
USER_SCRIPT = ROOT / 'test/user_script.py'
# Each is an error, or the library would be all Any.
WRONG_LINES = ("import ik_node.client", "ik_node.client.Arm().move(fast=True)",
               "there: int = ik_node.client.Arm().joints([0.1]).wait()",
               "ik_node.client.lin([0.0] * 7, velocty=0.1)",
               "arm: ik_node.Arm = ik_node.load_urdf(3)", "ik_node.Solver(arm).solv(arm.fk(0.0))",
               "length: str = arm.reach")
NOT_COPIED = '.*', '__pycache__', 'build', 'install', 'log', '*.egg-info', 'test', 'dist'
SHARE_FOLDERS = 'launch', 'config', 'urdf', 'examples'
COMMAND_TIMEOUT_S = 600.0


def run(*command: object, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess:
    """Run a command with variables of the environment; return what it said."""
    return subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True,
                          timeout=COMMAND_TIMEOUT_S, env={**os.environ, **environment})


def check_types(folder: Path) -> None:
    """Raise if mypy finds a fault in what is right, or none in what is wrong."""
    examples = sorted((ROOT / 'examples').glob('arm_*.py'))
    wrong = folder / 'wrong.py'
    wrong.write_text('\n'.join(['import ik_node', *WRONG_LINES]) + '\n')
    ran = run(sys.executable, '-m', 'mypy', '--strict', '--cache-dir', ROOT / '.build/kept/mypy',
              USER_SCRIPT, *examples, wrong, cwd=folder, PYTHONPATH=str(ROOT))
    *lines, last = ran.stdout.splitlines()
    expect(re.fullmatch(fr'Found .* \(checked {len(examples) + 2} source files\)', last),
           ran.stdout + ran.stderr)
    found = [line for line in lines if not line.startswith('wrong.py:')]
    expect(not found, '\n'.join(found))
    for number in range(3, 2 + len(WRONG_LINES)):
        expect(f'wrong.py:{number}: error: ' in ran.stdout,
               f'mypy takes {WRONG_LINES[number - 2]!r}')
    ran = run(sys.executable, USER_SCRIPT, PYTHONPATH=str(ROOT))
    expect(ran.returncode == 0 and 'joint_6: moved' in ran.stdout, ran.stderr)


def check_colcon(workspace: Path) -> None:
    """Raise if the package that colcon installs lacks a file, or its executables do not start."""
    shutil.copytree(ROOT, workspace / 'src/ik_node', ignore=shutil.ignore_patterns(*NOT_COPIED))
    expect('(ros.ament_python)' in run(BIN / 'colcon', 'list', cwd=workspace).stdout, 'no package')
    built = run(BIN / 'colcon', 'build', cwd=workspace, PATH=f'{BIN}:{os.environ["PATH"]}')
    expect(built.returncode == 0, built.stdout + built.stderr)
    installed = workspace / 'install/ik_node'
    share = installed / 'share/ik_node'
    for name in (*SHARE_FOLDERS, 'config/robots'):
        files, found = ({path.name for path in (place / name).iterdir() if path.is_file()}
                        for place in (ROOT, share))
        expect(files and files == found, f'{name}: {sorted(files ^ found)}')
    expect((share / 'package.xml').is_file(), 'no manifest')
    expect((installed / 'share/ament_index/resource_index/packages/ik_node').is_file(), 'no index')
    folder, = installed.glob('lib/python*/site-packages')
    expect((folder / 'ik_node/py.typed').is_file(), 'no py.typed')
    expect({path.name for path in (installed / 'lib/ik_node').iterdir()} == scripts(), 'scripts')
    helped = run(installed / 'lib/ik_node/send_goal', '--help', PYTHONPATH=str(folder))
    expect(helped.returncode == 0 and '--xyz' in helped.stdout, helped.stderr)
    for name in ('ik_node', 'sim_controller'):
        refused = run(installed / 'lib/ik_node' / name, '--ros-args', '-p', 'urdf_file:=/none',
                      cwd=workspace, PYTHONPATH=str(folder))
        expect(refused.returncode == 1 and "cannot read the URDF file '/none'" in refused.stderr,
               refused.stderr)


def check_wheel(folder: Path) -> None:
    """Raise if the wheel lacks a module, a file that is asked for or a script, or has another."""
    made = run(sys.executable, '-m', 'pip', 'wheel', '--quiet', '--no-deps',
               '--no-build-isolation', '--disable-pip-version-check', '--wheel-dir', folder, ROOT)
    expect(made.returncode == 0, made.stderr)
    shutil.rmtree(ROOT / 'build', ignore_errors=True)
    wheel, = folder.glob('*.whl')
    name = wheel.name.partition('-py3')[0]
    with ZipFile(wheel) as archive:
        files = {file for file in archive.namelist() if '.dist-info/' not in file}
        entries = archive.read(f'{name}.dist-info/entry_points.txt').decode()
    data = f'{name}.data/data/share/'
    share = {file.removeprefix(f'{data}ik_node/') for file in files if file.startswith(data)}
    modules = names_below('ik_node')
    expect({file for file in files if not file.startswith(data)} == modules, 'modules')
    expected = {'package.xml', f'{data}ament_index/resource_index/packages/ik_node',
                *(name for folder in SHARE_FOLDERS for name in names_below(folder))}
    expect(share == expected, f'shared files: {sorted(share ^ expected)}')
    asked = {name for path in (ROOT / 'ik_node').rglob('*.py')
             for name in re.findall(r"share_file\('([^']+)'\)", path.read_text())}
    expect(len(asked) > 2 and asked <= share, f'asked for: {sorted(asked - share)}')
    expect({line.partition(' = ')[0] for line in entries.splitlines() if ' = ' in line}
           == scripts(), 'scripts')


def names_below(folder: str) -> set[str]:
    """Return the files of a folder of the source, by their paths in it."""
    return {path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob('*')
            if path.is_file() and path.parent.name != '__pycache__'}


def scripts() -> set[str]:
    """Return the names of the executables that setup.py declares."""
    return set(re.findall(r"'(\w+) = ik_node\.tools\.entry:\w+'", (ROOT / 'setup.py').read_text()))


def expect(held: object, why: str) -> None:
    """Exit with a text if something does not hold."""
    if not held:
        sys.exit(why)


CHECKS = {'types': (check_types,), 'builds': (check_colcon, check_wheel)}


def main() -> None:
    """Run the checks that are named; exit code 1 and the reason if one fails."""
    for name in sys.argv[1:] or CHECKS:
        for check in CHECKS[name]:
            with tempfile.TemporaryDirectory(prefix='ik_node_check_') as folder:
                check(Path(folder))
            print(f'passed: {check.__name__.removeprefix("check_")}', flush=True)


if __name__ == '__main__':
    main()
