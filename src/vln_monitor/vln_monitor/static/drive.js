// Copyright 2026 The VLN stack authors
// SPDX-License-Identifier: Apache-2.0
// Driving by hand. Something must be held all the time; letting go, losing the focus, hiding the
// page or losing the connection ends it here, and silence ends it in the server.

const PERIOD_MS = 50;
const KEYS = {
  ArrowUp: [1, 0], ArrowDown: [-1, 0], ArrowLeft: [0, 1], ArrowRight: [0, -1],
  w: [1, 0], s: [-1, 0], a: [0, 1], d: [0, -1],
};
const SHOULDER = 5;
const DEAD_ZONE = 0.12;

export class Drive {
  constructor(connection) {
    this.connection = connection;
    this.pad = document.getElementById('pad');
    this.knob = document.getElementById('knob');
    this.speed = document.getElementById('speed');
    this.now = document.getElementById('drive-now');
    this.limits = [0.5, 1.0];
    this.isAllowed = false;
    this.keys = new Set();
    this.stick = null;       // [forward, left] of the pointer while it is down
    this.wasHeld = false;
    this.speed.addEventListener('input', () => {
      document.getElementById('speed-out').textContent = `${this.speed.value} %`;
    });
    this.pad.addEventListener('pointerdown', (event) => {
      if (!this.isAllowed) return;
      this.pad.setPointerCapture(event.pointerId);
      this.pad.focus({ preventScroll: true });
      this.move(event);
    });
    this.pad.addEventListener('pointermove', (event) => { if (this.stick) this.move(event); });
    for (const name of ['pointerup', 'pointercancel', 'lostpointercapture']) {
      this.pad.addEventListener(name, () => { this.stick = null; this.tick(); });
    }
    this.pad.addEventListener('contextmenu', (event) => event.preventDefault());
    this.pad.addEventListener('keydown', (event) => {
      const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
      if (!(key in KEYS) || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      if (this.isAllowed && !event.repeat) { this.keys.add(key); this.tick(); }
    });
    this.pad.addEventListener('keyup', (event) => {
      this.keys.delete(event.key.length === 1 ? event.key.toLowerCase() : event.key);
      this.tick();
    });
    this.pad.addEventListener('blur', () => this.letGo());
    window.addEventListener('blur', () => this.letGo());
    document.addEventListener('visibilitychange', () => { if (document.hidden) this.letGo(); });
    setInterval(() => this.tick(), PERIOD_MS);
  }

  letGo() {
    this.keys.clear();
    this.stick = null;
    this.tick();
  }

  move(event) {
    const box = this.pad.getBoundingClientRect();
    const radius = box.width / 2 - 20;
    let x = (event.clientX - box.left - box.width / 2) / radius;
    let y = (event.clientY - box.top - box.height / 2) / radius;
    const length = Math.hypot(x, y);
    if (length > 1) { x /= length; y /= length; }
    this.stick = [Math.abs(y) < DEAD_ZONE ? 0 : -y, Math.abs(x) < DEAD_ZONE ? 0 : -x];
    this.tick();
  }

  gamepad() {
    if (document.hidden || !document.hasFocus()) return null;
    for (const pad of navigator.getGamepads?.() ?? []) {
      if (pad?.connected && pad.buttons[SHOULDER]?.pressed) {
        return [1, 0].map((axis) => (Math.abs(pad.axes[axis]) < DEAD_ZONE ? 0 : -pad.axes[axis]));
      }
    }
    return null;
  }

  wanted() {
    if (!this.isAllowed) return null;
    if (this.stick) return this.stick;
    if (this.keys.size) {
      let [forward, left] = [0, 0];
      for (const key of this.keys) { forward += KEYS[key][0]; left += KEYS[key][1]; }
      return [Math.sign(forward), Math.sign(left)];
    }
    return this.gamepad();
  }

  tick() {
    const wanted = this.wanted();
    const speed = Number(this.speed.value) / 100;
    if (wanted) {
      this.connection.send({ type: 'drive', linear: wanted[0], angular: wanted[1], speed });
    } else if (this.wasHeld) {
      this.connection.send({ type: 'let_go' });
    }
    if (wanted || this.wasHeld) this.show(wanted ?? [0, 0], speed);
    this.wasHeld = wanted !== null;
  }

  show([forward, left], speed) {
    const radius = this.pad.clientWidth / 2 - 32;
    this.knob.style.transform = `translate(${-left * radius}px, ${-forward * radius}px)`;
    this.pad.classList.toggle('held', Boolean(forward || left));
    this.now.textContent = `${(forward * speed * this.limits[0]).toFixed(2)} m/s   ${(left * speed * this.limits[1]).toFixed(2)} rad/s`;
  }
}
