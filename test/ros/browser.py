# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""A person at the page of the viewer: a real Chromium, its mouse and its eyes."""

from contextlib import contextmanager
import io
import re

import numpy as np
from PIL import Image
from playwright.sync_api import expect, Page, sync_playwright

from scripts.screenshot import ARGUMENTS, CHROMIUM, dismiss_warning, PROJECT

PATIENCE = 120.0  # s; pictures are computed without a graphics card
SIZE = {'width': 1120, 'height': 600}  # the panels take 600 pixels of the width
# Without a graphics card a picture takes the processor for a tenth of a second: the page runs
# its loop, but draws only while it is looked at.
FEW_PICTURES = """window.looked = false;
window.requestAnimationFrame = draw =>
    setTimeout(() => draw(performance.now()), window.looked ? 50 : 200);
window.cancelAnimationFrame = clearTimeout;
const context = WebGL2RenderingContext.prototype, bind = context.bindFramebuffer;
context.bindFramebuffer = function (target, buffer) {
    this.onScreen = !buffer;  // light and textures are made in other buffers
    bind.call(this, target, buffer);
};
for (const name of ['clear', 'drawArrays', 'drawElements', 'drawArraysInstanced',
                    'drawElementsInstanced']) {
    const draw = context[name];
    context[name] = function (...given) {
        if (window.looked || this.onScreen === false) draw.apply(this, given);
    };
}"""
LOOK = """() => new Promise(done => {
    let left = 4;
    window.looked = true;
    const draw = () => left-- > 0 ? requestAnimationFrame(draw) : done();
    draw();
})"""
LOOK_AWAY = '() => { window.looked = false; }'
STEADY_S = 0.5  # for which a button must not move before it is held
STEADY = """(button, seconds) => new Promise(done => {
    let place = null, since = 0;
    const look = () => {
        const {x, y} = button.getBoundingClientRect(), now = performance.now();
        if (place !== `${x} ${y}`) { place = `${x} ${y}`; since = now; }
        now - since > 1e3 * seconds ? done() : setTimeout(look, 50);
    };
    look();
})"""
POSE = """name => {
    const pose = window.__viserMutable?.nodePoseData[name];
    return pose ? [...pose.position, ...pose.wxyz] : null;
}"""


class Window:
    """One window with the page; what it complains of is kept."""

    def __init__(self, page: Page, port: int, probe) -> None:
        self.page, self.port = page, port
        self._probe = probe
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.add_init_script(FEW_PICTURES)
        page.set_default_timeout(1e3 * PATIENCE)
        page.on('console', lambda said: said.type == 'error' and self.complaints.append(said.text))
        page.on('pageerror', lambda error: self.complaints.append(str(error)))
        page.on('request', lambda request: self.requests.append(request.url))
        page.on('websocket', lambda opened: self.requests.append(opened.url))
        page.goto(f'http://127.0.0.1:{port}')
        page.get_by_role('button', name='Home').wait_for()
        dismiss_warning(page)

    def wait(self, condition, what: str) -> None:
        """Let both worlds go on, ours over DDS and the page's, until a condition holds."""
        def held() -> bool:
            self.page.wait_for_timeout(10)
            self._probe.spin_for(0.04)  # joint states come faster than one for each look
            return condition()

        self._probe.wait(held, PATIENCE, what)

    # ---- the panel ----------------------------------------------------------

    def press(self, label: str) -> None:
        """Press a button."""
        self.page.get_by_role('button', name=label, exact=True).click()

    def hold(self, label: str) -> None:
        """Press a button down, once the panel has opened: what it pushes aside is elsewhere."""
        button = self.page.get_by_role('button', name=label, exact=True)
        button.scroll_into_view_if_needed()
        button.evaluate(STEADY, STEADY_S)
        button.hover()
        self.page.mouse.down()

    def box(self, label: str):
        """Return a checkbox."""
        return self.row(label).get_by_role('checkbox')

    def check(self, label: str, wanted: bool = True) -> None:
        """Set or take away the check of a box, which waits for the node to say so."""
        if self.box(label).is_checked() != wanted:
            self.box(label).click()
            self.wait(lambda: self.box(label).is_checked() == wanted, f'the check at {label}')

    def choose(self, label: str, option: str) -> None:
        """Choose an option of a list."""
        self.row(label).locator('input:not([type=hidden])').click()
        self.page.get_by_role('option', name=option, exact=True).click()

    def number(self, label: str, which: int = 0):
        """Return the number beside a slider: the first, or another, of that label."""
        return self.row(label, which).get_by_role('textbox')

    def enter(self, label: str, value: float, which: int = 0) -> None:
        """Type the number beside a slider."""
        self.number(label, which).fill(str(value))
        self.number(label, which).press('Enter')

    def row(self, label: str, which: int = 0):
        """Return the row of a panel with a label: the first, or another, of that label."""
        labels = self.page.locator('label').filter(has_text=re.compile(f'^{re.escape(label)}$'))
        return labels.nth(which).locator('xpath=ancestor::*[contains(@class, "Flex-root")][1]')

    def reads(self, text: str) -> None:
        """Wait until the page says something."""
        expect(self.page.get_by_text(text).first).to_be_visible(timeout=1e3 * PATIENCE)

    # ---- the scene ----------------------------------------------------------

    def picture(self) -> np.ndarray:
        """Return the picture of the scene (height, width, 3), after a few more were drawn."""
        self.page.evaluate(LOOK)
        taken = self.page.locator('canvas').first.screenshot(scale='css')
        self.page.evaluate(LOOK_AWAY)
        return np.array(Image.open(io.BytesIO(taken)).convert('RGB')).astype(int)

    def pixel(self, name: str, point) -> tuple[float, float]:
        """Return where a point in the frame of a node of the scene is on the screen."""
        return self.page.evaluate(PROJECT, [name, list(point)])

    def pose(self, name: str):
        """Return position and wxyz of a node of the scene in its parent (7,), None if unknown."""
        pose = self.page.evaluate(POSE, name)
        return None if pose is None else np.array(pose)

    def visible(self, name: str) -> bool:
        """Return whether a node of the scene is there to be seen."""
        return self.page.evaluate(
            'name => !!window.__viserSceneTree?.getState()[name]?.effectiveVisibility', name)


def new_context(chromium, viewport=SIZE):
    """Return a fresh session of the browser, with pictures of few points for the same reason."""
    return chromium.new_context(viewport=viewport, device_scale_factor=0.5)


@contextmanager
def browser():
    """Run Chromium, without a screen."""
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield chromium
        chromium.close()
