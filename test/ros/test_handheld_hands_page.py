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
from test_handheld_arms import PlayedArm, served  # noqa: E402
from test_handheld_page import HEADSET, PATIENCE  # noqa: E402

from scripts.screenshot import CHROMIUM  # noqa: E402

pytestmark = [pytest.mark.real_time,
              pytest.mark.skipif(CHROMIUM is None, reason='no Chromium is installed')]
SAID = """
window.said = [];
new MutationObserver(() => said.push(document.getElementById('state')?.textContent)).observe(
  document, {subtree: true, childList: true, characterData: true});
"""
CONFIG = ROOT / 'config/two_hands.yaml'
SIMS = {'left_controller': ('torso', 'left_tool'), 'right_controller': ('torso', 'right_tool'),
        'torso_controller': ('base_link', 'torso')}
START = {name: {'initial_positions': [float(q) for joint, q in zip(TREE.joint_names, READY)
                                      if joint.startswith(name.partition('_')[0])]}
         for name in SIMS}
TIMEOUT = 1.5  # s, of a hand and of a stream: on a busy machine frames may be late
# So that two streams leave time for joint states on a busy machine.
EASY = {'stream.timeout': TIMEOUT, 'stream.rate': 50.0, 'state.timeout': 10.0,
        'watch.start_timeout': 10.0}
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

    def reads(self, side, words, part='.state'):
        """Wait until the page says something of an arm."""
        expect(self.page.locator(f'.arm[data-arm={side}] {part}')).to_contain_text(
            words, timeout=1e3 * PATIENCE)

    def press(self, **buttons):
        """Press these buttons of the controllers, and no others, for a few frames."""
        for side, numbers in buttons.items():
            self.page.evaluate(f'wrists.{side}.pressed = {numbers}')
        self.page.wait_for_timeout(100)

    def says(self, page, side, words):
        """Return whether a page says something of an arm."""
        card = page.locator(f'.arm[data-arm={side}]')
        return bool(card.count()) and words in card.inner_text()

    def grasp(self, side, button=0):
        """Press a controller until its arm follows: on a busy machine a pose may be too old."""
        def follows():
            self.press(**{side: []})
            self.press(**{side: [button]})
            self.probes[side].spin_for(0.5)
            return self.says(self.page, side, 'follows')

        self.wait(follows, f'{side} to follow')

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
        page.add_init_script(SAID)
        probes = {side: Probe(f'{side}_probe', f'/ik_arms/{side}') for side in ('left', 'right')}
        for probe in probes.values():
            ends.callback(probe.destroy_node)
        probe.wait(lambda: 'open http' in handheld.output, PATIENCE)
        page.goto(f'http://127.0.0.1:{port}')
        expect(page.locator('#state')).to_contain_text('from ik_node; is it running?')
        assert 'ready' not in page.evaluate('said')
        ends.enter_context(running(tmp_path, sims=SIMS, config=CONFIG, **START))
        for side, probe in probes.items():
            probe.wait_for_node()
            probe.wait_until_ready()
            assert probe.set_parameters(f'/ik_arms/{side}', EASY).successful
        probe.wait(lambda: "leads 'left', 'right' of ik_arms" in handheld.output, PATIENCE)
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
    hands.grasp('left')
    hands.grasp('right', 1)
    hands.reads('left', 'follows')
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
    hands.grasp('left')
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
    hands.grasp('right')
    hands.reads('left', 'follows')
    hands.press(right=[0, 5])
    hands.ended(known, left='STOPPED', right='STOPPED')


def test_a_phone_for_each_hand(probe, tmp_path):
    """Each has chosen its arm, and one stops both; a page that chooses another arm lets go."""
    left, right = (PlayedArm(probe, f'/odd/{side}') for side in ('left', 'right'))
    with browser() as chromium, served(tmp_path, probe, ik_node='/odd') as (_, place), \
            closing(chromium.new_page(viewport={'width': 400, 'height': 800})) as page, \
            closing(chromium.new_page(viewport={'width': 400, 'height': 800})) as other:
        hands = Hands(page, {'left': probe, 'right': probe})
        for each in (page, other):
            each.goto(place.replace('ws:', 'http:').replace('/socket', ''))
        hands.wait(lambda: hands.says(other, 'right', 'ready'), 'the arms')
        other.get_by_role('button', name='right').click()
        other.reload()  # it remembers
        hands.wait(lambda: hands.says(other, 'right', 'ready'), 'the arms')
        expect(other.get_by_role('button', name='right')).to_have_attribute('aria-pressed', 'true')
        middle = {}

        def pressed(each, side):
            each.mouse.up()
            box = each.locator('#pad').bounding_box()  # it moves when answers come
            middle[each] = np.array([box['x'] + box['width'] / 2, box['y'] + box['height'] / 2])
            each.mouse.move(*middle[each])
            each.mouse.down()
            probe.spin_for(0.3)
            return hands.says(each, side, 'follows')

        for each, side in ((page, 'left'), (other, 'right')):
            hands.wait(lambda each=each, side=side: pressed(each, side), f'{side} to follow')
        hands.wait(lambda: hands.says(page, 'right', 'moves the arm')
                   and hands.says(page, 'right', 'blocked'), 'that the right arm is led')
        page.mouse.move(*(middle[page] - [0, 80]))
        other.mouse.move(*(middle[other] + [80, 0]))
        hands.wait(lambda: left.goes_to([0.04, 0.0, 0.0]) and right.goes_to([0.0, -0.04, 0.0]),
                   'both arms')
        page.evaluate("pick('right')")
        hands.wait(lambda: left.first is None, 'the end of the left stream')
        assert right.first is not None and hands.says(other, 'right', 'follows')
        page.mouse.up()
        page.get_by_role('button', name='Stop all').click()
        hands.wait(lambda: left.stops and right.stops and right.first is None, 'the stops')
        other.mouse.up()
    for arm in (left, right):
        arm.destroy()
