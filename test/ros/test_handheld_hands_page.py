# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Both hands on one page, or a phone for each, lead the arms of ik_arms; in a real browser."""

from contextlib import closing, ExitStack
from urllib.parse import urlparse

from arms_rig import READY, running
from harness import FINAL, free_port, Probe, process, ROOT, se3
import numpy as np
import pytest
from two_arms import TREE

pytest.importorskip('playwright', reason='playwright is not installed')

from browser import browser  # noqa: E402
from playwright.sync_api import expect  # noqa: E402
from test_handheld_page import HEADSET, PATIENCE, TIMEOUT  # noqa: E402

from scripts.screenshot import CHROMIUM  # noqa: E402

pytestmark = [pytest.mark.real_time,
              pytest.mark.skipif(CHROMIUM is None, reason='no Chromium is installed')]
CONFIG = ROOT / 'config/two_hands.yaml'
SIMS = {'left_controller': ('torso', 'left_tool'), 'right_controller': ('torso', 'right_tool'),
        'torso_controller': ('base_link', 'torso')}
START = {name: {'initial_positions': [float(q) for joint, q in zip(TREE.joint_names, READY)
                                      if joint.startswith(name.partition('_')[0])]}
         for name in SIMS}
# So that two streams leave time for joint states on a busy machine.
EASY = {'stream.timeout': TIMEOUT, 'stream.rate': 50.0, 'state.timeout': 3.0}
MOVE = """([ways]) => new Promise(done => {
    let left = 30;
    const step = () => {
        for (const [hand, [x, y, z]] of Object.entries(ways)) {
            wrists[hand].x += x / 30; wrists[hand].y += y / 30; wrists[hand].z += z / 30;
        }
        if (--left > 0) setTimeout(step, 20); else done();
    };
    step();
})"""


class Hands:
    """The arms, and who looks at the page that leads them."""

    def __init__(self, page, probes):
        self.page, self.probes = page, probes

    def wait(self, condition, what):
        """Let both worlds go on, ours over DDS and the page's, until a condition holds."""
        def held() -> bool:
            self.page.wait_for_timeout(10)
            for probe in self.probes.values():
                probe.spin_for(0.02)
            return condition()

        self.probes['left'].wait(held, PATIENCE, what)

    def reads(self, side, words, part='.state', page=None):
        """Wait until the page says something of an arm."""
        expect((page or self.page).locator(f'.arm[data-arm={side}] {part}')).to_contain_text(
            words, timeout=1e3 * PATIENCE)

    def press(self, **buttons):
        """Press these buttons of the controllers, and no others, for a few frames."""
        for side, numbers in buttons.items():
            self.page.evaluate(f'wrists.{side}.pressed = {numbers}')
        self.page.wait_for_timeout(100)

    def tip(self, side):
        """Return where a tip is, (3,), in the base of the arm: the torso of both."""
        poses = self.probes[side].tip_poses
        known = len(poses)
        self.wait(lambda: len(poses) > known, 'a pose of the tip')
        return se3(poses[-1].pose).translation

    def moved(self, **ways):
        """Wait until tips are where they were and a way (3,) farther, begin and way of each."""
        for side, (begin, way) in ways.items():
            self.wait(lambda side=side, begin=begin, way=way: np.abs(
                self.tip(side) - begin - way).max() < 2e-3, f'{side} to move by {way}')

    def ended(self, known, **reasons):
        """Wait for the final answers after so many of each arm."""
        for side, reason in reasons.items():
            def ends(side=side):
                return [each['reason'] for each in self.probes[side].statuses[known[side]:]
                        if each['state'] in FINAL]

            self.wait(ends, f'the end of the stream of {side}')
            assert ends() == [reason], side

    @property
    def known(self):
        """Return how many answers there were of each arm."""
        return {side: len(probe.statuses) for side, probe in self.probes.items()}


@pytest.fixture
def hands(tmp_path):
    """Open the page of two arms that it has found; it must log no errors, nor ask elsewhere."""
    port, complaints, requests = free_port(), [], []
    with ExitStack() as ends:
        handheld = ends.enter_context(process('handheld', tmp_path, {
            'port': port, 'sample_timeout': TIMEOUT}))
        chromium = ends.enter_context(browser())
        page = ends.enter_context(closing(chromium.new_page(
            viewport={'width': 400, 'height': 800})))
        page.on('console', lambda said: said.type == 'error' and complaints.append(said.text))
        page.on('pageerror', lambda error: complaints.append(str(error)))
        for what in ('request', 'websocket'):
            page.on(what, lambda made: requests.append(made.url))
        page.add_init_script(HEADSET)
        probes = {side: Probe(f'{side}_probe', f'/ik_arms/{side}') for side in ('left', 'right')}
        for probe in probes.values():
            ends.callback(probe.destroy_node)
        probe.wait(lambda: 'open http' in handheld.output, PATIENCE)
        page.goto(f'http://127.0.0.1:{port}')
        expect(page.locator('#state')).to_contain_text('from ik_node; is it running?')
        ends.enter_context(running(tmp_path, sims=SIMS, config=CONFIG, **START))
        for side, probe in probes.items():
            probe.wait_for_node()
            probe.wait_until_ready()
            assert probe.set_parameters(f'/ik_arms/{side}', EASY).successful
        yield Hands(page, probes)
    assert not complaints
    assert {urlparse(url).hostname for url in requests if not url.startswith('data:')} == {
        '127.0.0.1'}


def test_both_hands_of_a_headset(hands):
    """Each leads its arm; one lets go, or is lost, and the other goes on; a stop stops both."""
    page = hands.page
    for side in ('left', 'right'):
        hands.reads(side, 'ready')
    page.evaluate('wrists.left.there = true')
    page.get_by_role('button', name='Use this device in space (VR)').click()
    left, right, known = hands.tip('left'), hands.tip('right'), hands.known
    hands.press(left=[0], right=[1])
    for side in ('left', 'right'):
        hands.reads(side, 'follows')
    page.evaluate(MOVE, [{'left': [-0.04, 0.0, 0.0], 'right': [0.0, 0.05, 0.0]}])
    hands.moved(left=(left, [0.0, 0.04, 0.0]), right=(right, [0.0, 0.0, 0.05]))
    hands.press(left=[])
    page.evaluate(MOVE, [{'left': [-0.2, 0.0, 0.0], 'right': [0.0, 0.0, -0.03]}])
    hands.ended(known, left='STREAM_ENDED')
    hands.moved(left=(left, [0.0, 0.04, 0.0]), right=(right, [0.03, 0.0, 0.05]))
    hands.reads('left', 'ready')
    hands.reads('left', 'at rest', '.answer')
    # The right one loses its position, which its own controller tells by a pulse.
    known, left = hands.known, hands.tip('left')
    hands.press(left=[0])
    hands.reads('left', 'follows')
    page.evaluate('wrists.right.lost = true')
    hands.reads('right', 'lost its position', '.words')
    hands.reads('right', 'stopped')
    assert page.evaluate('[wrists.left.pulses, wrists.right.pulses]') == [0, 1]
    page.evaluate(MOVE, [{'left': [0.05, 0.0, 0.0]}])
    hands.moved(left=(left, [0.0, -0.05, 0.0]), right=(right, [0.03, 0.0, 0.05]))
    hands.ended(known, right='STREAM_ENDED')
    page.evaluate('wrists.right.lost = false')
    hands.press(right=[])
    known = hands.known
    hands.press(right=[0])
    hands.reads('right', 'follows')
    hands.reads('left', 'follows')
    hands.press(right=[0, 5])
    hands.ended(known, left='STOPPED', right='STOPPED')


def test_a_phone_for_each_hand(hands):
    """Each has chosen its arm, and one stops both; a page that chooses another arm lets go."""
    page, known = hands.page, hands.known
    left, right = hands.tip('left'), hands.tip('right')
    with closing(page.context.browser.new_page(viewport={'width': 400, 'height': 800})) as other:
        other.goto(page.url)
        other.get_by_role('button', name='right').click()
        other.reload()  # it remembers
        hands.reads('right', 'ready', page=other)
        expect(other.get_by_role('button', name='right')).to_have_attribute('aria-pressed', 'true')
        middle = {}
        for each, side in ((page, 'left'), (other, 'right')):
            box = each.locator('#pad').bounding_box()  # it moves when answers come
            middle[each] = np.array([box['x'] + box['width'] / 2, box['y'] + box['height'] / 2])
            each.mouse.move(*middle[each])
            each.mouse.down()
            hands.reads(side, 'follows', page=each)
        hands.reads('right', 'moves the arm', '.words')
        hands.reads('right', 'blocked')
        for k in range(1, 11):
            page.mouse.move(*(middle[page] - [0, 8 * k]))
            other.mouse.move(*(middle[other] - [8 * k, 0]))
            page.wait_for_timeout(20)
        hands.moved(left=(left, [0.04, 0.0, 0.0]), right=(right, [0.0, 0.04, 0.0]))
        page.evaluate("pick('right')")
        hands.ended(known, left='STREAM_ENDED')
        hands.reads('right', 'follows', page=other)
        page.mouse.up()
        page.get_by_role('button', name='Stop all').click()
        hands.ended(known, right='STOPPED')
