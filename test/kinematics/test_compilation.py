# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Compiled functions where the disk can keep them, and where it cannot."""

import gc
import os
from pathlib import Path
import pickle
import shutil
import subprocess
import sys
from types import CodeType, ModuleType, SimpleNamespace

from nightly import usual_first
from numba.core.dispatcher import Dispatcher
import pytest
import robots

from ik_node.base import compilation
from ik_node.base.text import COMPILATION_TIME
from ik_node.collision.distances import certificate, model, near_pairs
from ik_node.collision.search import path_search
from ik_node.kinematics import dynamics, kernels
from ik_node.motion.following import follower
from ik_node.solver import tables, warm_up
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


def add_called(function, found):
    """Add a compiled function, and all that it calls, to a set."""
    if function in found:
        return
    found.add(function)
    made = function.py_func
    names = names_in(made.__code__)
    values = [made.__globals__.get(name) for name in names]
    values += [getattr(value, name, None) for value in values if isinstance(value, ModuleType)
               for name in names]
    for value in (*values, *(cell.cell_contents for cell in made.__closure__ or ())):
        if isinstance(value, Dispatcher):
            add_called(value, found)


def test_kernels_are_compiled_anew_if_a_file_of_theirs_changes(monkeypatch):
    """Numba looks at the file of the function that is called only."""
    registered = [(function, warm_up.KERNEL_MODULES) for function in vars(warm_up).values()
                  if isinstance(function, Dispatcher)]

    def take(functions, modules):
        registered.extend((function, modules) for function in functions)

    for user in (kernels, follower):
        monkeypatch.setattr(user, 'forget_stale', take)
    for forget in (certificate.forget_old_kernels, dynamics.forget_old_kernels,
                   follower.forget_stale_kernels, model.forget_old_kernels,
                   near_pairs.forget_old_kernels, path_search.forget_old_kernels):
        forget.__wrapped__()
    assert len(registered) > 20
    for function, modules in registered:
        called = set()
        add_called(function, called)
        files = {each.py_func.__code__.co_filename for each in called}
        known = {module.__file__ for module in modules}
        assert files - known <= {function.py_func.__code__.co_filename}, function
    folder = Path(warm_up.__file__).with_name('compiled')  # with files of constants
    assert {*map(str, folder.glob('*.py'))} - {
        module.__file__ for module in warm_up.KERNEL_MODULES} == {str(folder / '__init__.py')}


@pytest.mark.parametrize('named, kept', [('math', True), ('a_module_that_was_moved', False)])
def test_a_cache_that_names_a_missing_module_is_dropped(tmp_path, named, kept):
    """An index of numba's cache has two pickles; of a class, the second names the module."""
    index = tmp_path / 'file.work-1.py311.nbi'
    index.write_bytes(pickle.dumps('version') + f'c{named}\nsqrt\n.'.encode())

    def work():
        pass

    work.stats = SimpleNamespace(cache_path=str(tmp_path))
    kernels.forget_stale([work], [kernels])
    assert index.exists() == kept


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
