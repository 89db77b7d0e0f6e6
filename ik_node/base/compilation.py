# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Cache of compiled functions, and progress messages while they are compiled.

numba caches machine code in NUMBA_CACHE_DIR, else beside the source file, else in ~/.cache/numba.
If none of these folders can be written, functions are compiled at each start.  numba looks only at
the file of a function, and not at those of the functions that it calls: here all kernels have one
stamp, so that a change of one compiles them all anew.

What makes a first start shorter, to code that is as fast (shares of its processor time,
2026-11-30): for the types of each ``a + b`` and ``a[i]``, numba tries a dozen templates one after
the other, and again for the same types on the next line; with the answers kept it takes 0.87 of
the time.  numba translates each function to machine code, and again as a part of each function
that calls it: without the former, for those that only compiled functions call, 0.77.  What is
large and has several callers is translated once, and called: 0.8.

And what makes a node smaller: with compiled functions, numba loads their bitcode (90 MB) and all
of its compiler (40 MB), and compiles a part of its allocator (17 MB).  Here they do without.

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
from typing import Any, ClassVar

from llvmlite.binding import add_symbol, Linkage, parse_assembly
from numba import njit, typeof
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.event import Event, install_listener, Listener

from ik_node.base.text import COMPILATION_TIME

try:
    from numba.core.runtime import _nrt_python as allocator
    if hasattr(allocator, 'memsys_set_atomic_inc_dec'):  # it has to be told more
        raise ImportError('an older numba')
except ImportError:
    allocator = None
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
KERNEL_FILE = re.compile(
    rb'^@(?:compiled|linked|inner|shared|small|allocating|inlined)$', re.MULTILINE)

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


@cache
def _show_allocator() -> None:
    """Let machine code find numba's allocator; as numba does before it compiles a part of it."""
    for name, address in allocator.c_helpers.items():
        add_symbol(name if name.startswith('_') else f'NRT_{name}', address)


class _LeanCache(CompileResultCacheImpl):
    """Keeps functions on the disk without what would load all of numba's compiler with them."""

    def reduce(self, result: Any) -> tuple:
        """Return what is kept: of the environments of functions inside it, not those of numba."""
        *kept, environments = super().reduce(result)
        return *kept, tuple(each for each in environments
                            if not each.globals['__name__'].startswith('numba.'))


class TolerantCache(FunctionCache):
    """A cache of compiled functions that ignores errors of the disk, and has one stamp for all."""

    _impl_class = _LeanCache

    def __init__(self, function: Callable) -> None:
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp(), kernel_stamp()
        self._cache_file = IndexDataCacheFile(self._cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function, or None if it cannot be read."""
        try:
            # numba loads all of its compiler first, which takes 40 MB and 0.3 s.  A function that
            # is not on the disk still does that.
            if allocator is None:
                target_context.refresh()
            else:
                _show_allocator()
            with self._guard_against_spurious_io_errors():
                found = self._load_overload(sig, target_context)
            if found is not None:
                found.library._reload_init.update(found.reload_init)  # for those that contain it
            return found
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


# Of numba.njit, for functions that only Python calls, and for those that only compiled functions
# call: that become a part of each caller, or have machine code of their own.
KERNEL_OPTIONS: dict[str, Any] = {'no_cfunc_wrapper': True}
INNER_OPTIONS: dict[str, Any] = {'no_cpython_wrapper': True, 'no_cfunc_wrapper': True}
SHARED_OPTIONS = INNER_OPTIONS.copy()

try:
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import CompilerBase, DefaultPassBuilder
    from numba.core.compiler_machinery import AnalysisPass, register_pass
    from numba.core.funcdesc import default_mangler
    from numba.core.registry import cpu_target
    from numba.core.typed_passes import IRLegalization
    if not {'_optimize_final_module', '_finalize_final_module', '_get_module_for_linking',
            '_set_compiled_object', '_get_compiled_object'} <= set(dir(JITCodeLibrary)):
        raise ImportError('another numba')
except ImportError:
    pass
else:
    class _NoEnvironment:
        """In place of a code generator: without machine code an environment has no place."""

        def set_env(self, name: str, environment: Any) -> None:
            """Do nothing."""

    class _KernelLibrary(JITCodeLibrary):
        """A library that no other contains, of which only machine code is kept on the disk."""

        def _get_module_for_linking(self) -> Any:
            raise TypeError(f'{self.name} is called from Python only; what compiled functions '
                            'call, too, is @linked')

        def serialize_using_object_code(self) -> tuple:
            """Return what is kept; in place of the bitcode, the names of what there is."""
            names = ''.join(f'define void @"{function.name}"() {{\n  unreachable\n}}\n'
                            for function in self.get_defined_functions())
            return self.name, 'object', (self._get_compiled_object(),
                                         parse_assembly(names).as_bitcode())

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

        def _get_module_for_linking(self) -> Any:
            self._ensure_finalized()
            for function in self._final_module.functions:  # it needs no copy, as numba makes one
                if not function.is_declaration and function.linkage is Linkage.external:
                    function.linkage = Linkage.linkonce_odr
            return self._final_module

    class SharedCode:
        """
        Machine code of a shared function, and of the shared functions that it calls.

        It is kept on the disk with each function that calls it.  As all of these have one stamp,
        code of one name is the same code: this process loads it once.
        """

        loaded: ClassVar[dict[str, SharedCode]] = {}

        def __init__(self, name: str, code: bytes, needed: tuple[SharedCode, ...]) -> None:
            self._name, self._code, self._needed = name, code, needed

        def __reduce__(self) -> tuple:
            return SharedCode, (self._name, self._code, self._needed)

        def __call__(self) -> None:
            """Load it; before the machine code of a function that calls it."""
            if self._name in SharedCode.loaded:
                return
            for needed in self._needed:
                needed()
            library = JITCodeLibrary(cpu_target.target_context.codegen(), self._name)
            library.enable_object_caching()
            library._set_compiled_object(self._code)
            library._finalize_final_module()
            self.keep(library)

        def keep(self, library: JITCodeLibrary) -> None:
            """Keep the library that has the code, as long as the process lives."""
            self._library = library
            SharedCode.loaded[self._name] = self

    class _SharedLibrary(_InnerLibrary):
        """A library of code that others call, and that is no part of them."""

        def _optimize_final_module(self) -> None:
            if self.name not in SharedCode.loaded:
                JITCodeLibrary._optimize_final_module(self)

        def _finalize_final_module(self) -> None:
            if self.name not in SharedCode.loaded:
                JITCodeLibrary._finalize_final_module(self)
                SharedCode(self.name, self._get_compiled_object(),
                           tuple(self._reload_init)).keep(self)
            self._finalized = True
            # What calls it does this when it is loaded from the disk.
            self._reload_init = {SharedCode.loaded[self.name]}

        def _get_module_for_linking(self) -> Any:
            self._ensure_finalized()
            return parse_assembly('')

    class _InLibrary(AnalysisPass):
        """Has the function written to a library, before the pass that would make another one."""

        kind: ClassVar[type[JITCodeLibrary]]

        def __init__(self) -> None:
            super().__init__()

        def run_pass(self, state: Any) -> bool:
            """Make the library."""
            name = state.func_id.func_qualname
            if self.kind is _SharedLibrary:  # each process has to find the same name
                if '<locals>' in name:
                    raise TypeError(f'{name} is not one of a module, so it cannot be shared')
                state.func_id.unique_id = 0
                name = default_mangler(f'{state.func_id.modname}.{name}', state.args)
            state.library = self.kind(state.targetctx.codegen(), name)
            state.library.enable_object_caching()
            return False

    @register_pass(mutates_CFG=False, analysis_only=True)
    class _InKernelLibrary(_InLibrary):
        _name, kind = 'in_kernel_library', _KernelLibrary

    @register_pass(mutates_CFG=False, analysis_only=True)
    class _InInnerLibrary(_InLibrary):
        _name, kind = 'in_inner_library', _InnerLibrary

    @register_pass(mutates_CFG=False, analysis_only=True)
    class _InSharedLibrary(_InLibrary):
        _name, kind = 'in_shared_library', _SharedLibrary

    class _KernelCompiler(CompilerBase):
        """The usual passes, into such a library."""

        first_pass: ClassVar[type[_InLibrary]] = _InKernelLibrary

        def define_pipelines(self) -> list[Any]:
            """Return the passes."""
            passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
            passes.add_pass_after(self.first_pass, IRLegalization)
            passes.finalize()
            return [passes]

    class _InnerCompiler(_KernelCompiler):
        first_pass = _InInnerLibrary

    class _SharedCompiler(_KernelCompiler):
        first_pass = _InSharedLibrary

    KERNEL_OPTIONS['pipeline_class'] = _KernelCompiler
    INNER_OPTIONS['pipeline_class'] = _InnerCompiler
    SHARED_OPTIONS['pipeline_class'] = _SharedCompiler
