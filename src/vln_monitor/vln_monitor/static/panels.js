// Copyright 2026 The VLN stack authors
// SPDX-License-Identifier: Apache-2.0
// Everything that is text: progress, decisions, health, commands, people.

export const byId = (id) => document.getElementById(id);

export function element(tag, className = '', text = '') {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== '') made.textContent = text;
  return made;
}

const MARKS = { pending: '○', active: '▶', done: '✓', skipped: '–', failed: '✗' };

export function showProgress(message) {
  const items = message.items.map((item) => {
    const line = element('li', item.status);
    const mark = element('span', 'mark', MARKS[item.status] ?? '?');
    mark.setAttribute('aria-hidden', 'true');
    const words = element('div');
    words.append(element('span', '', item.text), element('span', 'sr', `: ${item.status}`));
    if (item.reason && item.status !== 'pending') words.append(element('small', '', item.reason));
    line.append(mark, words);
    return line;
  });
  byId('progress').replaceChildren(...items);
}

function showDecision(entry) {
  const item = element('li');
  const top = element('div', 'top');
  const tag = element('span', entry.ok ? 'tag ok' : 'tag bad', entry.ok ? 'ok' : entry.code.toLowerCase().replaceAll('_', ' '));
  top.append(element('code', '', entry.action), tag);
  item.append(top);
  if (entry.reason) item.append(element('p', '', entry.reason));
  if (entry.analysis) {
    const more = element('details');
    more.append(element('summary', '', 'Analysis'), element('p', '', entry.analysis));
    item.append(more);
  }
  for (const refusal of entry.refusals) item.append(element('p', 'refused', `refused before: ${refusal}`));
  if (entry.outcome && entry.outcome !== entry.reason) item.append(element('p', entry.ok ? 'quiet' : 'bad', entry.outcome));
  const facts = [`step ${entry.step}`, entry.planner, `${(entry.latency ?? 0).toFixed(2)} s`];
  if (entry.prompt_tokens || entry.completion_tokens) facts.push(`${entry.prompt_tokens} + ${entry.completion_tokens} tokens`);
  if (entry.cost !== null) facts.push(`${entry.cost.toFixed(4)} $`);
  item.append(element('div', 'meta number', facts.join(' · ')));
  return item;
}

export function showDecisions(entries) {
  const items = [];  // newest first, those of an instruction below its words
  entries.forEach((entry, k) => {
    const before = entries[k - 1];
    if (!before || before.episode !== entry.episode || entry.step < before.step) {
      items.unshift(element('li', 'instruction', entry.instruction || entry.episode));
    }
    items.splice(1, 0, showDecision(entry));
  });
  byId('decisions').replaceChildren(...items);
  const sum = (key) => entries.reduce((total, entry) => total + (entry[key] ?? 0), 0);
  const facts = [`${entries.length} ${entries.length === 1 ? 'decision' : 'decisions'}`];
  const tokens = sum('prompt_tokens') + sum('completion_tokens');
  if (tokens) facts.push(`${tokens} tokens`);
  if (sum('cost')) facts.push(`${sum('cost').toFixed(3)} $`);
  byId('totals').textContent = facts.join(' · ');
}

const WORDS = { ok: 'well', warn: 'warns', error: 'error', stale: 'stale', silent: 'silent', absent: 'not there' };

export function showHealth(nodes) {
  const list = byId('nodes');
  for (const node of nodes) {
    const id = `node-${node.name.replace(/\W/g, '-')}`;
    let item = byId(id);
    if (!item) {
      item = element('li');
      item.id = id;
      const more = element('details');
      const head = element('summary');
      head.append(element('span', 'dot'), element('span', '', node.name));
      more.append(head, element('dl'));
      item.append(more, element('div', 'quiet'));
      list.append(item);
    }
    const isBad = ['error', 'silent', 'absent'].includes(node.state);
    item.querySelector('.dot').className = `dot ${node.state === 'ok' ? 'ok' : isBad ? 'error' : 'warn'}`;
    const age = node.age ? ` for ${node.age} s` : '';
    const told = node.text && node.text !== 'ok' && node.state !== 'absent' ? `: ${node.text}` : '';
    item.querySelector('.quiet').textContent = `${WORDS[node.state] ?? node.state}${age}${told}`;
    const rows = Object.entries(node.values).flatMap(([key, value]) => [element('dt', '', key), element('dd', '', value || '–')]);
    item.querySelector('dl').replaceChildren(...rows);
  }
}

export function showCommands(entries) {
  const items = entries.slice().reverse().map((entry) => {
    const item = element('li');
    const time = new Date(entry.time).toLocaleTimeString();
    item.append(element('span', 'quiet number', `${time} `), element('strong', '', `${entry.who} `),
      element('span', '', `${entry.what} `), element('span', 'quiet', `– ${entry.outcome}`));
    return item;
  });
  byId('commands').replaceChildren(...items);
}

export function showHistory(entries, onAgain) {
  const items = entries.slice().reverse().map((entry) => {
    const item = element('li');
    const again = element('button', '', 'Use again');
    again.type = 'button';
    again.setAttribute('aria-label', `Use again: ${entry.text}`);
    again.addEventListener('click', () => onAgain(entry.text));
    item.append(again, element('div', '', entry.text),
      element('div', 'quiet', `${entry.who}${entry.outcome ? `: ${entry.outcome}` : ''}`));
    return item;
  });
  byId('history').replaceChildren(...items);
}
