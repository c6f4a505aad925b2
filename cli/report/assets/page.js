/* Adds hovering, a panel for each trial, brushing and filters, sorting and arrow keys to a page that can be read without.
   Cells of rows come from JSON and are only ever inserted as text: nothing here turns a string into markup. */
(() => {
'use strict';
const $ = (s, e) => (e || document).querySelector(s), $$ = (s, e) => [...(e || document).querySelectorAll(s)];
const make = (tag, props, ...children) => { const e = document.createElement(tag);
  for (const k in props) k in e ? e[k] = props[k] : e.setAttribute(k, props[k]);
  e.append(...children); return e; };
const put = (e, props) => { for (const k in props) e.setAttribute(k, props[k]); return e; };
const svgMake = (tag, props) => put(document.createElementNS('http://www.w3.org/2000/svg', tag), props);
const button = (text, onclick, props) => make('button', {onclick, ...props}, text);
const cell = (tag, className, ...children) => make(tag, {className}, ...children);
const axisOf = v => v === 'score' ? v : +v;
const placeIn = (svg, e) => new DOMPoint(e.clientX, e.clientY).matrixTransform(svg.getScreenCTM().inverse());
const num = v => v == null ? '' : String(+(+v).toPrecision(6));
const signed = v => v === null ? '' : (v < 0 ? '\u2212' : '+') + num(Math.abs(v));
const tip = $('#tip'), panel = $('#panel');
document.documentElement.classList.add('js');
const [ID, PARENT, LABEL, SCORE, GAIN, WHO, WHY, NOTES, TIME, EXPECTED, VALUES] = Array(11).keys();

class Store {
  constructor(root) {
    this.root = root;
    this.s = root.dataset.s;
    this.data = JSON.parse($('script[type="application/json"]', root).textContent);
    this.t = this.data.t;
    this.ranges = new Map(); this.off = new Set(); this.text = ''; this.sort = null; this.shown = 100;
    this.charts = $$('svg', root).filter(e => $('[data-i]', e)).map(e => new Chart(this, e));
    this.mask = new Uint8Array(this.t.length).fill(1);
    if (this.t.length) { this.bar(); this.pairs(); this.table(); this.rails(); }
    root.onclick = e => { const link = e.target.closest('[data-t],[data-n]');
      if (!link || link.closest('details.card')) return;
      e.preventDefault(); this.open(+(link.dataset.t ?? link.dataset.n), link); };
    root.onkeydown = e => { if (e.key === 'Enter' && e.target.matches('tr[data-t]')) this.open(+e.target.dataset.t, e.target); };
  }
  label(i) { return this.data.labels[this.t[i][LABEL]]; }
  value(i, axis) { return axis === 'score' ? this.t[i][SCORE] : this.t[i][VALUES][axis]; }
  said(k, v) { const words = this.data.axes[k].words; return words && v !== null ? words[v] : num(v); }
  summary(i) { const t = this.t[i];
    return [t[ID], this.label(i)[1], num(t[SCORE]) + (t[GAIN] === null ? '' : ' (' + signed(t[GAIN]) + ')'), t[WHY]].filter(Boolean).join(' · '); }

  /* ---- filters ---- */
  bar() {
    const used = new Set(this.t.map(t => t[LABEL]));
    this.search = make('input', {type: 'search', placeholder: 'id, specialist, words', 'aria-label': 'Filter trials by words'});
    this.search.oninput = () => { this.text = this.search.value.toLowerCase(); this.later(); };
    this.count = make('output', {'aria-live': 'polite'});
    this.chips = make('span');
    const labels = [...used].sort((a, b) => a - b).map(l => { const box = make('input', {type: 'checkbox', checked: true});
      box.onchange = () => { box.checked ? this.off.delete(l) : this.off.add(l); this.later(); };
      return make('label', {}, box, ' ' + this.data.labels[l][1]); });
    const axis = make('select', {'aria-label': 'Filter by'}, ...this.data.axes.map((a, k) => make('option', {value: k}, a.name)), make('option', {value: 'score'}, this.data.metric));
    const [from, to] = ['from', 'to'].map(end => make('input', {type: 'number', step: 'any', placeholder: end, 'aria-label': end}));
    const or = (e, end) => e.value === '' ? end : +e.value;
    const set = () => { const k = axisOf(axis.value), r = [or(from, -Infinity), or(to, Infinity)];
      r.some(isFinite) ? this.ranges.set(k, r) : this.ranges.delete(k); this.later(); };
    axis.onchange = () => { const r = this.ranges.get(axisOf(axis.value)) || []; [from, to].forEach((e, k) => e.value = isFinite(r[k]) ? r[k] : ''); };
    from.onchange = to.onchange = set;
    const clear = button('Clear', () => { this.ranges.clear(); this.off.clear(); this.text = this.search.value = from.value = to.value = ''; labels.forEach(l => l.firstChild.checked = true); this.later(); });
    $('.filters', this.root).append(make('div', {className: 'bar', role: 'search'}, this.search, ...labels, axis, from, to, this.chips, clear, this.count));
  }
  later() { if (!this.due) this.due = requestAnimationFrame(() => { this.due = 0; this.apply(); }); }
  apply() {
    let n = 0;
    for (let i = 0; i < this.t.length; i++) { const t = this.t[i];
      let ok = !this.off.has(t[LABEL]);
      for (const [k, [a, b]] of this.ranges) { const v = this.value(i, k); ok = ok && v !== null && v >= a && v <= b; }
      if (ok && this.text) ok = (t[ID] + ' ' + this.data.who[t[WHO]] + ' ' + t[WHY] + ' ' + t[NOTES]).toLowerCase().includes(this.text);
      n += this.mask[i] = +ok; }
    this.charts.forEach(c => c.filter());
    this.count.textContent = (n === this.t.length ? n : n + ' of ' + this.t.length) + ' trials';
    this.chips.replaceChildren(...[...this.ranges].map(([k, r]) => button((k === 'score' ? this.data.metric : this.data.axes[k].name) + ' ' + num(r[0]) + '…' + num(r[1]) + ' ×',
      () => { this.ranges.delete(k); this.later(); }, {className: 'chip', title: 'Remove'})));
    $$('.brush', this.root).forEach(b => { if (!this.ranges.has(b.axis)) b.remove(); });
    this.shown = 100; this.rows();
  }

  /* ---- brushing ---- */
  rails() {
    $$('g.rail', this.root).forEach(g => { const rail = g.dataset, axis = axisOf(rail.axis), a = this.data.axes[axis];
      const top = +rail.top, foot = +rail.foot, {low, high} = a || {low: +rail.low, high: +rail.high};
      const at = y => { const p = Math.min(1, Math.max(0, (foot - y) / (foot - top))); return a && a.log ? low * (high / low) ** p : low + p * (high - low); };
      const place = e => placeIn(g.ownerSVGElement, e).y;
      const grip = $('.grip', g); let start = null, brush = null;
      grip.onpointerdown = e => { start = place(e); grip.setPointerCapture(e.pointerId); e.preventDefault(); };
      grip.onpointermove = e => { if (start === null) return; const y = place(e), y0 = Math.max(top - 2, Math.min(start, y)), y1 = Math.min(foot + 2, Math.max(start, y));
        if (y1 - y0 < 3) return;
        if (!brush || !brush.isConnected) { $$('.brush', g).forEach(b => b.remove()); brush = g.insertBefore(svgMake('rect', {class: 'brush', x: rail.x - 7, width: 14}), grip); brush.axis = axis; }
        put(brush, {y: y0, height: y1 - y0});
        const eps = (high - low) * 1e-9; this.ranges.set(axis, [at(y1) - eps, at(y0) + eps]); this.later(); };
      grip.onpointerup = e => { const y = place(e); if (start !== null && Math.abs(y - start) < 3) { this.ranges.delete(axis); this.later(); } start = null; brush = null; }; });
  }

  pairs() {
    const pairs = $$('.pair', this.root); if (pairs.length < 2) return;
    $$('.pairs', this.root).forEach(d => d.open = true);
    const select = make('select', {'aria-label': 'Pair of parameters'}, ...pairs.map((p, k) => make('option', {value: k}, $('figcaption', p).textContent)));
    select.onchange = () => pairs.forEach((p, k) => p.classList.toggle('shown', k === +select.value));
    pairs[0].before(make('p', {}, make('label', {}, 'Parameters ', select)));
  }

  /* ---- table ---- */
  table() {
    this.body = $('.trials tbody', this.root);
    const keys = [i => i, i => this.data.who[this.t[i][WHO]], i => this.t[i][LABEL], i => this.t[i][SCORE], i => this.t[i][GAIN], i => this.t[i][WHY]];
    const heads = $$('.trials th', this.root);
    heads.forEach((th, k) => th.replaceChildren(button(th.textContent, () => { const down = th.ariaSort !== 'descending';
      heads.forEach(o => o.ariaSort = null); th.ariaSort = down ? 'descending' : 'ascending'; this.sort = [keys[k], down ? -1 : 1]; this.rows(); })));
    this.more = button('Show more', () => { this.shown += 400; this.rows(); });
    $('.trials', this.root).after(this.more);
    this.apply();
  }
  rows() {
    const list = [...this.t.keys()].filter(i => this.mask[i]).reverse();
    if (this.sort) { const [key, way] = this.sort; list.sort((a, b) => { const x = key(a), y = key(b); return x === y ? a - b : x === null ? 1 : y === null ? -1 : x < y ? -way : way; }); }
    this.body.replaceChildren(...list.slice(0, this.shown).map(i => { const t = this.t[i], l = this.label(i);
      return make('tr', {tabIndex: 0, 'data-t': i}, ...[['', t[ID]], ['', this.data.who[t[WHO]]], ['', cell('span', 'tag ' + l[0], l[1])], ['n', num(t[SCORE])],
        ['n', signed(t[GAIN])], ['h', t[WHY]]].map(c => cell('td', ...c))); }));
    this.more.hidden = list.length <= this.shown;
  }

  /* ---- one trial ---- */
  async open(i, from) {
    const t = this.t[i], p = this.t[t[PARENT]], card = document.getElementById('s' + this.s + '-t' + i);
    panel.replaceChildren(button('×', () => { panel.hidden = true; from?.focus?.(); }, {'aria-label': 'Close'}), make('h2', {tabIndex: -1}, t[ID] + ' · ' + this.label(i)[1] + (t[SCORE] === null ? '' : ' · ' + num(t[SCORE]))));
    const full = card || await report.more?.(i);
    if (full) panel.append(...[...full.cloneNode(true).children].slice(1));
    else {
      const dl = make('dl'), row = (k, v) => v && dl.append(make('dt', {}, k), make('dd', {}, v));
      row('hypothesis', t[WHY]); row('change', signed(t[GAIN])); row('expected', t[EXPECTED]); row('specialist', this.data.who[t[WHO]]); row('parent', p ? p[ID] : 'none'); row('time', t[TIME]);
      this.data.axes.forEach((a, k) => { const v = t[VALUES][k], w = p ? p[VALUES][k] : null; if (v !== null || w !== null) row(a.name, (v === null ? 'not set' : this.said(k, v)) + (p && v !== w ? '  (parent ' + (w === null ? 'not set' : this.said(k, w)) + ')' : '')); });
      row('notes', t[NOTES]);
      panel.append(dl, make('p', {className: 'how'}, 'In full: lineage show ' + t[ID]));
    }
    $$('[id]', panel).forEach(e => e.removeAttribute('id'));
    panel.onclick = e => { const link = e.target.closest('[data-t]'); if (link) { e.preventDefault(); this.open(+link.dataset.t, from); } };
    panel.hidden = false; $('h2', panel).focus();
  }
}

/* The marks of one picture: the position of each trial and the paths that draw them. */
class Chart {
  constructor(store, svg) {
    this.store = store; this.svg = svg; this.marks = new Map();
    this.paths = $$('path[data-i]', svg).map(el => { const index = el.dataset.i.split(' ').map(Number), parts = el.getAttribute('d').split('M').slice(1);
      const merged = index.length === parts.length ? parts : [parts.join('M')];
      index.forEach((i, k) => this.marks.set(i, {d: merged[k], thread: el.classList.contains('thread'), cross: el.classList.contains('cross')}));
      return {el, index, merged, dim: null}; });
    for (const m of this.marks.values()) m.points = m.d.match(/-?[\d.]+(?:e-?\d+)?/g).map(Number);
    svg.tabIndex = 0;
    svg.onpointermove = e => this.hover(e);
    svg.onpointerleave = svg.onblur = () => this.leave();
    svg.onkeydown = e => this.key(e);
    svg.onclick = e => { const i = e.target.closest('[data-n],.grip') ? null : this.near(e); if (i !== null) { e.stopPropagation(); this.store.open(i, svg); } };
    $$('title', svg).forEach(e => { if (e.parentNode.matches('[data-i]')) e.remove(); });
  }
  filter() {
    const mask = this.store.mask;
    for (const p of this.paths) {
      if (p.index.length === 1) { p.el.classList.toggle('dim', !mask[p.index[0]]); continue; }
      let lit = '', dim = ''; p.index.forEach((i, k) => mask[i] ? lit += 'M' + p.merged[k] : dim += 'M' + p.merged[k]);
      p.el.setAttribute('d', lit);
      if (dim && !p.dim) { p.dim = p.el.cloneNode(); p.dim.removeAttribute('data-i'); p.dim.classList.add('dim'); p.el.before(p.dim); }
      if (p.dim) p.dim.setAttribute('d', dim);
    }
    $$('text[data-n]', this.svg).forEach(e => e.setAttribute('opacity', mask[+e.dataset.n] ? 1 : .3));
  }
  near(e) {
    const at = placeIn(this.svg, e);
    let best = null, distance = 14;
    for (const [i, m] of this.marks) { if (!this.store.mask[i]) continue;
      const q = m.points; let d;
      if (m.thread) { let k = 0; while (k + 4 < q.length && q[k + 2] < at.x) k += 2;
        const f = (at.x - q[k]) / (q[k + 2] - q[k]); d = f < -.1 || f > 1.1 ? 99 : Math.abs(q[k + 1] + f * (q[k + 3] - q[k + 1]) - at.y); }
      else { const o = m.cross ? 2.5 : 0; d = Math.hypot(q[0] + o - at.x, q[1] + o - at.y); }
      if (d < distance) { distance = d; best = i; } }
    return best;
  }
  show(i, x, y) {
    const m = this.marks.get(i); this.now = i;
    if (!this.ring) this.ring = this.svg.appendChild(svgMake('path', {}));
    const o = m.cross ? 2.5 : 0, q = m.points;
    put(this.ring, {class: m.thread ? 'lit' : 'ring', d: m.thread ? 'M' + m.d : `M${q[0] + o - 8} ${q[1] + o}a8 8 0 1 0 16 0a8 8 0 1 0-16 0`});
    tip.textContent = this.store.summary(i); tip.hidden = false;
    const within = (v, end) => Math.max(4, Math.min(v, end - 8)) + 'px';
    tip.style.left = within(x + 14, innerWidth - tip.offsetWidth); tip.style.top = within(y + 16, innerHeight - tip.offsetHeight);
  }
  hover(e) { if (e.buttons) return; const i = this.near(e); i === null ? this.leave() : this.show(i, e.clientX, e.clientY); }
  leave() { tip.hidden = true; this.ring?.remove(); this.ring = null; }
  key(e) {
    if (e.key === 'Enter' && this.now !== undefined) { this.store.open(this.now, this.svg); return; }
    const way = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[e.key]; if (!way || e.target !== this.svg) return;
    e.preventDefault();
    const list = [...this.marks.keys()].filter(i => this.store.mask[i]).sort((a, b) => a - b); if (!list.length) return;
    const k = list.indexOf(this.now), i = list.at(k < 0 && way < 0 ? -1 : (k + way) % list.length), q = this.marks.get(i).points;
    const at = new DOMPoint(q[0], q[1]).matrixTransform(this.svg.getScreenCTM()); this.show(i, at.x, at.y);
  }
}
document.onkeydown = e => { if (e.key === 'Escape') { if (!panel.hidden) $('button', panel).click(); tip.hidden = true; } };

const begin = performance.now();
/* Used by live.js, which sets `more`: it fetches a trial that the page does not contain in full. */
const report = window.report = {Store, stores: $$('.store').map(e => new Store(e))};
document.documentElement.dataset.ready = Math.round(performance.now() - begin);
})();
