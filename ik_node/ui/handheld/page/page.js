// Copyright 2026 The ik_node authors
// SPDX-License-Identifier: Apache-2.0
// Sends where the hand is, and shows what the node says.  All else is computed by the node.
'use strict';

const PAD_METRES_PER_PIXEL = 0.0005;
const IDLE_PERIOD_MS = 100;      // of samples while nothing is held
const RETRY_PERIOD_MS = 1000;    // of a lost connection
const MAX_WAITING_BYTES = 4096;  // more that is not sent yet: the connection stands
const PULSE_MS = 120;            // of a controller, or a phone, that has lost the clutch
// Buttons of a controller (WebXR Gamepads, "xr-standard").
const TRIGGER = 0, SQUEEZE = 1, THUMBSTICK = 3, LOWER_BUTTON = 4, UPPER_BUTTON = 5;

const part = id => document.getElementById(id);
const seconds = () => performance.now() / 1000;

// ---- the connection ---------------------------------------------------------

let socket = null, state = {arms: {}}, refused = '';
let introduced = '';  // the arms to which this page has said what it starts with
let forward = null;   // where the device looked that is forward
const lastIdle = {};  // by arm

const arms = () => Object.keys(state.arms);

function connect() {
  const scheme = location.protocol === 'https:' ? 'wss:' : 'ws:';
  socket = new WebSocket(`${scheme}//${location.host}/socket${location.search}`);
  socket.onopen = () => {
    refused = '';
    show();
  };
  socket.onmessage = event => {
    const before = state;
    state = JSON.parse(event.data);
    if (arms().join('\n') !== introduced) introduce();
    for (const name of arms())
      if (before.arms[name]?.holding && !state.arms[name].holding && state.arms[name].notice)
        pulse(name);
    show();
  };
  socket.onclose = event => {
    for (const [name, {answer, colour, hand}] of Object.entries(state.arms))
      state.arms[name] = {answer, colour, hand};
    introduced = '';
    refused = event.reason;
    letGo();
    show();
    setTimeout(connect, RETRY_PERIOD_MS);
  };
}

function introduce() {
  introduced = arms().join('\n');
  sendSettings();
  if (forward) sendHeading(forward);
  if (!session) for (const name of arms()) sendSample(name, IDENTITY, false, true);
}

function send(message) {
  // Only poses are left out: all else, a release and a stop, too, waits its turn.
  if (socket.readyState !== WebSocket.OPEN
      || (message.held && socket.bufferedAmount > MAX_WAITING_BYTES))
    return false;
  socket.send(JSON.stringify(message));
  return true;
}

// A pose is {position: {x, y, z}, orientation: {x, y, z, w}}, as an XRRigidTransform.
const IDENTITY = {position: {x: 0, y: 0, z: 0}, orientation: {x: 0, y: 0, z: 0, w: 1}};
const quaternion = o => [o.x, o.y, o.z, o.w];

function sendSample(arm, pose, held, tracked) {
  if (!held) lastIdle[arm] = performance.now();
  const p = pose.position;
  return send({type: 'sample', arm, time: seconds(), position: [p.x, p.y, p.z],
               orientation: quaternion(pose.orientation), held, tracked});
}

const sendSettings = () => send({type: 'settings', scale: Number(part('scale').value),
                                 turns: part('turns').checked});
const idleIsDue = arm => !(performance.now() - lastIdle[arm] <= IDLE_PERIOD_MS);

function sendHeading(orientation) {
  forward = orientation;
  send({type: 'heading', orientation: quaternion(orientation)});
}

// ---- the arm that the pads or a phone lead ----------------------------------

let picked = decodeURIComponent(location.hash.slice(1));  // which may not be there

const ledByDevice = () => arms().includes(picked) ? picked : arms()[0];

function pick(name) {
  if (name === ledByDevice()) return;
  letGo();
  picked = name;
  history.replaceState(null, '', `#${encodeURIComponent(name)}`);  // for the next time
  show();
}

// ---- what is shown ----------------------------------------------------------

function words(arm) {
  if (socket.readyState !== WebSocket.OPEN) return refused || 'not connected';
  if (!arms().length) return 'no arm is known yet';
  if (arm.holding) return 'the arm follows';
  return arm.refusal || 'ready';
}

// In a word, where there are several: what follows says why.
function brief(arm) {
  if (socket.readyState !== WebSocket.OPEN) return 'not connected';
  if (arm.holding) return 'follows';
  return arm.refusal ? 'blocked' : arm.notice ? 'stopped' : 'ready';
}

function show() {
  const connected = socket.readyState === WebSocket.OPEN, several = arms().length > 1;
  const led = state.arms[ledByDevice()] || {}, one = several ? {} : led;
  part('state').textContent = several && connected ? '' : words(one);
  part('state').className = one.holding ? 'holding' : connected ? '' : 'lost';
  document.body.classList.toggle('holding', Boolean(led.holding));
  part('notice').textContent = one.notice || '';
  part('notice').hidden = !one.notice;
  part('answer').textContent = one.answer || '';
  part('answer').className = one.colour || '';
  part('scale-words').textContent = Number(part('scale').value).toFixed(1);
  part('stop').textContent = several ? 'Stop all' : 'Stop';
  part('pad-words').textContent = (several ? `${ledByDevice()}: ` : '')
    + (session ? 'hold here, and move the device' : padWords);
  part('arms').hidden = !several;
  if (several) showArms();
}

function showArms() {
  const cards = part('arms').children, names = arms();
  if (names.join('\n') !== [...cards].map(card => card.dataset.arm).join('\n'))
    part('arms').replaceChildren(...names.map(makeCard));
  names.forEach((name, k) => {
    const arm = state.arms[name], card = cards[k];
    const [button, title, sentence, answer] = card.children;
    button.setAttribute('aria-pressed', name === ledByDevice());
    title.textContent = brief(arm);
    sentence.textContent = arm.holding ? '' : arm.refusal || arm.notice || '';
    answer.textContent = arm.answer || '';
    answer.className = `answer ${arm.colour || ''}`;
    card.className = `arm ${arm.holding ? 'holding' : arm.refusal ? 'refused'
      : arm.notice ? 'notice' : ''}`;
  });
}

function makeCard(name) {
  const card = document.createElement('section');
  card.dataset.arm = name;
  for (const [tag, kind, role] of [['button', 'name', 'button'], ['p', 'state', 'status'],
                                   ['p', 'words', 'alert'], ['p', 'answer', null]]) {
    const made = card.appendChild(document.createElement(tag));
    made.className = kind;
    if (role) made.setAttribute('role', role);
  }
  card.firstChild.textContent = name;
  card.firstChild.addEventListener('click', () => pick(name));
  return card;
}

function pulse(name) {
  if (navigator.vibrate) navigator.vibrate(PULSE_MS);
  const hand = state.arms[name].hand;
  for (const source of session ? session.inputSources : [])
    if (!hand || source.handedness === hand)
      source.gamepad?.hapticActuators?.[0]?.pulse(0.8, PULSE_MS);
}

// ---- the pads: a hand that is moved by touch or mouse -----------------------

const pointers = new Map();  // pointerId -> {x, y, pad}
let hand = {...IDENTITY.position};

function down(event) {
  if (!pointers.size) hand = {...IDENTITY.position};
  event.currentTarget.setPointerCapture(event.pointerId);
  pointers.set(event.pointerId, {x: event.clientX, y: event.clientY,
                                 pad: event.currentTarget.id});
  event.preventDefault();
  if (!session && pointers.size === 1) requestAnimationFrame(sendPad);
}

function move(event) {
  const pointer = pointers.get(event.pointerId);
  if (!pointer) return;
  const right = (event.clientX - pointer.x) * PAD_METRES_PER_PIXEL;
  const down = (event.clientY - pointer.y) * PAD_METRES_PER_PIXEL;
  pointer.x = event.clientX;
  pointer.y = event.clientY;
  if (pointer.pad === 'lift') hand.y -= down;
  else if (pointers.size > 1) hand.y -= down / pointers.size;
  else {
    hand.x += right;
    hand.z += down;  // upwards on the pad is forward, -z
  }
}

function up(event) {
  if (pointers.delete(event.pointerId) && !pointers.size && !session)
    sendSample(ledByDevice(), {...IDENTITY, position: hand}, false, true);
}

function sendPad() {
  if (session || !pointers.size) return;
  sendSample(ledByDevice(), {...IDENTITY, position: hand}, true, true);
  requestAnimationFrame(sendPad);
}

// Whatever is held counts no more.
function letGo() {
  pointers.clear();
  touched = false;
  if (!session) for (const name of arms()) sendSample(name, IDENTITY, false, true);
}

// ---- a session of WebXR: the device itself is the hand ----------------------

let session = null, space = null, gl = null, panel = null;
let touched = false;   // the screen of a phone, where the page cannot be laid over it
let chosen = null;     // the controller that moves the only arm
let wantsHeading = false, reset = false;
let wasHeld = {};      // by arm
let released = {};     // by arm; what is pressed does not count until it has been let go
let pressedBefore = {};  // of the buttons that act once

async function offerSessions() {
  let offered = false;
  for (const kind of ['ar', 'vr']) {
    const supported = await navigator.xr?.isSessionSupported(`immersive-${kind}`)
      .catch(() => false);
    part(kind).hidden = !supported;
    offered ||= supported;
  }
  if (offered) return;
  say(window.isSecureContext ? 'This device offers no WebXR: drag on the pads.'
    : 'Browsers tell poses of a device over TLS only (https): drag on the pads.');
}

function say(sentence) {
  part('no-xr').textContent = sentence;
  part('no-xr').hidden = false;
}

async function begin(kind) {
  const canvas = document.createElement('canvas');
  gl = canvas.getContext('webgl', {xrCompatible: true, alpha: true});
  const opened = await navigator.xr.requestSession(`immersive-${kind}`, {
    optionalFeatures: ['dom-overlay'], domOverlay: {root: part('overlay')}});
  letGo();
  await gl.makeXRCompatible();
  opened.updateRenderState({baseLayer: new XRWebGLLayer(opened, gl)});
  space = await opened.requestReferenceSpace('local');
  space.addEventListener('reset', () => { reset = true; });
  opened.addEventListener('end', end);
  if (!opened.domOverlayState) {
    opened.addEventListener('selectstart', event => onScreen(event, true));
    opened.addEventListener('selectend', event => onScreen(event, false));
  }
  session = opened;
  released = {};
  wasHeld = {};
  panel = opened.domOverlayState ? null : makePanel();
  inSpace(true);
  session.requestAnimationFrame(onFrame);
}

function onScreen(event, pressed) {
  if (event.inputSource.targetRayMode === 'screen') touched = pressed;
}

function end() {
  session = chosen = panel = null;
  letGo();
  sendHeading(IDENTITY.orientation);  // of the pads
  inSpace(false);
}

function inSpace(inside) {
  document.body.classList.toggle('in-space', inside);
  part('lift').hidden = inside;
  for (const id of ['heading', 'leave']) part(id).hidden = !inside;
  if (inside) for (const id of ['ar', 'vr']) part(id).hidden = true;
  else offerSessions();
  show();
}

const isPressed = (source, ...buttons) =>
  buttons.some(button => source.gamepad?.buttons[button]?.pressed);

function controllers() {
  return [...session.inputSources].filter(source => source.gripSpace && source.gamepad
    && source.targetRayMode === 'tracked-pointer');
}

// The only arm is moved by the controller that was pressed first, until it is released.
function choose(sources, arm) {
  if (sources.includes(chosen) && isPressed(chosen, TRIGGER, SQUEEZE)) return chosen;
  const before = chosen;
  chosen = sources.find(source => isPressed(source, TRIGGER, SQUEEZE))
    || (sources.includes(chosen) ? chosen : sources[0] || null);
  if (chosen !== before && wasHeld[arm]) released[arm] = false;
  return chosen;
}

// Call `act` when one of some buttons goes down, not while it is held.
function once(name, sources, buttons, act) {
  const pressed = sources.some(source => isPressed(source, ...buttons));
  if (pressed && !pressedBefore[name]) act();
  pressedBefore[name] = pressed;
}

function onFrame(_time, frame) {
  if (!session) return;
  session.requestAnimationFrame(onFrame);
  const viewer = frame.getViewerPose(space), sources = controllers(), names = arms();
  once('stop', sources, [LOWER_BUTTON, UPPER_BUTTON], () => send({type: 'stop'}));
  once('heading', sources, [THUMBSTICK], () => { wantsHeading = true; });
  if (wantsHeading && viewer) {
    wantsHeading = false;
    sendHeading(viewer.transform.orientation);
  }
  for (const name of names) {
    const hand = state.arms[name].hand;
    const source = names.length === 1 && !hand ? choose(sources, name)
      : sources.find(each => hand && each.handedness === hand);
    const byDevice = name === ledByDevice() && (names.length === 1 || !sources.length);
    lead(name, source ? frame.getPose(source.gripSpace, space) : byDevice && viewer,
         (byDevice && (pointers.size > 0 || touched))
         || Boolean(source && isPressed(source, TRIGGER, SQUEEZE)));
  }
  reset = false;
  draw(viewer);
}

// One arm, by a pose of a device, if it has one, and whether its button is pressed.
function lead(name, pose, pressed) {
  released[name] ||= !pressed;
  const held = pressed && released[name], before = wasHeld[name];
  const tracked = Boolean(pose) && !pose.emulatedPosition && !reset
    && session.visibilityState === 'visible';
  wasHeld[name] = held;
  if (held || before || idleIsDue(name))
    sendSample(name, pose ? pose.transform : IDENTITY, held, tracked);
}

// ---- what a headset shows, which has no page --------------------------------

const PANEL_SIZE = [0.6, 0.3], PANEL_PIXELS = [512, 256], PANEL_PLACE = [0, -0.2, -1];  // m, px
const VERTEX_CODE = `attribute vec2 corner; uniform mat4 view, projection; varying vec2 at;
  void main() { at = corner; gl_Position = projection * view * vec4(
    (corner.x - 0.5) * ${PANEL_SIZE[0].toFixed(2)} + ${PANEL_PLACE[0].toFixed(2)},
    (0.5 - corner.y) * ${PANEL_SIZE[1].toFixed(2)} + ${PANEL_PLACE[1].toFixed(2)},
    ${PANEL_PLACE[2].toFixed(2)}, 1.0); }`;
const FRAGMENT_CODE = `precision mediump float; uniform sampler2D picture; varying vec2 at;
  void main() { gl_FragColor = texture2D(picture, at); }`;

function makePanel() {
  const program = gl.createProgram();
  for (const [kind, code] of [[gl.VERTEX_SHADER, VERTEX_CODE],
                              [gl.FRAGMENT_SHADER, FRAGMENT_CODE]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, code);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  gl.useProgram(program);
  gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
  gl.bufferData(gl.ARRAY_BUFFER, new Float32Array([0, 0, 1, 0, 0, 1, 1, 1]), gl.STATIC_DRAW);
  const corner = gl.getAttribLocation(program, 'corner');
  gl.enableVertexAttribArray(corner);
  gl.vertexAttribPointer(corner, 2, gl.FLOAT, false, 0, 0);
  gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = PANEL_PIXELS;
  return {canvas, view: gl.getUniformLocation(program, 'view'),
          projection: gl.getUniformLocation(program, 'projection'), text: null};
}

function paint() {
  const text = JSON.stringify([state, socket.readyState]);
  if (text === panel.text) return;
  panel.text = text;
  const context = panel.canvas.getContext('2d'), [width, height] = PANEL_PIXELS;
  const names = arms(), column = width / Math.max(names.length, 1);
  names.forEach((name, k) => {
    const arm = state.arms[name], several = names.length > 1;
    context.fillStyle = arm.holding ? '#1d6e37'
      : arm.notice || (several && arm.refusal) ? '#8a4a00' : '#30343c';
    context.fillRect(k * column, 0, column - (several ? 4 : 0), height);
    context.fillStyle = '#fff';
    write(context, several
      ? [`${name}: ${brief(arm)}`, arm.holding ? '' : arm.refusal || arm.notice, arm.answer]
      : [words(arm), arm.notice, arm.answer], k * column + 15, column - 30);
  });
  context.fillStyle = '#10131a';
  context.fillRect(0, height - 34, width, 34);
  context.fillStyle = '#fff';
  context.font = '18px sans-serif';
  context.fillText('trigger or grip: move   A B X Y: stop   stick: forward is here', 15,
                   height - 11, width - 30);
  gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, gl.RGBA, gl.UNSIGNED_BYTE, panel.canvas);
}

// Write sentences below each other, the first one larger, at a place and within a width.
function write(context, lines, left, width) {
  let y = 40;
  for (const line of lines.filter(Boolean)) {
    context.font = y === 40 ? `bold ${width < 300 ? 24 : 32}px sans-serif` : '18px sans-serif';
    let row = '';
    for (const word of line.split(' ')) {
      if (row && context.measureText(`${row} ${word}`).width > width) {
        context.fillText(row, left, y);
        y += 24;
        row = '';
      }
      row = row ? `${row} ${word}` : word;
    }
    context.fillText(row, left, y);
    y += 34;
  }
}

function draw(viewer) {
  const layer = session.renderState.baseLayer;
  gl.bindFramebuffer(gl.FRAMEBUFFER, layer.framebuffer);
  gl.clearColor(0, 0, 0, 0);
  gl.clear(gl.COLOR_BUFFER_BIT);
  if (!panel || !viewer) return;
  paint();
  for (const view of viewer.views) {
    const port = layer.getViewport(view);
    gl.viewport(port.x, port.y, port.width, port.height);
    gl.uniformMatrix4fv(panel.view, false, view.transform.inverse.matrix);
    gl.uniformMatrix4fv(panel.projection, false, view.projectionMatrix);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
  }
}

// ---- begin ------------------------------------------------------------------

const padWords = part('pad-words').textContent;
for (const id of ['pad', 'lift']) {
  part(id).addEventListener('pointerdown', down);
  part(id).addEventListener('pointermove', move);
  for (const name of ['pointerup', 'pointercancel', 'lostpointercapture'])
    part(id).addEventListener(name, up);
}
part('stop').addEventListener('pointerdown', () => send({type: 'stop'}));
part('stop').addEventListener('click', event => {
  if (!event.detail) send({type: 'stop'});  // by the keyboard
});
for (const id of ['scale', 'turns']) part(id).addEventListener('input', () => {
  sendSettings();
  show();
});
for (const kind of ['ar', 'vr']) part(kind).addEventListener('click', () => begin(kind).catch(
  error => say(`The device gives no session: ${error.message}`)));
part('heading').addEventListener('click', () => { wantsHeading = true; });
part('leave').addEventListener('click', () => session?.end());
// A touch of the page is no touch of the space behind it.
document.body.addEventListener('beforexrselect', event => event.preventDefault());
document.addEventListener('visibilitychange', () => document.hidden && letGo());
document.addEventListener('contextmenu', event => event.preventDefault());
connect();
offerSessions();
show();
