# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Cache of compiled functions, and progress messages while they are compiled.

numba caches machine code in NUMBA_CACHE_DIR, else beside the source file, else in ~/.cache/numba.
If none of these folders can be written, functions are compiled at each start.  numba looks only at
the file of a function, and not at those of the functions that it calls: here all kernels have one
stamp, so that a change of one compiles them all anew.

Two things make a first start shorter, to the same code: of solver, collision check and streams
from 60 to 40 s of processor time (2026-11-29).  For the types of each ``a + b`` and ``a[i]``,
numba tries a dozen templates one after the other, and again for the same types on the next line:
without the answers kept it takes 1.15 times as long.  numba translates each function to machine
code, and again as a part of each function that calls it: with the former for those that only
compiled functions call it takes 1.3 times as long.

If numba's internals, used here alone, are not those that are known, it does as it always does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
import gc
from hashlib import sha256
import logging
from pathlib import Path
import re
from time import monotonic
from typing import Any

from numba import njit, typeof
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.event import Event, install_listener, Listener

from ik_node.base.text import COMPILATION_TIME

try:
    from numba.core.types.functions import BaseFunction
    _resolve = BaseFunction.get_call_type
except (ImportError, AttributeError):
    BaseFunction = None

_kept: dict[tuple, Any] = {}


def _kept_call_type(function: Any, context: Any, args: tuple, kws: dict[str, Any]) -> Any:
    """Return the signature of a call; in place of the method of numba, which finds it anew."""
    try:
        key = function, context, args, tuple(kws.items())
        signature = _kept.get(key)
    except (AttributeError, TypeError):
        return _resolve(function, context, args, kws)
    if signature is None:
        signature = _kept[key] = _resolve(function, context, args, kws)
    return signature


@contextmanager
def call_types_kept() -> Iterator[None]:
    """
    Look up and keep the types of calls in this context; nested contexts do nothing.

    They are kept as long as the process lives.
    """
    if BaseFunction is None or BaseFunction.get_call_type is not _resolve:
        yield
        return
    BaseFunction.get_call_type = _kept_call_type
    try:
        yield
    finally:
        BaseFunction.get_call_type = _resolve


PROGRESS_PERIOD_S = 10.0
# New objects between two collections of garbage: numba makes many that stay for a while, and
# Python's own threshold would look at them again and again.
COMPILER_GC_THRESHOLD = 100_000

PACKAGE = Path(__file__).parents[1]
KERNEL_GROUPS = 'kinematics', 'collision', 'solver', 'motion'
KERNEL_FILE = re.compile(rb'^@(?:compiled|inner|small|allocating|inlined)$', re.MULTILINE)

logger = logging.getLogger(__name__)


class CacheState:
    """Whether compiled functions are cached on disk."""

    fault = ''  # why they are not cached; empty if they are

    @classmethod
    def failed(cls, error: Exception) -> None:
        """Record that functions cannot be cached; warn once per process."""
        if cls.fault:
            return
        cls.fault = str(error)
        logger.warning(
            'compiled functions cannot be kept on the disk (%s), so each start compiles them '
            'again; set NUMBA_CACHE_DIR to a folder that can be written', error)


@cache
def kernel_stamp() -> str:
    """Return a hash of all that kernels are compiled from, but for what a test adds; 6 ms."""
    found = sha256(Path(__file__).read_bytes())
    found.update((PACKAGE / 'base/se3.py').read_bytes())  # of which they have a constant
    for group in KERNEL_GROUPS:
        for path in sorted((PACKAGE / group).rglob('*.py')):
            source = path.read_bytes()
            if KERNEL_FILE.search(source):
                found.update(source)
    return found.hexdigest()


class TolerantCache(FunctionCache):
    """A cache of compiled functions that ignores errors of the disk, and has one stamp for all."""

    def __init__(self, function: Callable) -> None:
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp(), kernel_stamp()
        self._cache_file = IndexDataCacheFile(self._cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function, or None if it cannot be read."""
        try:
            return super().load_overload(sig, target_context)
        except OSError as error:
            CacheState.failed(error)
        except (ImportError, AttributeError):  # of another version, whose modules are gone
            try:
                self._cache_file.flush()
            except OSError as error:
                CacheState.failed(error)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save a compiled function if possible."""
        try:
            super().save_overload(sig, data)
        except (OSError, ImportError, AttributeError) as error:  # as in load_overload
            CacheState.failed(error)


def cached_njit(**options: Any) -> Callable[[Callable], Callable]:
    """Return ``numba.njit(cache=True, **options)`` that also works without a cache folder."""
    def decorate(function: Callable) -> Callable:
        dispatcher = njit(**options)(function)
        dispatcher.compile = call_types_kept()(dispatcher.compile)
        try:
            dispatcher._cache = TolerantCache(function)
        except (RuntimeError, OSError) as error:  # numba finds no folder that can be written
            CacheState.failed(error)
        return dispatcher

    return decorate


def direct(function: Any, *arguments: Any) -> Callable:
    """
    Return the machine code of a compiled function for arguments of the types of these.

    A call of it takes 0.2 us less, as numba does not look at the types: those of other arguments
    would crash the process.  An array may be read-only if it is not written to.
    """
    return function.overloads[tuple(map(typeof, arguments))].entry_point


class _Progress(Listener):
    """Count compiled functions; announce the first of the process, then report periodically."""

    announced = False

    def __init__(self, say: Callable[[str], object]) -> None:
        self._say = say
        self.count = 0
        self.began = self._said = 0.0

    def on_start(self, event: Event) -> None:
        """Announce the first compilation."""
        if self.began:
            return
        self.began = self._said = monotonic()
        if _Progress.announced:
            return
        _Progress.announced = True
        often = 'at every start, as they cannot be kept' if CacheState.fault else \
            'once on this machine'
        self._say(f'compiling ({often}): {COMPILATION_TIME}')

    def on_end(self, event: Event) -> None:
        """Report the progress."""
        self.count += 1
        now = monotonic()
        if now - self._said > PROGRESS_PERIOD_S:
            self._said = now
            self._say(f'compiling: {self.count} functions after {now - self.began:.0f} s')


_active: list[_Progress] = []


@contextmanager
def compilation_told(say: Callable[[str], object] = logger.warning) -> Iterator[None]:
    """
    Report if functions are compiled in this context, the progress, and the total time.

    That they are compiled, and for how long, is said once per process.  Nested contexts do
    nothing: the outermost one reports.
    """
    if _active:
        yield
        return
    progress, thresholds = _Progress(say), gc.get_threshold()
    _active.append(progress)
    gc.set_threshold(COMPILER_GC_THRESHOLD, *thresholds[1:])
    try:
        with install_listener('numba:compile', progress):
            yield
    finally:
        gc.set_threshold(*thresholds)
        _active.clear()
        if progress.began:
            say(f'compiled {progress.count} functions in {monotonic() - progress.began:.0f} s')


# Of numba.njit, for inner functions.
INNER_OPTIONS: dict[str, Any] = {'no_cpython_wrapper': True, 'no_cfunc_wrapper': True}

try:
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import CompilerBase, DefaultPassBuilder
    from numba.core.compiler_machinery import AnalysisPass, register_pass
    from numba.core.typed_passes import IRLegalization
    if not {'_optimize_final_module', '_finalize_final_module'} <= set(dir(JITCodeLibrary)):
        raise ImportError('another numba')
except ImportError:
    pass
else:
    class _NoEnvironment:
        """In place of a code generator: without machine code an environment has no place."""

        def set_env(self, name: str, environment: Any) -> None:
            """Do nothing."""

    class _InnerLibrary(JITCodeLibrary):
        """A library of code that is optimised and translated as a part of others only."""

        @property
        def codegen(self) -> _NoEnvironment:
            """What sets the environment of the function."""
            return _NoEnvironment()

        def _optimize_final_module(self) -> None:
            pass

        def _finalize_final_module(self) -> None:
            self._finalized = True

    @register_pass(mutates_CFG=False, analysis_only=True)
    class _InInnerLibrary(AnalysisPass):
        """Has the function written to such a library."""

        _name = 'in_inner_library'

        def __init__(self) -> None:
            super().__init__()

        def run_pass(self, state: Any) -> bool:
            """Make the library, before the pass that would make another one."""
            state.library = _InnerLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
            return False

    class _InnerCompiler(CompilerBase):
        """The usual passes, into such a library."""

        def define_pipelines(self) -> list[Any]:
            """Return the passes."""
            passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
            passes.add_pass_after(_InInnerLibrary, IRLegalization)
            passes.finalize()
            return [passes]

    INNER_OPTIONS['pipeline_class'] = _InnerCompiler
