# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
How hypothesis draws: the same every time; anew with ``--hypothesis-profile explore``.

How a test failed is told when it does: so does a run that is cut off.
"""

from hypothesis import settings

settings.register_profile('same', derandomize=True)
settings.register_profile('explore', derandomize=False, print_blob=True)
settings.load_profile('same')


class AtOnce:
    """Tells of tests that fail, or are run again: that may be a fault after all."""

    def __init__(self, reporter):
        self._reporter = reporter

    def pytest_runtest_logreport(self, report):
        """Tell it in full."""
        if report.outcome in ('failed', 'rerun'):
            self._reporter.section(f'{report.outcome}: {report.nodeid}')
            self._reporter.write_line(report.longreprtext)


def pytest_sessionstart(session):
    plugins = session.config.pluginmanager
    plugins.register(AtOnce(plugins.get_plugin('terminalreporter')))
