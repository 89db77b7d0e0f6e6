# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The page of a node that does not check collisions."""

from importlib.util import find_spec

from harness import ARM, free_port, process, run_system
import pytest

pytest.importorskip('playwright', reason='playwright is not installed')

from browser import browser, new_context, Window  # noqa: E402

from scripts.screenshot import CHROMIUM  # noqa: E402

pytestmark = pytest.mark.skipif(find_spec('viser') is None,
                                reason='viser is not installed (extra "viewer")')


@pytest.mark.skipif(CHROMIUM is None, reason='no Chromium is installed')
@pytest.mark.nightly
def test_a_node_without_the_check_says_so(tmp_path, probe):
    """Instead of controls that would do nothing."""
    port = free_port()
    with run_system(tmp_path, probe, {'collision.check': False}), \
            process('viewer', tmp_path, {'urdf_file': ARM, 'port': port}) as viewer, \
            browser() as chromium:
        probe.wait(lambda: 'open http://' in viewer.output, 60.0)
        window = Window(new_context(chromium).new_page(), port, probe)
        window.reads('Collisions are not checked: ')
        window.wait(lambda: not window.page.get_by_role('button', name='Add a box').count(),
                    'no button')
        assert not window.page.get_by_text('Show what is checked').count()


@pytest.mark.nightly
@pytest.mark.skipif(CHROMIUM is None, reason='no Chromium is installed')
def test_links_that_are_not_checked_are_told(tmp_path, probe):
    """At the top of the page, though it draws them, and beside each clearance."""
    port, urdf = free_port(), tmp_path / 'arm.urdf'
    mesh = '<collision><geometry><mesh filename="package://nowhere/hand.stl"/></geometry></collision>'
    urdf.write_text(ARM.read_text().replace('<link name="tool0"/>',
                                            f'<link name="tool0">{mesh}</link>'))
    assert mesh in urdf.read_text()
    with run_system(tmp_path, probe, {'urdf_file': urdf}), \
            process('viewer', tmp_path, {'urdf_file': urdf, 'port': port}) as viewer, \
            browser() as chromium:
        probe.wait(lambda: 'open http://' in viewer.output, 60.0)
        window = Window(new_context(chromium).new_page(), port, probe)
        window.reads("1 of 8 links is not checked: 'tool0', because the mesh")
        window.reads('(1 of 8 links is not checked)')
