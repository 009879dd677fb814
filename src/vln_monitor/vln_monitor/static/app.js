// Copyright 2026 The VLN stack authors
// SPDX-License-Identifier: Apache-2.0
// Starts the page and hands each message to the panel that shows it.

import { Camera } from './camera.js';
import { Connection } from './connection.js';
import { Drive } from './drive.js';
import { WorldMap } from './map.js';
import { byId, showCommands, showDecisions, showHealth, showHistory, showProgress } from './panels.js';

const connection = new Connection();
const map = new WorldMap();
const camera = new Camera(connection, map);
const drive = new Drive(connection);
const me = { number: null, role: null, wasDriver: false };
let episode = { state: 'idle', gate: 'open', following: false };
let isStopped = false;
let alertTimer = 0;
let lastDecision = 0;

function announce(text) { byId('live').textContent = text; }

function alarm(text, kind = 'bad', seconds = 8) {
  const box = byId('alert');
  clearTimeout(alertTimer);
  box.textContent = text;
  box.className = kind === 'info' ? 'alert info' : 'alert';
  box.hidden = false;
  if (seconds) alertTimer = setTimeout(() => { box.hidden = true; }, seconds * 1000);
}

function setDot(id, state) { byId(id).className = `dot ${state}`; }

// -- connection ------------------------------------------------------------------------------

async function start() {
  let session;
  try {
    session = await (await fetch('/api/session', { cache: 'no-store' })).json();
  } catch {
    setTimeout(start, 1500);
    return;
  }
  connection.stopPort = session.stop_port;
  drive.limits = [session.max_linear, session.max_angular];
  byId('logout').hidden = !session.needs_token;
  if (!session.role) {
    setDot('link-dot', 'warn');
    byId('link').textContent = 'not logged in';
    if (!byId('login').open) byId('login').showModal();
    byId('token').focus();
    return;
  }
  connection.open();
}

byId('login-form').addEventListener('submit', async (event) => {
  event.preventDefault();
  const response = await fetch('/api/login', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ token: byId('token').value }),
  }).catch(() => null);
  byId('token').value = '';
  if (response?.ok) {
    byId('login-error').textContent = '';
    byId('login').close();
    start();
  } else {
    const answer = await response?.json().catch(() => null);
    byId('login-error').textContent = answer?.error ?? 'the server does not answer';
  }
});
byId('login').addEventListener('cancel', (event) => event.preventDefault());
byId('logout').addEventListener('click', async () => {
  connection.close();
  await fetch('/api/logout', { method: 'POST' });
  location.reload();
});

connection.addEventListener('up', () => {
  setDot('link-dot', 'ok');
  byId('link').textContent = 'connected';
  announce('connected');
});
connection.addEventListener('down', () => {
  setDot('link-dot', 'error');
  byId('link').textContent = 'connection lost';
  setDot('safety-dot', '');
  byId('safety').textContent = 'safety unknown';
  drive.isAllowed = false;
  drive.letGo();
  byId('pad').classList.add('off');
  announce('connection lost');
});
connection.addEventListener('retry', start);
document.addEventListener('visibilitychange', () => connection.send({ type: 'show', camera: !document.hidden }));

const handlers = {
  camera: (message, bytes) => camera.onPicture(message, bytes),
  panorama: (message, bytes) => camera.onPanorama(message, bytes),
  map: (message, bytes) => map.onGrid(message, bytes),
  map_image: (message, bytes) => {
    const image = byId('model-map');
    URL.revokeObjectURL(image.src);
    image.src = URL.createObjectURL(new Blob([bytes], { type: 'image/png' }));
    image.hidden = false;
    byId('model-map-note').hidden = true;
  },
  graph: (message) => map.onGraph(message),
  trail: (message) => map.onTrail(message.points),
  pose: (message) => map.onPose(message.pose),
  plan: (message) => { map.onPlan(message.points); camera.setPlan(message.points); },
  safety: onSafety,
  health: (message) => {
    showHealth(message.nodes);
    if (!message.safety) { setDot('safety-dot', 'error'); byId('safety').textContent = 'safety is silent'; }
  },
  progress: showProgress,
  episode: onEpisode,
  decisions: onDecisions,
  instructions: (message) => showHistory(message.entries, (text) => {
    byId('instruct-text').value = text;
    byId('instruct-text').focus();
  }),
  commands: (message) => showCommands(message.entries),
  people: onPeople,
  notice: onNotice,
};
connection.addEventListener('message', ({ detail: { message, bytes } }) => {
  handlers[message.type]?.(message, bytes);
});

// -- what is shown ---------------------------------------------------------------------------

function onSafety(message) {
  const isOk = message.state === 'OK';
  const wasStopped = isStopped;
  isStopped = message.state === 'EMERGENCY_STOP';
  setDot('safety-dot', isOk ? 'ok' : isStopped ? 'error' : 'warn');
  const words = message.state.toLowerCase().replaceAll('_', ' ');
  byId('safety').textContent = isOk ? `safety ok${message.source ? `, ${message.source} drives` : ''}`
    : `${words}${message.text && message.text !== words ? `: ${message.text}` : ''}`;
  byId('motion').textContent = `${(message.linear ?? 0).toFixed(2)} m/s  ${(message.angular ?? 0).toFixed(2)} rad/s`;
  byId('stop').classList.toggle('on', isStopped);
  byId('stop').textContent = isStopped ? 'STOPPED' : 'STOP';
  byId('release').hidden = !isStopped;
  if (isStopped !== wasStopped) announce(isStopped ? 'The robot is stopped' : 'The stop is released');
}

function onEpisode(message) {
  const waited = episode.gate === 'waiting';
  episode = message;
  const isPaused = message.gate === 'paused';
  const tag = byId('state');
  tag.textContent = isPaused ? 'paused' : message.gate === 'waiting' ? 'waiting for you' : message.state;
  tag.className = `tag ${isPaused || message.gate === 'waiting' ? 'warn' : message.following ? 'busy' : ''}`;
  byId('state-text').textContent = message.text;
  byId('pause').setAttribute('aria-pressed', String(isPaused));
  byId('pause').textContent = isPaused ? 'Resume' : 'Pause';
  byId('cancel').disabled = !message.following;
  byId('instruct-send').disabled = message.following;
  if (document.activeElement !== byId('approval')) byId('approval').checked = ['approval', 'waiting'].includes(message.gate) || (isPaused && byId('approval').checked);
  const isWaiting = Boolean(message.pending);
  byId('approve').hidden = !isWaiting;
  if (isWaiting && !waited) {
    byId('approve-text').textContent = `It wants to ${message.pending}.`;
    announce(`The robot waits for approval: ${message.pending}`);
    const found = /pixel \((\d+), (\d+)\) of view (\d+)/.exec(message.pending);
    if (found && camera.panorama) {
      camera.setTarget({ panorama: camera.panorama.id, view: Number(found[3]), pixel: [Number(found[1]), Number(found[2])], box: null });
      camera.show(Number(found[3]));
    }
  }
  if (!isWaiting && waited) camera.show(null);
}

function onDecisions(message) {
  showDecisions(message.entries);
  const last = message.entries.at(-1);
  if (!last) return;
  const target = message.entries.findLast((entry) => entry.pixel);
  if (target) camera.setTarget(target);
  if (lastDecision && last.number !== lastDecision) announce(`${last.action}: ${last.outcome}`);
  lastDecision = last.number;
}

function onPeople(message) {
  const isDriver = message.driver !== null && message.driver === me.number;
  const others = message.pages.length - 1;
  const who = message.driver === null ? 'nobody drives' : isDriver ? 'you drive' : `${message.name} drives`;
  byId('people').textContent = `${who}${others > 0 ? `, ${others} other ${others > 1 ? 'pages' : 'page'}` : ''}`;
  byId('wheel').textContent = isDriver ? 'Leave the wheel' : message.driver === null ? 'Take the wheel' : `Take over from ${message.name}`;
  byId('wheel').dataset.driver = isDriver ? 'me' : message.driver === null ? '' : 'other';
  drive.isAllowed = me.role === 'operator' && (isDriver || message.driver === null);
  if (!drive.isAllowed) drive.letGo();
  byId('pad').classList.toggle('off', !drive.isAllowed);
}

function onNotice(message) {
  if ('welcome' in message) {
    me.number = message.welcome;
    me.role = message.role;
    document.body.classList.toggle('viewer', me.role !== 'operator');
  } else if ('stop' in message) {
    onStopAnswer(message);
  } else if (message.error) {
    alarm(message.error);
  } else if (message.info) {
    announce(message.info);
  }
}

// -- commands --------------------------------------------------------------------------------

let stopped = Promise.resolve();
let isConfirmed = false;

function onStopAnswer(answer) {
  if (answer.stop) {
    isConfirmed = true;
    alarm('STOPPED, until released.', 'info', 4);
  } else if (!isConfirmed && !isStopped) {
    alarm(`STOP NOT CONFIRMED: ${answer.text}. Use the hardware stop.`, 'bad', 0);
  }
}

function stop() {
  isConfirmed = false;
  drive.letGo();
  stopped = connection.stop().then(onStopAnswer);
  setTimeout(() => {
    if (!isConfirmed && !isStopped) alarm('STOP NOT CONFIRMED after 1 s. Use the hardware stop.', 'bad', 0);
  }, 1000);
}
// Not 'click': that comes only when the finger is lifted.
byId('stop').addEventListener('pointerdown', (event) => { event.preventDefault(); stop(); });
byId('stop').addEventListener('click', (event) => { if (event.detail === 0) stop(); });
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && !event.repeat && !byId('login').open) stop();
}, { capture: true });
byId('release').addEventListener('click', () => connection.send({ type: 'release' }));

byId('instruct-form').addEventListener('submit', (event) => {
  event.preventDefault();
  const text = byId('instruct-text').value.trim();
  if (text && !connection.send({ type: 'instruct', text })) alarm('not connected: the instruction was not sent');
});
byId('instruct-text').addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    byId('instruct-form').requestSubmit();
  }
});
byId('pause').addEventListener('click', () => connection.send({ type: 'pause', on: episode.gate !== 'paused' }));
byId('cancel').addEventListener('click', () => connection.send({ type: 'cancel' }));
byId('approval').addEventListener('change', (event) => connection.send({ type: 'require_approval', on: event.target.checked }));
byId('approve-yes').addEventListener('click', () => connection.send({ type: 'approve', yes: true }));
byId('approve-no').addEventListener('click', () => connection.send({ type: 'approve', yes: false }));
byId('wheel').addEventListener('click', (event) => {
  const { driver } = event.currentTarget.dataset;
  connection.send({ type: 'wheel', take: driver !== 'me', force: driver === 'other' });
});
byId('name').addEventListener('change', (event) => {
  connection.name = event.target.value;
  try { localStorage.setItem('name', connection.name); } catch { /* private window */ }
  connection.send({ type: 'hello', name: connection.name });
});
try { connection.name = localStorage.getItem('name') ?? ''; } catch { /* private window */ }
byId('name').value = connection.name;

start();
