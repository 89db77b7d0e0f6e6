# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Compiled functions where the disk can keep them, and where it cannot."""

import ast
import gc
from importlib import import_module
import os
from pathlib import Path
import pickle
import shutil
import subprocess
import sys
from types import CodeType

from nightly import usual_first
from numba.core.dispatcher import Dispatcher
import pytest
import robots

from ik_node.base import compilation
from ik_node.base.text import COMPILATION_TIME
from ik_node.solver import tables
from ik_node.solver.solver import Solver

ROOT = Path(__file__).parents[2]
USE = """
import sys
from ik_node.base.compilation import compilation_told
sys.path.insert(0, sys.argv[1])
from twice import twice
with compilation_told(print):
    assert twice(2.0) == 4.0
"""
SEVERAL_TIMES = USE + """
with compilation_told(print):
    assert twice(2) == 4
with compilation_told(print):
    with compilation_told(print):
        assert twice(2.0 + 1.0j) == 4.0 + 2.0j
"""
MODULE = """
from ik_node.kinematics.kernels import compiled
@compiled
def twice(x):
    return 2.0 * x
"""
FULL_DISK = """
import numba.core.caching as caching
def fail(*_):
    raise OSError(28, 'No space left on device')
caching.IndexDataCacheFile._save_data = fail
"""
NO_FOLDER = """
import numba.core.caching as caching
def fail(*_):
    raise PermissionError(13, 'Permission denied')
caching._CacheLocator.ensure_cache_path = fail
"""
SEARCH = f"""
from ik_node import Goal, load_urdf, Solver
from ik_node.solver.closed_form.solution_search import find_all
arm = load_urdf('{ROOT}/urdf/six_axis_arm.urdf')
solver, T = Solver(arm), arm.fk(arm.lower + 0.4 * (arm.upper - arm.lower))
assert solver.solve(T).success and len(solver.solve_all(T)) > 1 and not find_all.overloads
assert len(solver.solve_all(Goal.position(T[:3, 3]))) > 1 and find_all.overloads
"""
WARNING = 'compiled functions cannot be kept on the disk'


def run(code: str, folder: Path, package: Path = ROOT, inside: list[str] = (),
        **environment: str):
    """Run a program that compiles a function in a folder; return the finished process."""
    (folder / 'twice.py').write_text(MODULE)
    done = subprocess.run(
        [*inside, sys.executable, '-c', code, str(folder)], cwd=folder, capture_output=True,
        text=True, timeout=300,
        env={**os.environ, 'PYTHONPATH': str(package), **environment})
    assert done.returncode == 0, done.stderr
    return done


def test_compiled_code_is_kept(tmp_path):
    """The second process compiles nothing, and says nothing about it."""
    for compiles in (True, False):
        done = run(USE, tmp_path, NUMBA_CACHE_DIR=str(tmp_path))
        assert ('compiling (once on this machine)' in done.stdout) is compiles
        assert ('compiled 1 functions in' in done.stdout) is compiles, done.stdout
        assert not done.stderr
    assert list(tmp_path.rglob('*.twice-*.nbc'))


def test_it_is_announced_once(tmp_path):
    """However often a process compiles; each time it says how long it took."""
    done = run(SEVERAL_TIMES, tmp_path, NUMBA_CACHE_DIR=str(tmp_path))
    assert done.stdout.count(f'compiling (once on this machine): {COMPILATION_TIME}') == 1
    assert done.stdout.count('compiling') == 1
    assert done.stdout.count('compiled 1 functions in') == 3, done.stdout


@pytest.mark.parametrize('name, options', [('ur5', {}), ('panda', {'select': 'nearest'})])
def test_a_solver_reports_once(monkeypatch, name, options):
    """All that it compiles is counted by one report."""
    chain, seen = robots.chain(name), []
    for each in [each for each in vars(tables) if each.startswith('warm_up')]:
        def told(*arguments, load=getattr(tables, each)):
            seen.append(tuple(compilation._active))
            return load(*arguments)

        monkeypatch.setattr(tables, each, told)
    Solver(chain, **options)
    assert len(seen) > 1 and len({*seen}) == len(seen[0]) == 1
    assert not compilation._active


@pytest.mark.fault('start, end and middleware',
                   'compiled functions cannot be kept: no folder can be written, or the disk is '
                   'full', 'one warning with what to set; they are compiled at each start')
@pytest.mark.parametrize('broken', usual_first(1, [NO_FOLDER, FULL_DISK]),
                         ids=['no folder', 'full disk'])
def test_without_a_cache(tmp_path, broken):
    """It works, after one warning."""
    done = run(broken + USE, tmp_path, NUMBA_CACHE_DIR=str(tmp_path))
    assert done.stderr.count(WARNING) == 1 and 'NUMBA_CACHE_DIR' in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert 'compiled ' in done.stdout
    if broken is NO_FOLDER:
        assert 'compiling (at every start' in done.stdout


@pytest.mark.nightly
def test_a_package_that_cannot_be_written(tmp_path, monkeypatch):
    """Installed by root and used by somebody without a home; the node's modules load, too."""
    if os.getuid() or shutil.which('setpriv') is None:
        pytest.skip('needs root, to become somebody who may write nowhere')
    somebody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
    shutil.copytree(ROOT / 'ik_node', tmp_path / 'ik_node',
                    ignore=shutil.ignore_patterns('__pycache__'))
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.getuid() and folder != Path('/'):
            folder.chmod(folder.stat().st_mode | 0o055)
    monkeypatch.delenv('NUMBA_CACHE_DIR', raising=False)
    monkeypatch.delenv('XDG_CACHE_HOME', raising=False)
    done = run(USE + '\nimport ik_node.node.node', tmp_path, tmp_path, somebody,
               HOME='/nonexistent')
    assert done.stderr.count(WARNING) == 1, done.stderr
    assert 'Traceback' not in done.stderr


def test_the_search_for_all_solutions_is_loaded_where_it_is_needed(tmp_path):
    """An arm with a closed form needs it for goals with free axes only."""
    run(SEARCH, tmp_path)


def names_in(code):
    """Return the names that the code of a function uses, and that of functions in it."""
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    return {*code.co_names}.union(*map(names_in, inner))


def all_modules():
    return [import_module('.'.join(path.relative_to(ROOT).with_suffix('').parts))
            for group in compilation.KERNEL_GROUPS
            for path in (ROOT / 'ik_node' / group).rglob('*.py') if path.name != '__init__.py']


def test_the_stamp_is_of_all_that_kernels_are_compiled_from(monkeypatch):
    """Of each kernel, of what it calls, and of the numbers that it has from elsewhere."""
    hashed = set()
    read = Path.read_bytes

    def noted(path):
        hashed.add(path)
        return read(path)

    kernels_of = {Path(module.__file__): [
        each for each in vars(module).values() if isinstance(each, Dispatcher)
        and each.py_func.__module__ == module.__name__] for module in all_modules()}
    monkeypatch.setattr(Path, 'read_bytes', noted)
    compilation.kernel_stamp.__wrapped__()
    hashed = {path for path in hashed if path.name == 'se3.py'
              or compilation.KERNEL_FILE.search(read(path))}
    assert sum(map(len, kernels_of.values())) > 100
    for path, kernels in kernels_of.items():
        assert not kernels or path in hashed
        asked = set().union(*(names_in(kernel.py_func.__code__) for kernel in kernels))
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ImportFrom) and node.module.startswith('ik_node.'):
                file = ROOT.joinpath(*node.module.split('.')).with_suffix('.py')
                names = {alias.name for alias in node.names} & asked
                assert not names or file in hashed or not file.exists(), (path, names)


def test_kernels_are_compiled_anew_if_a_file_of_theirs_changes(tmp_path, monkeypatch):
    """Though numba looks only at the file of the function that is called."""
    shutil.copytree(ROOT / 'ik_node', tmp_path / 'ik_node',
                    ignore=shutil.ignore_patterns('__pycache__'))
    monkeypatch.setattr(compilation, 'PACKAGE', tmp_path / 'ik_node')
    stamp = compilation.kernel_stamp.__wrapped__
    assert stamp() == compilation.kernel_stamp()
    for name, kept in (('solver/goal.py', True), ('solver/descent/damped.py', False)):
        before = stamp()
        with (tmp_path / 'ik_node' / name).open('a') as file:
            file.write('# changed\n')
        assert (stamp() == before) == kept


@pytest.mark.parametrize('stamp, module', usual_first(1, [
    (None, 'a_module_that_was_moved'), ('old', 'math')]))
def test_a_cache_that_is_old_is_compiled_anew(tmp_path, monkeypatch, stamp, module):
    """Also if it names a module that is gone: an index has two pickles, the second has types."""
    (tmp_path / 'twice.py').write_text(MODULE)
    run(USE, tmp_path)
    index, = (tmp_path / '__pycache__').glob('twice.twice-*.nbi')
    with index.open('rb') as file:
        version = pickle.load(file)
        (source, kernels), overloads = pickle.load(file)
    assert kernels == compilation.kernel_stamp() and len(overloads) == 1
    old = pickle.dumps(((source, stamp), overloads)) if stamp else f'c{module}\nsqrt\n.'.encode()
    index.write_bytes(pickle.dumps(version) + old)
    for anew in (True, False):
        assert ('compiled ' in run(USE, tmp_path).stdout) == anew


def test_an_old_cache_that_cannot_be_replaced(tmp_path):
    """It is compiled at each start, after one warning, though its index can never be read."""
    (tmp_path / 'twice.py').write_text(MODULE)
    run(USE, tmp_path)
    index, = (tmp_path / '__pycache__').glob('twice.twice-*.nbi')
    with index.open('rb') as file:
        version = pickle.load(file)
    index.write_bytes(pickle.dumps(version) + b'ca_module_that_was_moved\nsqrt\n.')
    done = run(FULL_DISK.replace('_save_data', '_open_for_write') + USE, tmp_path)
    assert done.stderr.count(WARNING) == 1 and 'compiled ' in done.stdout


def test_garbage_is_collected_less_often_meanwhile():
    """And as before afterwards, also after an error."""
    before = gc.get_threshold()
    with pytest.raises(KeyError), compilation.compilation_told(print):
        assert gc.get_threshold()[0] == compilation.COMPILER_GC_THRESHOLD
        with compilation.compilation_told(print):
            pass
        assert gc.get_threshold()[0] == compilation.COMPILER_GC_THRESHOLD
        raise KeyError
    assert gc.get_threshold() == before
