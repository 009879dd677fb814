// Copyright 2026 The VLN stack authors
// SPDX-License-Identifier: Apache-2.0
// The map on a canvas: grid, driven way, plan, places, objects, openings, failures; and in words.

import { colorOf } from './camera.js';

export class WorldMap {
  constructor() {
    this.canvas = document.getElementById('map');
    this.ctx = this.canvas.getContext('2d');
    this.text = document.getElementById('map-text');
    this.view = { x: 0, y: 0, scale: 60 };   // metres at the centre, pixels per metre
    this.isFitted = true;
    this.graph = null;
    this.grid = null;
    this.trail = [];
    this.plan = [];
    this.pose = null;
    this.isDue = false;
    this.pointers = new Map();
    document.getElementById('zoom-in').addEventListener('click', () => this.zoom(1.3));
    document.getElementById('zoom-out').addEventListener('click', () => this.zoom(1 / 1.3));
    document.getElementById('fit').addEventListener('click', () => { this.isFitted = true; this.request(); });
    this.canvas.addEventListener('wheel', (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY * 0.0015), event.offsetX, event.offsetY);
    }, { passive: false });
    this.canvas.addEventListener('pointerdown', (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
    });
    this.canvas.addEventListener('pointermove', (event) => this.drag(event));
    for (const name of ['pointerup', 'pointercancel']) {
      this.canvas.addEventListener(name, (event) => this.pointers.delete(event.pointerId));
    }
    this.canvas.addEventListener('keydown', (event) => {
      const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
      if (move) { this.pan(-move[0] * 40, move[1] * 40); event.preventDefault(); }
      if (event.key === '+') this.zoom(1.3);
      if (event.key === '-') this.zoom(1 / 1.3);
    });
    new ResizeObserver(() => this.request()).observe(this.canvas);
  }

  onGraph(graph) { this.graph = graph; this.describe(); this.request(); }
  onTrail(points) { this.trail = points; this.request(); }
  onPlan(points) { this.plan = points; this.request(); }
  onPose(pose) { this.pose = pose; this.request(); }

  async onGrid(header, bytes) {
    const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
    this.grid?.bitmap.close();
    const copy = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d');
    copy.drawImage(bitmap, 0, 0);
    this.grid = { ...header, bitmap, pixels: copy.getImageData(0, 0, bitmap.width, bitmap.height).data };
    this.request();
  }

  isOccupied(x, y) {
    const { size, resolution, origin, pixels } = this.grid;
    const column = Math.floor((x - origin[0]) / resolution);
    const row = size[1] - 1 - Math.floor((y - origin[1]) / resolution);
    if (column < 0 || row < 0 || column >= size[0] || row >= size[1]) return false;
    const at = 4 * (row * size[0] + column);
    return pixels[at + 3] > 0 && pixels[at] < 128;
  }

  // Whether something stands between two points, not counting the last metres of the way.
  isHidden(from, to, margin) {
    if (!this.grid) return false;
    const length = Math.hypot(to[0] - from[0], to[1] - from[1]);
    for (let way = 0.3; way < length - margin; way += 0.05) {
      const part = way / length;
      if (this.isOccupied(from[0] + part * (to[0] - from[0]), from[1] + part * (to[1] - from[1]))) return true;
    }
    return false;
  }

  drag(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) return;
    const here = [event.offsetX, event.offsetY];
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const gap = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]);
      this.zoom(gap(here) / Math.max(gap(before), 1), other[0], other[1]);
    } else {
      this.pan(here[0] - before[0], here[1] - before[1]);
    }
    this.pointers.set(event.pointerId, here);
  }

  pan(dx, dy) {
    this.isFitted = false;
    this.view.x -= dx / this.view.scale;
    this.view.y += dy / this.view.scale;
    this.request();
  }

  zoom(factor, px = this.canvas.clientWidth / 2, py = this.canvas.clientHeight / 2) {
    this.isFitted = false;
    const before = this.toWorld(px, py);
    this.view.scale = Math.min(400, Math.max(4, this.view.scale * factor));
    const after = this.toWorld(px, py);
    this.view.x += before[0] - after[0];
    this.view.y += before[1] - after[1];
    this.request();
  }

  toWorld(px, py) {
    return [this.view.x + (px - this.canvas.clientWidth / 2) / this.view.scale,
      this.view.y - (py - this.canvas.clientHeight / 2) / this.view.scale];
  }

  toScreen([x, y]) {
    return [this.canvas.clientWidth / 2 + (x - this.view.x) * this.view.scale,
      this.canvas.clientHeight / 2 - (y - this.view.y) * this.view.scale];
  }

  fit() {
    const points = [...this.trail, ...this.plan];
    if (this.pose) points.push(this.pose);
    for (const place of this.graph?.places ?? []) points.push(place.at);
    for (const thing of this.graph?.objects ?? []) points.push(thing.at);
    for (const opening of this.graph?.openings ?? []) points.push(opening.at);
    if (!points.length) return;
    let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
    for (const [x, y] of points) {
      x0 = Math.min(x0, x); x1 = Math.max(x1, x); y0 = Math.min(y0, y); y1 = Math.max(y1, y);
    }
    const width = Math.max(3, x1 - x0 + 1.2), height = Math.max(3, y1 - y0 + 1.2);
    this.view.x = (x0 + x1) / 2;
    this.view.y = (y0 + y1) / 2;
    // Names stand to the right of their places and things.
    this.view.scale = Math.min((this.canvas.clientWidth - 70) / width, this.canvas.clientHeight / height, 120);
    this.view.x += 30 / this.view.scale;
  }

  request() {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => { this.isDue = false; this.draw(); });
  }

  draw() {
    const { canvas, ctx } = this;
    const ratio = devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
    if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, width, height);
    if (this.isFitted) this.fit();
    this.ink = getComputedStyle(canvas).color;
    this.paper = getComputedStyle(document.documentElement).getPropertyValue('--card');
    if (this.grid) this.drawGrid();
    this.line(this.trail, '#0ea5e9', 3);
    this.line(this.plan, '#a855f7', 3);
    if (this.graph) this.drawGraph();
    if (this.pose) this.drawRobot();
    this.drawScale(width, height);
  }

  drawGrid() {
    const { grid, ctx } = this;
    const size = [grid.size[0] * grid.resolution, grid.size[1] * grid.resolution];
    const [left, top] = this.toScreen([grid.origin[0], grid.origin[1] + size[1]]);
    ctx.imageSmoothingEnabled = false;
    ctx.drawImage(grid.bitmap, left, top, size[0] * this.view.scale, size[1] * this.view.scale);
  }

  line(points, color, width) {
    if (points.length < 2) return;
    this.ctx.strokeStyle = color;
    this.ctx.lineWidth = width;
    this.ctx.lineJoin = 'round';
    this.ctx.beginPath();
    points.forEach((point, i) => {
      const [px, py] = this.toScreen(point);
      if (i) this.ctx.lineTo(px, py); else this.ctx.moveTo(px, py);
    });
    this.ctx.stroke();
  }

  drawGraph() {
    const { ctx, graph } = this;
    const centres = new Map(graph.places.map((place) => [place.id, place.at]));
    for (const [a, b] of graph.edges) {
      if (centres.has(a) && centres.has(b)) this.line([centres.get(a), centres.get(b)], '#2563eb88', 2);
    }
    const isClose = this.view.scale > 22;
    for (const opening of graph.openings) {
      const [px, py] = this.toScreen(opening.at);
      ctx.fillStyle = '#16a34a';
      ctx.beginPath();
      ctx.moveTo(px, py - 7); ctx.lineTo(px + 6, py); ctx.lineTo(px, py + 7); ctx.lineTo(px - 6, py);
      ctx.fill();
    }
    for (const thing of graph.objects) {
      const [px, py] = this.toScreen(thing.at);
      ctx.fillStyle = colorOf(thing.name);
      ctx.strokeStyle = '#0007';
      ctx.lineWidth = 1;
      ctx.fillRect(px - 5, py - 5, 10, 10);
      ctx.strokeRect(px - 5, py - 5, 10, 10);
      if (isClose) this.word(thing.name, px + 8, py + 4, 11, '');
    }
    for (const place of graph.places) {
      const [px, py] = this.toScreen(place.at);
      const hasFailed = place.failures.length > 0;
      ctx.fillStyle = hasFailed ? '#dc2626' : '#2563eb';
      ctx.beginPath();
      ctx.arc(px, py, 8, 0, 2 * Math.PI);
      ctx.fill();
      if (hasFailed) {
        ctx.strokeStyle = '#fff';
        ctx.lineWidth = 2;
        ctx.beginPath();
        ctx.moveTo(px - 4, py - 4); ctx.lineTo(px + 4, py + 4);
        ctx.moveTo(px + 4, py - 4); ctx.lineTo(px - 4, py + 4);
        ctx.stroke();
      }
      this.word(place.name, px + 12, py - 6, 13, '600');
    }
  }

  word(text, x, y, size, weight) {
    const { ctx } = this;
    ctx.font = `${weight} ${size}px system-ui, sans-serif`;
    ctx.lineWidth = 3;
    ctx.strokeStyle = this.paper;
    ctx.strokeText(text, x, y);
    ctx.fillStyle = this.ink;
    ctx.fillText(text, x, y);
  }

  drawRobot() {
    const { ctx } = this;
    const [px, py] = this.toScreen(this.pose);
    ctx.save();
    ctx.translate(px, py);
    ctx.rotate(-this.pose[2]);
    ctx.fillStyle = '#f97316';
    ctx.strokeStyle = '#fff';
    ctx.lineWidth = 2;
    ctx.beginPath();
    ctx.moveTo(14, 0); ctx.lineTo(-9, 9); ctx.lineTo(-5, 0); ctx.lineTo(-9, -9);
    ctx.closePath();
    ctx.fill();
    ctx.stroke();
    ctx.restore();
  }

  drawScale(width, height) {
    const metres = [0.5, 1, 2, 5, 10, 20, 50].find((m) => m * this.view.scale > 50) ?? 100;
    const length = metres * this.view.scale;
    this.ctx.fillStyle = this.ink;
    this.ctx.fillRect(12, height - 14, length, 3);
    this.word(`${metres} m`, 12, height - 19, 11, '');
  }

  // For those who cannot see a canvas.
  describe() {
    const { graph } = this;
    const list = (title, lines) => {
      const box = document.createElement('div');
      const head = document.createElement('strong');
      head.textContent = `${title} (${lines.length})`;
      const items = document.createElement('ul');
      for (const line of lines.slice(0, 100)) {
        const item = document.createElement('li');
        item.textContent = line;
        items.append(item);
      }
      box.append(head, items);
      return box;
    };
    const at = (point) => `at ${point[0].toFixed(1)}, ${point[1].toFixed(1)} m`;
    this.text.replaceChildren(
      list('Places', graph.places.map((p) => `${p.name}, visited ${p.visits} times`
        + p.failures.map((f) => `; failed at step ${f.step}: ${f.reason}`).join(''))),
      list('Objects', graph.objects.map((o) => `${o.name} ${at(o.at)}, seen ${o.seen} times`)),
      list('Openings', graph.openings.map((o) => `${o.id} ${at(o.at)}: ${o.text}`)));
  }
}
