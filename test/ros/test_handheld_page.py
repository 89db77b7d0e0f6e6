# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The page for a phone or a headset in a real browser, whose headset is played by the test."""

from contextlib import closing
from urllib.parse import urlparse

from harness import FINAL, free_port, latest, lent, process, rests, tip
import numpy as np
import pytest

pytest.importorskip('playwright', reason='playwright is not installed')

from browser import browser  # noqa: E402
from playwright.sync_api import expect  # noqa: E402

from scripts.screenshot import CHROMIUM  # noqa: E402

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason='no Chromium is installed')
PATIENCE = 60.0  # s
TIMEOUT = 1.5    # s, of a hand and of a stream: on a busy machine frames may be late
# The part of WebXR that the page uses, with one controller, window.wrist, at 50 frames a second.
# The other one, of the left hand, is away until wrists.left.there.
HEADSET = """
const made = hand => ({hand, x: 0, y: 1.5, z: -0.4, pressed: [], lost: false, pulses: 0,
                       frames: 0, there: hand === 'right'});
window.wrists = {left: made('left'), right: made('right')};
window.wrist = wrists.right;
const still = {x: 0, y: 0, z: 0, w: 1};
const unit = new Float32Array([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);
const view = {projectionMatrix: unit, transform: {inverse: {matrix: unit}}};
const controllers = Object.values(wrists).map(wrist => ({
    handedness: wrist.hand, gripSpace: wrist, targetRayMode: 'tracked-pointer', gamepad: {
        get buttons() {
            return [0, 1, 2, 3, 4, 5].map(k => ({pressed: wrist.pressed.includes(k)}));
        },
        hapticActuators: [{pulse: () => { wrist.pulses += 1; }}]}}));
const frame = {
    getViewerPose: () => ({views: [view], emulatedPosition: false, transform: {
        position: {x: 0, y: 1.6, z: 0}, orientation: wrist.look || still}}),
    getPose: wrist => ({emulatedPosition: wrist.lost, transform: {
        position: {x: wrist.x, y: wrist.y, z: wrist.z}, orientation: still}})};
class Session extends EventTarget {
    visibilityState = 'visible'; renderState = {};
    get inputSources() { return controllers.filter(each => each.gripSpace.there); }
    updateRenderState(given) { Object.assign(this.renderState, given); }
    async requestReferenceSpace() { return new EventTarget(); }
    requestAnimationFrame(draw) {
        setTimeout(() => { draw(performance.now(), frame); wrist.frames += 1; }, 20);
    }
    async end() { this.dispatchEvent(new Event('end')); }
}
window.XRWebGLLayer = class {
    framebuffer = null;
    getViewport() { return {x: 0, y: 0, width: 64, height: 64}; }
};
WebGLRenderingContext.prototype.makeXRCompatible = async () => {};
Object.defineProperty(navigator, 'xr', {value: {
    isSessionSupported: async mode => mode === 'immersive-vr',
    requestSession: async () => new Session()}});
"""
MOVE = """([x, y, z]) => new Promise(done => {
    const steps = 30;
    let left = steps;
    const step = () => {
        wrist.x += x / steps; wrist.y += y / steps; wrist.z += z / steps;
        if (--left > 0) setTimeout(step, 20); else done();
    };
    step();
})"""

PRESS = """numbers => new Promise(done => {
    wrist.pressed = numbers;
    const last = wrist.frames + 2;
    const look = () => session && wrist.frames < last ? setTimeout(look, 5) : done();
    look();
})"""
HIDE = """() => {
    Object.defineProperty(document, 'hidden', {value: true});
    document.dispatchEvent(new Event('visibilitychange'));
}"""


class Visitor:
    """Who looks at the page, and wears the headset."""

    def __init__(self, page, probe):
        self.page, self.probe = page, probe

    def wait(self, condition, what):
        """Let both worlds go on, ours over DDS and the page's, until a condition holds."""
        def held() -> bool:
            self.page.wait_for_timeout(10)
            self.probe.spin_for(0.04)
            return condition()

        self.probe.wait(held, PATIENCE, what)

    def reads(self, part, words):
        """Wait until a part of the page says something."""
        expect(self.page.locator(part)).to_contain_text(words, timeout=1e3 * PATIENCE)

    def buttons(self, *numbers):
        """Press these buttons of the controller, and no others, until the page has seen it."""
        self.page.evaluate(PRESS, [*numbers])

    def moved(self, begin, shift):
        """Wait until the tip is where it was, and a way (3,) farther, m."""
        self.wait(lambda: np.linalg.norm(
            tip(latest(self.probe)).translation - begin.translation - shift) < 1e-3,
            f'the tip to move by {shift}')

    def rest(self, known, reason):
        """Wait for the final answer after `known` answers, and for rest."""
        def ends():
            return [answer for answer in self.probe.statuses[known:] if answer['state'] in FINAL]

        self.wait(ends, 'the end of the stream')
        assert ends()[0]['reason'] == reason
        self.wait(lambda: rests(self.probe), 'rest')


@pytest.fixture
def visitor(shared_system, tmp_path):
    """Open the page for the shared arm; it must log no errors, and ask for nothing elsewhere."""
    port, complaints, requests = free_port(), [], []
    with lent(shared_system), browser() as chromium, process(
            'handheld', tmp_path, {'port': port, 'sample_timeout': TIMEOUT}) as running, \
            closing(chromium.new_page(viewport={'width': 400, 'height': 800})) as page:
        shared_system.change('/ik_node', stream__timeout=TIMEOUT)
        shared_system.wait(lambda: 'open http' in running.output, PATIENCE)
        page.on('console', lambda said: said.type == 'error' and complaints.append(said.text))
        page.on('pageerror', lambda error: complaints.append(str(error)))
        for what in ('request', 'websocket'):
            page.on(what, lambda made: requests.append(made.url))
        page.add_init_script(HEADSET)
        page.goto(f'http://127.0.0.1:{port}')
        yield Visitor(page, shared_system)
    assert not complaints
    assert {urlparse(url).hostname for url in requests if not url.startswith('data:')} == {
        '127.0.0.1'}


def test_pads_and_headset(visitor):
    """A drag on the pad, then a headset: its way times the scale, its losses, stop, its end."""
    page, probe = visitor.page, visitor.probe
    visitor.reads('#state', 'ready')
    begin, known = tip(latest(probe)), len(probe.statuses)
    pad = page.locator('#pad').bounding_box()
    middle = pad['x'] + pad['width'] / 2, pad['y'] + pad['height'] / 2
    page.mouse.move(*middle)
    page.mouse.down()
    visitor.reads('#state', 'the arm follows')
    for k in range(1, 11):
        page.mouse.move(middle[0] + 4 * k, middle[1] - 8 * k)
        page.wait_for_timeout(20)
    visitor.moved(begin, [0.04, -0.02, 0.0])
    page.mouse.up()
    visitor.rest(known, 'STREAM_ENDED')
    visitor.reads('#state', 'ready')
    visitor.reads('#answer', 'at rest')
    # A page that is hidden lets go, and needs a fresh press.
    known = len(probe.statuses)
    page.mouse.down()
    visitor.reads('#state', 'the arm follows')
    page.evaluate(HIDE)
    visitor.reads('#state', 'ready')
    page.mouse.move(*middle)
    visitor.rest(known, 'STREAM_ENDED')
    page.mouse.up()
    # What is held when the session begins does not count.
    page.locator('#scale').fill('0.5')
    visitor.buttons(1)
    page.get_by_role('button', name='Use this device in space (VR)').click()
    visitor.reads('#pad', 'move the device')
    begin = tip(latest(probe))
    page.evaluate(MOVE, [0.1, 0.0, 0.0])
    visitor.reads('#state', 'ready')
    visitor.buttons()
    page.wait_for_timeout(100)
    assert np.linalg.norm(tip(latest(probe)).translation - begin.translation) < 1e-4
    known = len(probe.statuses)
    visitor.buttons(1)
    visitor.reads('#state', 'the arm follows')
    page.evaluate(MOVE, [-0.1, 0.0, 0.0])
    visitor.moved(begin, [0.0, 0.05, 0.0])
    # It loses its position, which the controller tells by a pulse; a fresh press goes on.
    page.evaluate('wrist.lost = true')
    visitor.reads('#notice', 'lost its position')
    assert page.evaluate('wrist.pulses') == 1
    page.evaluate('wrist.lost = false')
    visitor.rest(known, 'STREAM_ENDED')
    # Forward is where the user looks now, a quarter to the left: so left is forward.
    visitor.buttons()
    page.evaluate('wrist.look = {x: 0, y: Math.SQRT1_2, z: 0, w: Math.SQRT1_2}')
    page.get_by_role('button', name='Forward is where I look now').click()
    page.wait_for_timeout(100)
    page.evaluate('socket.close()')  # a new connection knows it, too
    visitor.reads('#state', 'not connected')
    visitor.reads('#state', 'ready')
    page.wait_for_timeout(100)
    begin, known = tip(latest(probe)), len(probe.statuses)
    visitor.buttons(0)
    visitor.reads('#state', 'the arm follows')
    page.evaluate(MOVE, [-0.1, 0.0, 0.0])
    visitor.moved(begin, [0.05, 0.0, 0.0])
    visitor.buttons(0, 5)
    visitor.rest(known, 'STOPPED')
    page.get_by_role('button', name='Leave').click()
    visitor.reads('#pad', 'hold and drag')
