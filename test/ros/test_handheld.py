# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The page for a phone or a headset: programs that talk to it as one, and a real Chromium."""

import asyncio
from contextlib import contextmanager
from functools import partial
import hashlib
import json
import re
import shutil
import socket
import ssl
from time import monotonic
import urllib.error
import urllib.request

from harness import FINAL, free_port, latest, lent, Process, process, READY, rests, tip
import numpy as np
import pinocchio as pin
import pytest
from websockets.asyncio.client import connect as connect_async
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

TIMEOUT = 1.5  # s, of a hand and of a stream: on a busy machine frames may be late
FRAME_S = 1.0 / 72.0
LEFT = np.array([-1.0, 0.0, 0.0])  # of the user, in the axes of WebXR


class Headset:
    """A program that talks to the node as the page in a headset does, of one arm."""

    def __init__(self, probe, place, arm=None):
        self.socket = connect(place, open_timeout=20.0)
        self.probe = probe
        self.arm = arm  # its name, if there are several
        self.position, self.R = np.array([0.0, 1.5, -0.4]), np.eye(3)
        self.state = {}
        probe.wait(lambda: self.look(), what='what the page shows')

    def sample(self, held, **changes):
        """Send where the hand is."""
        self.say(type='sample', time=monotonic(), position=self.position.tolist(),
                 orientation=pin.Quaternion(self.R).coeffs().tolist(),
                 **{'held': held, 'tracked': True, **({'arm': self.arm} if self.arm else {}),
                    **changes})

    def say(self, **message):
        """Send a message."""
        self.socket.send(json.dumps(message))

    def look(self):
        """Receive what the page would show of the arm by now."""
        try:
            while True:
                arms = json.loads(self.socket.recv(timeout=0.0))['arms']
                self.state = arms.get(self.arm or next(iter(arms), ''), {})
        except TimeoutError:
            return self.state

    def frames(self, count, held=True, shift=(0.0, 0.0, 0.0), R=None):
        """Send some frames, during which the hand moves and turns."""
        for _ in range(count):
            end = monotonic() + FRAME_S
            self.position = self.position + np.array(shift) / count
            if R is not None:
                self.R = pin.exp3(pin.log3(R) / count) @ self.R
            self.sample(held)
            while monotonic() < end:
                self.probe.spin_once(max(0.0, end - monotonic()))

    def wait(self, condition, what, held=None):
        """Wait until what is shown meets a condition; meanwhile frames go on, if held or not."""
        def met():
            if held is not None:
                self.frames(1, held)
            return condition(self.look())

        try:
            self.probe.wait(met, what=what)
        except AssertionError as error:
            raise AssertionError(f'{error}; shown was {self.state}') from None

    def press(self):
        """Take the clutch."""
        self.frames(1, False)
        self.frames(1, True)
        self.wait(lambda state: state.get('holding'), 'the clutch', held=True)


@pytest.fixture(scope='module')
def place(shared_system, tmp_path_factory):
    """Serve the page for the shared arm; return the address of its websocket."""
    port = free_port()
    with process('handheld', tmp_path_factory.mktemp('handheld'), {
            'port': port, 'sample_timeout': TIMEOUT}) as running:
        shared_system.wait(lambda: f'open http://127.0.0.1:{port}' in running.output, 60.0)
        yield f'ws://127.0.0.1:{port}/socket'


@pytest.fixture
def arm(shared_system, place):
    """Lend the arm at READY."""
    with lent(shared_system):
        shared_system.change('/ik_node', stream__timeout=TIMEOUT)
        shared_system.spin_for(TIMEOUT + 0.2)  # a stream that was ended otherwise has to pause
        yield shared_system


@pytest.fixture
def headset(arm, place):
    """Open the page."""
    opened = Headset(arm, place)
    yield opened
    opened.socket.close()


def ended_by(probe, known=0):
    """Wait for the final answer that comes after `known` answers; return it."""
    def ends():
        return [answer for answer in probe.statuses[known:] if answer['state'] in FINAL]

    probe.wait(ends, what='the end of the stream')
    return ends()[0]


def final(probe, known=0):
    """As :func:`ended_by`; then the arm is at rest."""
    answer = ended_by(probe, known)
    assert rests(probe)
    return answer


def off(T, position, rotation):
    """Return how far a pose is from another one, m or rad."""
    return max(np.linalg.norm(T.translation - position),
               np.linalg.norm(pin.log3(T.rotation.T @ rotation)))


def rests_at(arm, goal):
    """Return whether the arm rests there: it may come by before, when frames were late."""
    return off(tip(latest(arm)), *goal) < 1e-3 and np.abs(arm.states[-1][1].velocity).max() < 0.01


def test_the_tip_follows_the_hand(arm, headset):
    """By the way of the hand times the scale, and as it turns; and rests when it lets go."""
    headset.say(type='settings', scale=0.5, turns=True)
    begin = tip(latest(arm))
    headset.press()
    assert np.abs(tip(latest(arm)).translation - begin.translation).max() < 1e-3
    turn = pin.exp3(0.3 * LEFT)
    headset.frames(40, True, 0.1 * LEFT, turn)
    R = pin.exp3(np.array([0.0, 0.3, 0.0]))
    goal = begin.translation + [0.0, 0.05, 0.0], R @ begin.rotation
    headset.wait(lambda _: rests_at(arm, goal), 'the tip', held=True)
    # What is chosen meanwhile moves nothing.
    headset.say(type='settings', scale=2.0, turns=False)
    headset.frames(5)
    assert off(tip(latest(arm)), *goal) < 0.01
    headset.frames(1, False)
    answer = final(arm)
    assert (answer['kind'], answer['reason']) == ('stream', 'STREAM_ENDED'), answer
    headset.wait(lambda state: not state['holding'] and 'at rest' in state['answer'], 'the answer')
    assert headset.state['colour'] == 'green' and not headset.state['notice']
    assert off(tip(latest(arm)), *goal) < 0.01
    # The hand goes back without the arm; then its next grasp has the new settings.
    headset.frames(20, False, -0.2 * LEFT)
    here = tip(latest(arm))
    headset.press()
    headset.frames(20, True, 0.03 * LEFT, turn.T)
    goal = here.translation + [0.0, 0.06, 0.0], here.rotation
    headset.wait(lambda _: rests_at(arm, goal), 'the tip', held=True)


@pytest.mark.fault('clients', 'the connection of a phone is cut off in mid-motion',
                   'the arm comes to rest')
def test_a_connection_that_is_cut_off(arm, headset):
    """Without a word: the other end of the connection is closed, not the websocket."""
    headset.press()
    headset.frames(20, True, 0.06 * LEFT)
    assert not rests(arm)
    headset.socket.socket.shutdown(socket.SHUT_RDWR)
    assert final(arm)['reason'] == 'STREAM_ENDED'


@pytest.mark.fault('clients', 'a phone says nothing more, loses its position, or its hand jumps',
                   'the clutch is released, the arm comes to rest, and the page says why')
@pytest.mark.nightly
def test_events_that_release_the_clutch(arm, headset):
    """Each time only a fresh press takes it again."""
    def silence():
        arm.spin_for(TIMEOUT + 0.1)

    for what, words in ((silence, 'nothing came'),
                        (partial(headset.sample, True, tracked=False), 'lost its position'),
                        (partial(headset.frames, 1, True, 0.3 * LEFT), 'jumped by 0.30 m')):
        known = len(arm.statuses)
        headset.press()
        headset.frames(10, True, -0.03 * LEFT)
        what()
        headset.wait(lambda state, words=words: words in state['notice'], words)
        headset.frames(10, True, -0.03 * LEFT)
        assert not headset.look()['holding']
        assert final(arm, known)['reason'] == 'STREAM_ENDED'


def test_stop_and_other_goals(arm, headset):
    """Both release the clutch; a press that comes too early for the ik_node is refused."""
    for ended, reason in ((lambda: headset.say(type='stop'), 'STOPPED'),
                          (lambda: arm.send_joints(READY), 'SUPERSEDED')):
        known = len(arm.statuses)
        headset.press()
        headset.frames(10, True, 0.03 * LEFT)
        ended()
        headset.wait(lambda state: not state['holding'] and state['notice'], 'a release',
                     held=True)
        answer = ended_by(arm, known)
        assert (answer['kind'], answer['reason']) == ('stream', reason)
        headset.frames(1, False)
        assert not headset.look()['holding']
        arm.spin_for(TIMEOUT + 0.2)  # the ik_node takes a new stream after a pause only
    headset.press()
    headset.say(type='stop')
    headset.frames(1, False)
    headset.frames(1, True)
    headset.wait(lambda state: 'still being ended' in state['notice'], 'a refusal', held=True)
    # One that the ik_node ignores, here because its streams may pause for longer.
    arm.change('/ik_node', stream__timeout=6.0)
    arm.spin_for(TIMEOUT + 0.2)
    headset.press()
    headset.wait(lambda state: 'does not follow' in state['notice'], 'a release', held=True)


def test_several_pages(arm, headset, place):
    """One holds the clutch; others are told, and can stop; a flood and nonsense are refused."""
    other = Headset(arm, place)
    headset.press()
    moves = re.compile(r'page \d+ \(127.0.0.1\) moves the arm')
    other.wait(lambda state: moves.match(state['refusal']), 'the other')
    other.frames(1, False)
    other.frames(1, True)
    other.wait(lambda state: 'moves the arm' in state['notice'], 'a refusal')
    headset.frames(1)
    for message, words in (('{', 'no JSON'), ('{"type": "home"}', 'unknown'),
                           ('{"type": "heading", "orientation": [NaN, 0, 0, 1]}', 'finite')):
        other.socket.send(message)
        other.wait(lambda state, words=words: words in state['notice'], words)
        headset.frames(1)
    headset.wait(lambda state: state['holding'], 'the clutch', held=True)
    with pytest.raises(ConnectionClosed) as closed:
        for _ in range(1000):
            other.sample(False)
        while True:
            other.socket.recv(timeout=10.0)
    assert closed.value.rcvd.code == 1008 and 'too many messages' in closed.value.rcvd.reason
    headset.frames(1, False)
    with pytest.raises(ConnectionClosed) as closed:
        headset.socket.send('x' * 5000)
        while True:
            headset.socket.recv(timeout=10.0)
    assert closed.value.rcvd.code == 1009
    extra = []
    while len(extra) < 8:
        try:
            extra.append(Headset(arm, place))
        except ConnectionClosed:  # those before are still being closed
            arm.spin_for(0.1)
    with pytest.raises(ConnectionClosed) as closed:
        Headset(arm, place)
    assert '8 pages are open' in closed.value.rcvd.reason
    for each in extra:
        each.socket.close()


def test_only_its_own_page_may_talk_to_it(place):
    """Other sites are refused by Origin, and by Host if their name resolves to this machine."""
    port = place.split(':')[2].partition('/')[0]
    own = f'http://127.0.0.1:{port}'
    with connect(place, origin=own):
        pass
    for origin in ('https://example.org', f'https://127.0.0.1:{port}', 'null',
                   f'http://127.0.0.1.example.org:{port}'):
        with pytest.raises(InvalidStatus, match='403'):
            connect(place, origin=origin)
    page = urllib.request.urlopen(own, timeout=10.0)
    assert b'page.js' in page.read() and "default-src 'none'" in page.headers[
        'Content-Security-Policy']
    for path, host, code in (('/', f'example.org:{port}', 403), ('/none', '', 404),
                             ('/../../etc/passwd', '', 404), ('/%2e%2e/page.js', '', 404)):
        headers = {'Host': host} if host else {}
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(urllib.request.Request(own + path, headers=headers),
                                   timeout=10.0)
        assert refused.value.code == code


# ---- the start --------------------------------------------------------------

@contextmanager
def opened(folder, probe, parameters):
    """Run the node on all addresses; yield it, and the address that it has printed."""
    with process('handheld', folder, {'host': '0.0.0.0', **parameters}) as running:
        probe.wait(lambda: re.search(r'^open \S+$', running.output, re.M), 60.0)
        yield running, re.search(r'^open (\S+)$', running.output, re.M)[1]


def wrong_queries(token):
    """Return what an address may have instead of its token."""
    return ('', '?token=', f'?token={token[:-1]}', f'?token={token}x', '?token=%C3%A9',
            f'?other={token}')


async def talk_over_tls(place, context, token, wrong):
    """
    Press once, and be told why that is refused; return the certificate.

    By the client of websockets without threads: one thread may not read from a TLS connection
    while another writes to it.
    """
    async with connect_async(f'{place}?token={token}', ssl=context) as page:
        while 'no pose of the tip has come from nobody' not in await page.recv():
            pass  # before the press
        for held in (False, True):
            await page.send(json.dumps({
                'type': 'sample', 'time': monotonic(), 'position': [0.0] * 3,
                'orientation': [0.0, 0.0, 0.0, 1.0], 'held': held, 'tracked': True}))
        while 'no pose of the tip has come' not in json.loads(
                await page.recv())['arms']['nobody']['notice']:
            pass
        shown = page.transport.get_extra_info('ssl_object').getpeercert(binary_form=True)
    for query in wrong:
        with pytest.raises(InvalidStatus, match='403'):
            await connect_async(place + query, ssl=context)
    return shown


@pytest.mark.skipif(shutil.which('openssl') is None, reason='openssl is not installed')
def test_tls_and_the_token(tmp_path, probe, monkeypatch):
    """The certificate is the one whose fingerprint is logged; without the token nobody gets in."""
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path))
    port = free_port()
    given = {'port': port, 'tls': 'true', 'ik_node': 'nobody'}
    with opened(tmp_path, probe, given) as (running, printed):
        assert printed.startswith('https://') and f':{port}/?token=' in printed
        token = printed.partition('token=')[2]
        assert 'open to the network, on 0.0.0.0' in running.output
        assert 'without tls' not in running.output
        fingerprint = re.search(r'fingerprint .* is ([0-9A-F:]{95})', running.output)[1]
        context = ssl.create_default_context(cafile=tmp_path / 'ik_node/handheld/certificate.pem')
        page, wrong = f'https://127.0.0.1:{port}/', wrong_queries(token)
        shown = asyncio.run(asyncio.wait_for(talk_over_tls(
            f'wss://127.0.0.1:{port}/socket', context, token, wrong), 60.0))
        assert hashlib.sha256(shown).hexdigest().upper() == fingerprint.replace(':', '')
        assert b'page.js' in urllib.request.urlopen(f'{page}?token={token}', timeout=10.0,
                                                    context=context).read()
        for query in wrong:
            with pytest.raises(urllib.error.HTTPError, match='403'):
                urllib.request.urlopen(page + query, timeout=10.0, context=context)
        with pytest.raises(OSError):
            urllib.request.urlopen(f'http://127.0.0.1:{port}/?token={token}', timeout=10.0)


def test_without_tls_on_the_network(tmp_path, probe):
    """The log says what that means; the token is needed all the same."""
    port = free_port()
    with opened(tmp_path, probe, {'port': port}) as (running, printed):
        assert printed.startswith('http://') and 'without tls the token can be' in running.output
        with pytest.raises(InvalidStatus, match='403'):
            connect(f'ws://127.0.0.1:{port}/socket')


@pytest.mark.parametrize('parameters, words', [
    ({'certificate': '/none.pem'}, 'certificate and key belong together'),
    ({'certificate': '/none.pem', 'key': '/none.pem'}, 'cannot be used'),
    ({'host': '999.1.1.1'}, 'cannot listen on 999.1.1.1')])
def test_a_start_that_fails(tmp_path, parameters, words):
    """One sentence, and exit code 1."""
    running = Process('handheld', tmp_path / 'log', {'port': free_port(), **parameters})
    assert running.wait(60.0) == 1 and words in running.output
    assert 'Traceback' not in running.output


def test_a_port_that_is_taken(tmp_path):
    with socket.socket() as other:
        other.bind(('127.0.0.1', 0))
        other.listen()
        port = other.getsockname()[1]
        running = Process('handheld', tmp_path / 'log', {'port': port})
        assert running.wait(60.0) == 1
    assert f'cannot listen on 127.0.0.1:{port}' in running.output
