# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Make docs/images/viewer.png or handheld.png: a page in Chromium, with a simulated arm.

Run in the source folder: ``.venv/bin/python scripts/screenshot.py [--page NAME] [--output FILE]``.
Needs ``pip install playwright`` and Debian's chromium.
"""

from __future__ import annotations

import argparse
from pathlib import Path
import shutil
import sys
import tempfile

import numpy as np
from playwright.sync_api import Page, sync_playwright
import rclpy

from ik_node.base.system import share_file
from ik_node.ros.middleware.handshake import wait_for
from ik_node.ros.middleware.process import leave
from ik_node.tools.demo.command import running, send, START_TIMEOUT_S
from ik_node.tools.demo.demo_goals import Witness

SIZE = {'width': 1280, 'height': 800}
PATIENCE = 120.0  # s; without a graphics card a picture takes seconds
GOALS = (
    ['--xyz', '0.45', '-0.2', '0.55', '--rpy', '0', '1.57', '0'],
    ['--xyz', '0.9', '0.9', '0.9', '--rpy', '0', '0', '0'],
    ['--line', '--xyz', '0.45', '0.1', '0.5', '--rpy', '0', '1.57', '0'],
)
DRAGS = ((0.0, 0.13, 0.0), 150.0), ((0.13, 0.0, 0.0), -110.0)  # grips in the handle, pixels
HANDLE = '/base/handle'
CHROMIUM = shutil.which('chromium') or shutil.which('chromium-browser')
# Without a graphics card: put together by plain code, the page is half the work.
ARGUMENTS = ['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader',
             '--disable-gpu-compositing', '--disable-background-networking',
             '--disable-component-update', '--disable-dev-shm-usage']
# Where a point in the frame of a node of the scene is on the screen.
PROJECT = """([name, point]) => {
    const view = window.__viserMutable, node = view.nodeRefFromName[name];
    node.updateWorldMatrix(true, false);
    const p = node.position.clone().set(...point).applyMatrix4(node.matrixWorld)
        .project(view.camera);
    const box = view.canvas.getBoundingClientRect();
    return [box.x + (p.x + 1) / 2 * box.width, box.y + (1 - p.y) / 2 * box.height];
}"""


def dismiss_warning(page: Page) -> None:
    """Close viser's warning that there is no graphics card, which is in the way."""
    page.get_by_role('alert').filter(has_text='Software WebGL').get_by_role('button').click()


def drag(page: Page, start: np.ndarray, by: np.ndarray) -> None:
    """Press the mouse at a pixel (2,), move it by some pixels (2,), and release it."""
    page.mouse.move(*start)
    page.mouse.down()
    for share in np.linspace(0.0, 1.0, 6)[1:]:
        page.mouse.move(*(start + share * by))
    page.mouse.up()


def photograph(page: Page, output: Path) -> None:
    """Drag the handle, plan, and save the picture once the path is drawn."""
    page.wait_for_function(
        f"() => window.__viserSceneTree?.getState()['{HANDLE}']?.effectiveVisibility")
    dismiss_warning(page)
    for point, pixels in DRAGS:
        origin, start = (np.array(page.evaluate(PROJECT, [HANDLE, grip]))
                         for grip in ((0.0, 0.0, 0.0), point))
        drag(page, start, pixels * (start - origin) / np.linalg.norm(start - origin))
    page.get_by_role('button', name='Plan', exact=True).click()
    page.wait_for_function(
        "() => window.__viserSceneTree.getState()['/base/markers/path_0']", timeout=1e3 * PATIENCE)
    page.mouse.move(640, 780)
    page.wait_for_timeout(3000)  # the page animates what it shows
    page.screenshot(path=output)


def photograph_viewer(page: Page, witness: Witness, output: Path) -> None:
    """Send goals, then take the picture."""
    page.get_by_role('button', name='Plan', exact=True).wait_for()
    for command in GOALS:
        send(command, witness)
    photograph(page, output)


def photograph_handheld(page: Page, _witness: Witness, output: Path) -> None:
    """Take the picture during a drag, after an earlier one whose answer is shown."""
    pad = page.locator('#pad').bounding_box()
    middle = np.array([pad['x'] + pad['width'] / 2, pad['y'] + pad['height'] / 2])
    drag(page, middle, np.array([0.0, -20.0]))
    page.get_by_text('at rest').wait_for()
    page.mouse.move(*middle)
    page.mouse.down()
    page.get_by_text('the arm follows').wait_for()
    page.screenshot(path=output)


PICTURES = {'viewer': (photograph_viewer, SIZE),
            'handheld': (photograph_handheld, {'width': 400, 'height': 700})}


def main(argv: list[str] | None = None) -> None:
    """Make the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--page', choices=PICTURES, default='viewer')
    parser.add_argument('--output', type=Path, help='default: docs/images/<page>.png')
    options = parser.parse_args(argv)
    take_picture, size = PICTURES[options.page]
    output = options.output or Path(f'docs/images/{options.page}.png')
    arguments = ['--ros-args', '-p', f'urdf_file:={share_file("urdf/six_axis_arm.urdf")}']
    logs = Path(tempfile.mkdtemp(prefix='ik_node_screenshot_'))
    rclpy.init()
    witness = Witness()
    with running('sim_controller', arguments, logs), running('ik_node', arguments, logs), \
            running(options.page, arguments, logs):
        log = logs / f'{options.page}.log'
        if not wait_for(witness, lambda: witness.ready() and 'open http' in log.read_text(),
                        START_TIMEOUT_S):
            sys.exit(f'the processes did not start; see {logs}')
        with sync_playwright() as driver:
            chromium = driver.chromium.launch(executable_path=CHROMIUM,
                                              args=ARGUMENTS)
            page = chromium.new_page(viewport=size)
            page.set_default_timeout(1e3 * PATIENCE)
            page.goto(log.read_text().partition('open ')[2].split()[0])
            take_picture(page, witness, output)
            chromium.close()
    print(output)
    leave(witness, 0)


if __name__ == '__main__':
    main()
