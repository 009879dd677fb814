// Copyright 2026 The VLN stack authors
// SPDX-License-Identifier: Apache-2.0
// The live picture with boxes and path drawn into it, and the views of the last look-around.

export function colorOf(word) {
  let hash = 0;
  for (const letter of word) hash = (hash * 31 + letter.codePointAt(0)) >>> 0;
  return `hsl(${hash % 360} 85% 62%)`;
}

function label(ctx, text, x, y, color) {
  ctx.font = '600 13px system-ui, sans-serif';
  const width = ctx.measureText(text).width + 8;
  ctx.fillStyle = color;
  ctx.fillRect(x, Math.max(0, y - 17), width, 17);
  ctx.fillStyle = '#0b0f14';
  ctx.fillText(text, x + 4, Math.max(13, y - 4));
}

function cross(ctx, x, y) {
  for (const [width, color] of [[5, '#000'], [2.5, '#ff3df2']]) {
    ctx.lineWidth = width;
    ctx.strokeStyle = color;
    ctx.beginPath();
    ctx.arc(x, y, 10, 0, 2 * Math.PI);
    ctx.moveTo(x - 16, y); ctx.lineTo(x + 16, y);
    ctx.moveTo(x, y - 16); ctx.lineTo(x, y + 16);
    ctx.stroke();
  }
}

export class Camera {
  constructor(connection, map) {
    this.connection = connection;
    this.map = map;
    this.canvas = document.getElementById('camera');
    this.ctx = this.canvas.getContext('2d');
    this.note = document.getElementById('camera-note');
    this.strip = document.getElementById('strip');
    this.back = document.getElementById('live-view');
    this.boxes = document.getElementById('boxes');
    this.bitmap = null;
    this.header = null;
    this.panorama = null;
    this.shown = null;      // number of the view shown instead of the live picture
    this.target = null;     // {panorama, view, pixel, box} of the last decision
    this.plan = [];
    this.arrived = 0;
    this.back.addEventListener('click', () => this.show(null));
    this.boxes.addEventListener('change', () => this.redraw());
    setInterval(() => this.showAge(), 500);
  }

  async onPicture(header, bytes) {
    try {
      const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/jpeg' }));
      this.bitmap?.close();
      this.bitmap = bitmap;
      this.header = header;
      this.arrived = performance.now();
      if (this.shown === null) this.draw();
    } finally {
      this.connection.send({ type: 'painted' });
    }
  }

  async onPanorama(header, bytes) {
    let offset = 0;
    const views = [];
    for (const view of header.views) {
      const data = bytes.slice(offset, offset + view.bytes);
      offset += view.bytes;
      views.push({ ...view, bitmap: await createImageBitmap(new Blob([data], { type: 'image/jpeg' })) });
    }
    this.panorama?.views.forEach((view) => view.bitmap.close());
    this.panorama = { ...header, views };
    if (this.shown !== null && !views.some((view) => view.index === this.shown)) this.show(null);
    this.drawStrip();
    this.redraw();
  }

  setTarget(target) { this.target = target; this.drawStrip(); this.redraw(); }

  setPlan(points) { this.plan = points; }

  show(index) {
    this.shown = index;
    this.back.hidden = index === null;
    this.canvas.setAttribute('aria-label', index === null ? 'Live camera' : `View ${index} of the last look-around`);
    this.drawStrip();
    this.redraw();
  }

  redraw() {
    if (this.shown === null) this.draw();
    else this.drawView(this.panorama.views.find((view) => view.index === this.shown), this.canvas, 640);
  }

  showAge() {
    const age = (performance.now() - this.arrived) / 1000;
    const isStill = this.shown !== null;
    const text = isStill ? `look-around ${this.panorama?.id}, view ${this.shown}`
      : !this.arrived ? 'waiting for a picture' : age > 1.5 ? `picture is ${age.toFixed(0)} s old` : '';
    if (this.note.textContent !== text) this.note.textContent = text;
    this.note.hidden = !text;
  }

  draw() {
    if (!this.bitmap) return;
    const { canvas, ctx, bitmap } = this;
    const scale = Math.max(1, 640 / bitmap.width);
    canvas.width = bitmap.width * scale;
    canvas.height = bitmap.height * scale;
    ctx.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
    if (this.boxes.checked && this.panorama?.mount && this.header.pose) this.drawOverlay(canvas.width / this.header.size[0]);
    this.showAge();
  }

  // Detections have positions in the odometry frame, so they can be drawn into any later picture.
  project(point) {
    const [x, y, yaw] = this.header.pose;
    const m = this.panorama.mount;
    const k = this.panorama.views[0].k;
    const dx = point[0] - x, dy = point[1] - y;
    const base = [dx * Math.cos(yaw) + dy * Math.sin(yaw), -dx * Math.sin(yaw) + dy * Math.cos(yaw), point[2]];
    const d = [base[0] - m[3], base[1] - m[7], base[2] - m[11]];
    const c = [0, 1, 2].map((i) => m[i] * d[0] + m[4 + i] * d[1] + m[8 + i] * d[2]);
    return c[2] < 0.15 ? null : [k[0] * c[0] / c[2] + k[2], k[1] * c[1] / c[2] + k[3], c[2]];
  }

  drawOverlay(scale) {
    const { ctx, canvas } = this;
    for (const found of this.panorama.detections) {
      if (!found.at) continue;
      const corners = [];
      for (const i of [-0.5, 0.5]) for (const j of [-0.5, 0.5]) for (const l of [-0.5, 0.5]) {
        corners.push(this.project([found.at[0] + i * found.extent[0], found.at[1] + j * found.extent[1], found.at[2] + l * found.extent[2]]));
      }
      if (corners.some((corner) => corner === null)) continue;
      const centre = this.project(found.at);
      if (centre[0] < 0 || centre[0] > this.header.size[0] || centre[2] > 6) continue;
      const us = corners.map((c) => c[0] * scale), vs = corners.map((c) => c[1] * scale);
      const left = Math.max(1, Math.min(...us)), top = Math.max(1, Math.min(...vs));
      const right = Math.min(canvas.width - 1, Math.max(...us)), bottom = Math.min(canvas.height - 1, Math.max(...vs));
      if (right <= left || bottom <= top) continue;
      // Remembered, but behind something: faint.
      const isHidden = this.map.isHidden(this.header.pose, found.at, 0.5 * Math.max(found.extent[0], found.extent[1]) + 0.3);
      ctx.globalAlpha = isHidden ? 0.3 : 1;
      ctx.strokeStyle = colorOf(found.name);
      ctx.lineWidth = 2;
      ctx.setLineDash([6, 4]);
      ctx.strokeRect(left, top, right - left, bottom - top);
      ctx.setLineDash([]);
      if (!isHidden) label(ctx, `${found.name} ${centre[2].toFixed(1)} m`, left, top, colorOf(found.name));
      ctx.globalAlpha = 1;
    }
    const seen = this.plan.map(([x, y]) => this.project([x, y, 0])).filter(Boolean);
    ctx.strokeStyle = '#d946ef';
    ctx.lineWidth = 4;
    ctx.beginPath();
    seen.forEach(([u, v], i) => (i ? ctx.lineTo(u * scale, v * scale) : ctx.moveTo(u * scale, v * scale)));
    ctx.stroke();
    const end = this.plan.length ? this.project([...this.plan.at(-1), 0]) : null;
    if (end) cross(ctx, end[0] * scale, end[1] * scale);
  }

  drawView(view, canvas, width) {
    if (!view) return;
    const ctx = canvas.getContext('2d');
    const scale = width / view.size[0];
    canvas.width = width;
    canvas.height = view.size[1] * scale;
    ctx.drawImage(view.bitmap, 0, 0, canvas.width, canvas.height);
    const isLarge = width > 300;
    for (const found of this.boxes.checked ? this.panorama.detections : []) {
      if (found.view !== view.index) continue;
      const [left, top, right, bottom] = found.box.map((edge) => edge * scale);
      ctx.strokeStyle = colorOf(found.name);
      ctx.lineWidth = 2;
      ctx.strokeRect(left, top, right - left, bottom - top);
      if (isLarge) label(ctx, `${found.name} ${Math.round(100 * found.score)} %`, left, top, colorOf(found.name));
    }
    const target = this.target;
    if (target && target.panorama === this.panorama.id && target.view === view.index) {
      if (target.box && isLarge) {
        const [left, top, right, bottom] = target.box.map((edge) => edge * scale);
        ctx.strokeStyle = '#ff3df2';
        ctx.lineWidth = 4;
        ctx.strokeRect(left, top, right - left, bottom - top);
      }
      if (target.pixel) cross(ctx, target.pixel[0] * scale, target.pixel[1] * scale);
    }
  }

  drawStrip() {
    if (!this.panorama) return;
    // Left of the robot to the left: counter-clockwise angles from +180 down to -180 degrees.
    const turned = (view) => Math.atan2(Math.sin(view.yaw), Math.cos(view.yaw) - 1e-9);
    const views = [...this.panorama.views].sort((a, b) => turned(b) - turned(a));
    const buttons = views.map((view) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.setAttribute('aria-pressed', String(view.index === this.shown));
      const degrees = Math.round(turned(view) * 180 / Math.PI);
      const where = Math.abs(degrees) < 20 ? 'ahead' : Math.abs(degrees) > 160 ? 'behind' : degrees > 0 ? 'left' : 'right';
      const names = [...new Set(this.panorama.detections.filter((d) => d.view === view.index).map((d) => d.name))];
      button.setAttribute('aria-label', `View ${view.index}, ${where}: ${names.join(', ') || 'nothing detected'}`);
      const canvas = document.createElement('canvas');
      this.drawView(view, canvas, 240);
      const text = document.createElement('span');
      text.textContent = `${view.index} ${where}`;
      button.append(canvas, text);
      button.addEventListener('click', () => this.show(this.shown === view.index ? null : view.index));
      return button;
    });
    this.strip.replaceChildren(...buttons);
  }
}
