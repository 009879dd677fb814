// Copyright 2026 The VLN stack authors
// SPDX-License-Identifier: Apache-2.0
// The WebSocket to the server: it comes back by itself, and the stop has three ways out.

const RETRY_MS = [300, 600, 1200, 2500, 4000];

export class Connection extends EventTarget {
  constructor() {
    super();
    this.socket = null;
    this.stopPort = null;
    this.attempts = 0;
    this.name = '';
    this.isClosed = true;
  }

  open() {
    this.isClosed = false;
    const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
    const socket = new WebSocket(`${scheme}://${location.host}/ws`);
    socket.binaryType = 'arraybuffer';
    this.socket = socket;
    socket.onopen = () => {
      this.attempts = 0;
      this.send({ type: 'hello', name: this.name });
      this.send({ type: 'show', camera: !document.hidden });
      this.dispatchEvent(new Event('up'));
    };
    socket.onmessage = (event) => this.receive(event.data);
    socket.onclose = () => {
      this.dispatchEvent(new Event('down'));
      if (this.isClosed) return;
      const wait = RETRY_MS[Math.min(this.attempts++, RETRY_MS.length - 1)];
      setTimeout(() => this.dispatchEvent(new Event('retry')), wait);
    };
  }

  close() {
    this.isClosed = true;
    this.socket?.close();
  }

  get isUp() { return this.socket?.readyState === WebSocket.OPEN; }

  send(message) {
    if (!this.isUp) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }

  receive(data) {
    let message, bytes = null;
    if (typeof data === 'string') {
      message = JSON.parse(data);
    } else {
      const length = new DataView(data).getUint32(0);
      message = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length)));
      bytes = new Uint8Array(data, 4 + length);
    }
    this.dispatchEvent(new CustomEvent('message', { detail: { message, bytes } }));
  }

  // Every way at once, because nobody knows which one still works; stopping twice does no harm.
  stop() {
    this.send({ type: 'stop' });
    const options = { method: 'POST', credentials: 'include', keepalive: true, cache: 'no-store' };
    if (this.stopPort) {
      const url = `${location.protocol}//${location.hostname}:${this.stopPort}/api/stop`;
      // The answer of another port may not be read; the request arrives all the same.
      fetch(url, { ...options, mode: 'no-cors' }).catch(() => {});
    }
    return fetch('/api/stop', options).then(async (response) => {
      const answer = await response.json();
      return response.ok ? answer : { stop: false, text: answer.error };
    }).catch(() => ({ stop: false, text: 'the server does not answer' }));
  }
}
