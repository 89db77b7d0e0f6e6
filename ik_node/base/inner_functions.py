# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Compiles functions that only compiled functions call, without machine code of their own.

numba optimises each function and translates it to machine code, and again as a part of each
function that calls it.  Of an inner function only the latter is used.  Without the former, all
kernels of a node compile in four fifths of the time, and run as fast.

If numba's internals are not those that are used here, inner functions are compiled as others.
"""

from __future__ import annotations

from typing import Any

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
