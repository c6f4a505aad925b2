/* Adds hovering, a panel for each trial, comparisons, brushing and filters, sorting, links and arrow keys to a page that can
   be read without. Cells of rows come from JSON and are only ever inserted as text: nothing here turns a string into markup. */
(() => {
'use strict';
const $ = (s, e) => (e || document).querySelector(s), $$ = (s, e) => [...(e || document).querySelectorAll(s)];
const make = (tag, props, ...children) => { const e = document.createElement(tag);
  for (const k in props) k in e ? e[k] = props[k] : e.setAttribute(k, props[k]);
  e.append(...children); return e; };
const put = (e, props) => { for (const k in props) e.setAttribute(k, props[k]); return e; };
const svgMake = (tag, props, ...children) => { const e = put(document.createElementNS('http://www.w3.org/2000/svg', tag), props); e.append(...children); return e; };
const button = (text, onclick, props) => make('button', {onclick, type: 'button', ...props}, text);
const cell = (tag, className, ...children) => make(tag, {className}, ...children);
const placeIn = (svg, e) => new DOMPoint(e.clientX, e.clientY).matrixTransform(svg.getScreenCTM().inverse());
const magnitude = v => v ? Math.floor(Math.log10(Math.abs(v))) : 0;
/* As lineage_mean_text: to the second digit of the margin m, if there is one. */
const num = (v, m) => v == null ? '' : String(+(+v).toPrecision(Math.min(15, Math.max(6, magnitude(v) + 1, m > 0 ? magnitude(v) - magnitude(m) + 2 : m === 0 ? 15 : 0))));
const about = v => String(+(+v).toPrecision(2));
const signed = v => v == null ? '' : (v < 0 ? '\u2212' : '+') + num(Math.abs(v));
const plural = (n, word) => n + ' ' + word + (n === 1 ? '' : 's');
const tip = $('#tip'), panel = $('#panel');
document.documentElement.classList.add('js');
const PICKS = 6, WORK = 8e6, BINS = 64;

class Store {
  constructor(root, params) {
    this.root = root; this.s = root.dataset.s; this.prefix = this.s === '0' ? '' : this.s + '.';
    const d = this.d = JSON.parse($('script[type="application/json"]', root).textContent);
    this.n = d.n; this.mask = new Uint8Array(d.n).fill(1);
    this.at = new Map(d.id.map((id, i) => [id, i]));
    this.changed = new Map();
    d.knobs.forEach((knob, k) => { const c = knob.c; knob.to = new Map();
      for (let j = 0; j < c.length; j += 4) { knob.to.set(c[j], c[j + 2]);
        if (!this.changed.has(c[j])) this.changed.set(c[j], []);
        this.changed.get(c[j]).push([knob.name, c[j + 1], c[j + 2], d.sources[c[j + 3]]]); } });
    this.columns = this.makeColumns(); this.byKey = new Map(this.columns.map(c => [c.key, c])); this.orders = new Map();
    this.charts = $$('svg', root).filter(e => $('[data-i]', e)).map(e => new Chart(this, e));
    this.picks = []; this.clear();
    if (!this.n) return;
    this.bar(); this.pairs(); this.table(); this.rails(); this.news();
    this.load(params);
    root.onclick = e => { const link = e.target.closest('[data-t],[data-n]');
      if (!link || e.target.closest('input') || link.closest('.card')) return;
      e.preventDefault(); this.open(+(link.dataset.t ?? link.dataset.n), link); };
    root.onkeydown = e => { if (e.key === 'Enter' && e.target.matches('tr[data-t]')) this.open(+e.target.dataset.t, e.target); };
  }
  clear() { this.text = ''; this.off = new Set(); this.ranges = new Map(); this.since = 0; }
  label(i) { return this.d.labels[this.d.label[i]]; }
  margin(i) { return this.d.score[i] === null ? null : this.d.margins[i] ?? this.d.margin; }
  score(i) { const v = this.d.score[i], m = this.margin(i); return v === null ? this.d.odd[i] || '' : num(v, m) + (m === null ? '' : ' \u00b1 ' + about(m)); }
  value(i, axis) { return axis === 'score' || axis === 'gain' ? this.d[axis][i] : this.d.axes[axis].v[i]; }
  said(i, k) { const a = this.d.axes[k], v = a.v[i]; return v === null ? a.odd?.[i] ?? '' : a.words ? a.words[v] : num(v); }
  axisName(k) { return k === 'score' ? this.d.metric : k === 'gain' ? 'change' : this.d.axes[k].name; }
  summary(i) { const d = this.d;
    return [d.id[i], this.label(i)[1], this.score(i) + (d.gain[i] === null ? '' : ' (' + signed(d.gain[i]) + ')'), d.why[i]].filter(Boolean).join(' · '); }
  /* What the trial changed: its parameters against those of its parent, and what was measured or stated. */
  changes(i) { const d = this.d, p = d.parent[i], out = [];
    if (p >= 0) d.axes.forEach((a, k) => { const to = this.said(i, k), from = this.said(p, k); if (to !== from) out.push([a.name, from || 'not set', to || 'not set', d.sources[0]]); });
    return out.concat(this.changed.get(i) || []); }
  makeColumns() { const d = this.d, verdicts = d.verdict.some(v => v);
    const text = (key, name, get, shown, className) => ({key, name, get, say: get, shown, className: className || ''});
    const all = [text('id', 'trial', i => d.id[i], true), text('who', 'specialist', i => d.whos[d.who[i]], d.whos.length > 1),
      {key: 'outcome', name: 'outcome', get: i => d.label[i], say: i => { const l = this.label(i); return cell('span', 'tag ' + l[0], l[1]); }, shown: true, className: ''},
      {key: 'score', name: d.metric, get: i => d.score[i], say: i => { const m = this.margin(i); return m === null ? this.score(i) : make('span', {}, num(d.score[i], m), cell('span', 'pm', ' \u00b1 ' + about(m))); }, shown: true, className: 'n', number: true},
      {key: 'gain', name: 'change', get: i => d.gain[i], say: i => signed(d.gain[i]), shown: true, className: 'n', number: true},
      {key: 'verdict', name: 'verdict', get: i => d.verdict[i] || null, say: i => d.verdict[i] ? cell('span', 'verdict v' + d.verdict[i], d.verdicts[d.verdict[i]]) : '', shown: verdicts, className: ''},
      text('expected', 'expected', i => d.expected[i], false), text('time', 'appended', i => d.time[i], false)];
    all[0].get = i => i;
    d.axes.forEach((a, k) => all.push({key: 'p.' + a.name, name: a.name, get: i => a.v[i], say: i => this.said(i, k), shown: k < d.pictured && k < 6, className: 'n', number: true}));
    d.knobs.forEach(a => all.push({key: 'k.' + a.name, name: a.name + ' (changed to)', get: i => { const v = a.to.get(i); return v === undefined ? null : Number.isFinite(parseFloat(v)) ? parseFloat(v) : v; },
      say: i => a.to.get(i) ?? '', shown: false, className: 'n', mixed: true}));
    all.push(text('why', 'hypothesis', i => d.why[i], true, 'h'));
    all.forEach(c => c.usual = c.shown);
    return all; }

  /* ---- filters ---- */
  bar() {
    const d = this.d, used = [...new Set(d.label)].sort((a, b) => a - b);
    this.search = make('input', {type: 'search', placeholder: 'id, specialist, words', 'aria-label': 'Filter trials by words'});
    this.search.oninput = () => { this.text = this.search.value.toLowerCase(); this.later(); };
    this.count = make('output', {'aria-live': 'polite'});
    this.chips = make('span');
    this.boxes = used.map(l => { const box = make('input', {type: 'checkbox', checked: true, value: l});
      box.onchange = () => { box.checked ? this.off.delete(l) : this.off.add(l); this.later(); };
      return make('label', {}, box, ' ' + d.labels[l][1]); });
    const choices = d.axes.map((a, k) => make('option', {value: k}, a.name));
    this.axis = make('select', {'aria-label': 'Filter by'}, ...choices, make('option', {value: 'score'}, d.metric), make('option', {value: 'gain'}, 'change'));
    this.ends = ['from', 'to'].map(end => make('input', {type: 'number', step: 'any', placeholder: end, 'aria-label': end}));
    const chosen = () => isNaN(this.axis.value) ? this.axis.value : +this.axis.value, or = (e, end) => e.value === '' ? end : +e.value;
    const set = () => { const r = [or(this.ends[0], -Infinity), or(this.ends[1], Infinity)];
      r.some(isFinite) ? this.ranges.set(chosen(), r) : this.ranges.delete(chosen()); this.later(); };
    this.axis.onchange = () => { const r = this.ranges.get(chosen()) || []; this.ends.forEach((e, k) => e.value = isFinite(r[k]) ? r[k] : ''); };
    this.ends.forEach(e => e.onchange = set);
    this.compareButton = button('', () => this.compare(), {className: 'chip'});
    this.unpick = button('Select none', () => { this.picks = []; this.rows(); links.later(); });
    $('.filters', this.root).append(make('div', {className: 'bar', role: 'search', 'aria-label': 'Filters of ' + $('h1', this.root).textContent}, this.search, ...this.boxes, this.axis, ...this.ends, this.chips,
      button('Clear', () => { this.clear(); this.fields(); this.later(); }), this.compareButton, this.unpick, this.chooser(), this.count));
  }
  chooser() {
    const box = c => { const input = make('input', {type: 'checkbox', checked: c.shown}); c.box = input;
      input.onchange = () => { c.shown = input.checked; this.heads(); this.rows(); links.later(); };
      return make('label', {}, input, ' ' + c.name); };
    return make('details', {className: 'columns'}, make('summary', {}, 'Columns'), make('div', {}, ...this.columns.map(box)));
  }
  /* Writes the state of the filters into their fields. */
  fields() { this.search.value = this.text; this.ends.forEach(e => e.value = ''); this.axis.onchange();
    this.boxes.forEach(b => b.firstChild.checked = !this.off.has(+b.firstChild.value)); this.columns.forEach(c => { if (c.box) c.box.checked = c.shown; }); }
  later() { if (!this.due) this.due = requestAnimationFrame(() => { this.due = 0; this.apply(); links.later(); }); }
  words(i) { const d = this.d; return (d.id[i] + ' ' + d.whos[d.who[i]] + ' ' + d.labels[d.label[i]][1] + ' ' + d.verdicts[d.verdict[i]] + ' ' + d.why[i] + ' ' + d.notes[i]).toLowerCase(); }
  /* Each text is turned to lower case once, while the browser is idle or when a search needs it. */
  hay(until) { const h = this.hays ||= []; while (h.length < Math.min(until, this.n)) h.push(this.words(h.length)); return h; }
  apply() {
    const {mask, n, d, text} = this, on = d.labels.map((l, k) => !this.off.has(k)), hay = text ? this.hay(n) : null;
    for (let i = 0; i < n; i++) mask[i] = i >= this.since && on[d.label[i]] && (!text || hay[i].includes(text)) ? 1 : 0;
    for (const [k, [a, b]] of this.ranges) { const v = k === 'score' || k === 'gain' ? d[k] : d.axes[k].v;
      for (let i = 0; i < n; i++) if (!(v[i] !== null && v[i] >= a && v[i] <= b)) mask[i] = 0; }
    let lit = 0; for (let i = 0; i < n; i++) lit += mask[i];
    this.all = lit === n;
    this.charts.forEach(c => c.filter());
    this.count.textContent = lit === n ? plural(n, 'trial') : lit + ' of ' + plural(n, 'trial');
    const chip = (text, remove) => button(text + ' \u00d7', () => { remove(); this.later(); }, {className: 'chip', title: 'Remove'});
    this.chips.replaceChildren(...[...this.ranges].map(([k, r]) => chip(this.axisName(k) + ' ' + num(r[0]) + '\u2026' + num(r[1]), () => this.ranges.delete(k))),
      ...(this.since ? [chip('since ' + d.id[this.since - 1], () => this.since = 0)] : []));
    $$('.brush', this.root).forEach(b => { if (!this.ranges.has(b.axis)) b.remove(); });
    this.shown = 100; this.rows();
  }

  /* ---- links: the state as parameters behind the # of the address ---- */
  save(out) {
    const p = this.prefix, d = this.d, add = (k, v) => out.append(p + k, v);
    if (this.opened !== undefined) add('trial', d.id[this.opened]);
    if (this.comparing) add('compare', '1');
    this.picks.forEach(i => add('pick', d.id[i]));
    if (this.text) add('q', this.text);
    for (const l of this.off) add('off', d.labels[l][1]);
    for (const [k, [a, b]] of this.ranges) add(typeof k === 'number' ? 'p.' + d.axes[k].name : k, a + '..' + b);
    if (this.since) add('since', d.id[this.since - 1]);
    if (this.sort) add('sort', (this.sort[1] < 0 ? '-' : '') + this.sort[0]);
    this.columns.forEach(c => { if (c.shown !== c.usual) add(c.shown ? 'show' : 'hide', c.key); });
  }
  load(params) {
    const p = this.prefix, d = this.d, one = k => params.get(p + k), all = k => params.getAll(p + k), known = id => this.at.get(id);
    this.clear(); this.text = (one('q') || '').toLowerCase();
    d.labels.forEach((l, k) => { if (all('off').includes(l[1])) this.off.add(k); });
    const range = (k, text) => { const [a, b] = text.split('..').map(Number); if (!isNaN(a) && !isNaN(b)) this.ranges.set(k, [a, b]); };
    ['score', 'gain'].forEach(k => { if (one(k)) range(k, one(k)); });
    d.axes.forEach((a, k) => { if (one('p.' + a.name)) range(k, one('p.' + a.name)); });
    this.since = one('since') && this.at.has(one('since')) ? known(one('since')) + 1 : 0;
    const sort = one('sort'), key = sort?.replace(/^-/, '');
    this.sort = this.byKey.has(key) ? [key, sort === key ? 1 : -1] : null;
    this.columns.forEach(c => c.shown = (c.usual || all('show').includes(c.key)) && !all('hide').includes(c.key));
    this.picks = all('pick').map(known).filter(i => i !== undefined).slice(0, PICKS);
    this.fields(); this.heads(); this.apply();
    if (one('compare') && this.picks.length > 1) this.compare();
    else if (one('trial') && this.at.has(one('trial'))) this.open(known(one('trial')));
  }

  /* ---- since you last looked ---- */
  news() {
    const d = this.d, key = 'lineage:' + d.dir, last = {id: d.id[this.n - 1], n: this.n, time: new Date().toLocaleString()};
    let before = null;
    try { before = JSON.parse(sessionStorage.getItem(key) || localStorage.getItem(key));
      if (before) sessionStorage.setItem(key, JSON.stringify(before));
      localStorage.setItem(key, JSON.stringify(last)); } catch { return; }
    const from = before ? (this.at.has(before.id) ? this.at.get(before.id) + 1 : before.n) : this.n;
    if (!(from > 0 && from < this.n)) return;
    const count = c => { let k = 0; for (let i = from; i < this.n; i++) k += d.labels[d.label[i]][0] === c; return k; };
    const best = end => { let v = null; for (let i = 0; i < end; i++) if (['keep', 'baseline'].includes(this.label(i)[0]) && d.score[i] !== null && (v === null || (d.higher ? d.score[i] > v : d.score[i] < v))) v = d.score[i]; return v; };
    const was = best(from), now = best(this.n), failed = count('fail');
    const text = 'Since you last looked (' + before.time + '): ' + plural(this.n - from, 'new trial') + ', ' + count('keep') + ' kept' + (failed ? ', ' + failed + ' failed' : '') + (now === was ? '; the best is still ' + num(now, this.d.margin) + '. ' : '; the best went from ' + num(was, this.d.margin) + ' to ' + num(now, this.d.margin) + '. ');
    $('header', this.root).append(make('p', {className: 'since'}, text, button('Show only these', () => { this.since = from; this.later(); $('.filters', this.root).scrollIntoView(); })));
  }

  /* ---- brushing ---- */
  rails() {
    $$('g.rail', this.root).forEach(g => { const rail = g.dataset, axis = rail.axis === 'score' ? 'score' : +rail.axis, a = this.d.axes[axis];
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
    this.more = button('Show more', () => { this.shown += 400; this.rows(); });
    $('.trials', this.root).parentNode.after(this.more);
    setTimeout(() => { const idle = self.requestIdleCallback || setTimeout, step = () => { if (this.root.isConnected && this.hay((this.hays || []).length + 4000).length < this.n) idle(step); }; idle(step); }, 500);
  }
  heads() {
    const cols = this.columns.filter(c => c.shown);
    $('.trials thead tr', this.root).replaceChildren(make('th', {scope: 'col'}, cell('span', 'hidden', 'select')), ...cols.map(c => { const now = this.sort && this.sort[0] === c.key ? this.sort[1] : 0;
      const th = make('th', {scope: 'col', className: c.className}, button(c.name, () => { this.sort = [c.key, now < 0 ? 1 : -1]; this.heads(); this.rows(); links.later(); $$('.trials th button', this.root)[cols.indexOf(c)].focus(); }));
      if (now) th.ariaSort = now < 0 ? 'descending' : 'ascending';
      return th; }));
  }
  /* All trials in the ascending order of a column, those without a value last; computed once for each column. */
  order(key) {
    const c = this.byKey.get(key); let order = this.orders.get(key);
    if (order) return order;
    const v = Array.from({length: this.n}, (_, i) => c.get(i)), has = [], lacks = [];
    for (let i = 0; i < this.n; i++) (v[i] === null || v[i] === '' ? lacks : has).push(i);
    const rank = x => typeof x === 'number' ? 0 : 1;
    has.sort(c.mixed ? (a, b) => rank(v[a]) - rank(v[b]) || (v[a] < v[b] ? -1 : v[a] > v[b] ? 1 : a - b)
      : c.number || typeof v[has[0]] === 'number' ? (a, b) => v[a] - v[b] || a - b : (a, b) => v[a] < v[b] ? -1 : v[a] > v[b] ? 1 : a - b);
    this.orders.set(key, order = {has, lacks});
    return order;
  }
  list() {
    const {mask, shown} = this, out = [], take = (from, way) => { for (let k = way > 0 ? 0 : from.length - 1; k >= 0 && k < from.length && out.length <= shown; k += way) if (mask[from[k]]) out.push(from[k]); };
    if (!this.sort) for (let i = this.n - 1; i >= 0 && out.length <= shown; i--) { if (mask[i]) out.push(i); }
    else { const o = this.order(this.sort[0]); take(o.has, this.sort[1]); take(o.lacks, -1); }
    return out;
  }
  rows() {
    const list = this.list(), cols = this.columns.filter(c => c.shown);
    this.body.replaceChildren(...list.slice(0, this.shown).map(i => { const box = make('input', {type: 'checkbox', checked: this.picks.includes(i), 'aria-label': 'Select ' + this.d.id[i]});
      box.onchange = () => this.pick(i, box.checked);
      return make('tr', {tabIndex: 0, 'data-t': i}, cell('td', 'pick', box), ...cols.map(c => cell('td', c.className, c.say(i)))); }));
    this.more.hidden = list.length <= this.shown;
    this.compareButton.hidden = this.picks.length < 2; this.unpick.hidden = !this.picks.length;
    this.compareButton.textContent = 'Compare ' + this.picks.length;
  }
  pick(i, on) {
    this.picks = this.picks.filter(k => k !== i); if (on) this.picks.push(i);
    if (this.picks.length > PICKS) this.picks.shift();
    this.rows(); links.later(); $('tr[data-t="' + i + '"] input', this.body)?.focus();
  }

  /* ---- one trial ---- */
  show(title, wide, from) {
    const close = () => { panel.hidden = true; this.opened = undefined; this.comparing = false; links.later(); from?.focus?.(); };
    report.stores.forEach(s => { s.opened = undefined; s.comparing = false; });
    panel.className = wide ? 'wide' : '';
    panel.replaceChildren(button('\u00d7', close, {'aria-label': 'Close'}), make('h2', {tabIndex: -1}, title));
    panel.onclick = e => { const link = e.target.closest('[data-t]'); if (link) { e.preventDefault(); this.open(+link.dataset.t, from); } };
    panel.hidden = false; $('h2', panel).focus();
  }
  card(i) { return document.getElementById('s' + this.s + '-t' + i) || report.more?.(i, this.s) || null; }
  async open(i, from) {
    const d = this.d, t = d.id[i];
    this.show([t, this.label(i)[1], this.score(i)].filter(Boolean).join(' · '), false, from);
    this.opened = i; links.later();
    const full = await this.card(i);
    if (this.opened !== i || panel.hidden) return;
    if (full) panel.append(...[...full.cloneNode(true).children].slice(1));
    else this.brief(i);
    panel.append(make('p', {}, button(this.picks.includes(i) ? 'Selected' : 'Select to compare', e => { this.pick(i, true); e.target.textContent = 'Selected'; })));
    $$('[id]', panel).forEach(e => e.removeAttribute('id'));
  }
  /* A trial that the page does not have in full. */
  brief(i) {
    const d = this.d, dl = make('dl'), p = d.parent[i], row = (k, v) => v && dl.append(make('dt', {}, k), make('dd', {}, v)), changes = this.changes(i);
    const line = (tag, ...texts) => make('tr', {}, ...texts.map((t, k) => cell(tag, k === 1 || k === 2 ? 'n' : '', t)));
    if (changes.length) panel.append(make('table', {className: 'changes'}, make('thead', {}, line('th', 'changed', 'from', 'to', 'source')), make('tbody', {}, ...changes.map(c => line('td', c[0], c[1] || '\u2013', c[2], c[3])))));
    row('hypothesis', d.why[i]); row('expected', d.expected[i]); row('verdict', d.verdicts[d.verdict[i]]); row('change', signed(d.gain[i])); row('specialist', d.whos[d.who[i]]);
    row('parent', p >= 0 ? d.id[p] : 'none'); row('time', d.time[i]);
    d.axes.forEach((a, k) => row(a.name, this.said(i, k))); row('notes', d.notes[i]);
    panel.append(dl, make('p', {className: 'how'}, 'In full: lineage show ' + d.id[i]));
  }

  /* ---- several trials ---- */
  async compare() {
    const picks = this.picks, d = this.d, swatch = k => svgMake('svg', {class: 'pic swatch', viewBox: '0 0 40 8'}, svgMake('path', {class: 'best style' + k, d: 'M0 4h40'}));
    this.show('Compare ' + plural(picks.length, 'trial'), true, this.compareButton);
    this.comparing = true; links.later();
    const facts = [['outcome', i => this.label(i)[1]], [d.metric, i => this.score(i)], ['change', i => signed(d.gain[i])], ['expected', i => d.expected[i]], ['verdict', i => d.verdicts[d.verdict[i]]],
      ['specialist', i => d.whos[d.who[i]]], ['parent', i => d.parent[i] >= 0 ? d.id[d.parent[i]] : 'none'], ['hypothesis', i => d.why[i]]];
    const settings = d.axes.map((a, k) => [a.name, i => this.said(i, k) || 'not set']).concat(d.knobs.filter(a => picks.some(i => a.to.has(i))).map(a => [a.name + ' (changed to)', i => a.to.get(i) ?? '\u2013']));
    const differ = settings.filter(([, say]) => new Set(picks.map(say)).size > 1), equal = settings.length - differ.length;
    const line = ([name, say], className) => make('tr', {className}, make('th', {scope: 'row'}, name), ...picks.map(i => cell('td', '', say(i))));
    panel.append(make('div', {className: 'scroll', tabIndex: 0, role: 'group', 'aria-label': 'Differences'}, make('table', {className: 'compare'},
      make('thead', {}, make('tr', {}, cell('td', ''), ...picks.map((i, k) => make('th', {scope: 'col'}, swatch(k), make('a', {href: '#', 'data-t': i}, d.id[i]))))),
      make('tbody', {}, ...facts.map(f => line(f, '')), ...differ.map(f => line(f, 'changed'))))));
    panel.append(make('p', {className: 'how'}, differ.length ? plural(equal, 'setting') + ' with equal values ' + (equal === 1 ? 'is' : 'are') + ' left out.' : 'No setting differs.'));
    const cards = await Promise.all(picks.map(i => this.card(i)));
    if (this.comparing && this.picks === picks) this.curves(picks, cards);
  }
  /* Overlays the step curves of the cards, which have their ranges as attributes. */
  curves(picks, cards) {
    const charts = new Map();
    cards.forEach((card, k) => card && $$('svg[data-first]', card).forEach(svg => { const a = svg.dataset, name = $('.axis', svg).textContent, first = +a.first, last = +a.last, low = +a.low, high = +a.high;
      const points = $('.curve', svg).getAttribute('d').slice(1).split('L').map(p => { const [x, y] = p.split(' ').map(Number); return [first + (x - 4) / 182 * (last > first ? last - first : 1), low + (64 - y) / 46 * (high - low)]; });
      if (!charts.has(name)) charts.set(name, []);
      charts.get(name).push({k, points}); }));
    if (!charts.size) { panel.append(make('p', {className: 'how'}, 'This page has no step curves of these trials. The file of lineage report has those of the best, the newest and the chain; lineage serve has all.')); return; }
    panel.append(make('h3', {}, 'Steps'), make('div', {className: 'overlays'}, ...[...charts].map(([name, lines]) => this.overlay(name, lines, picks))));
  }
  overlay(name, lines, picks) {
    const all = lines.flatMap(l => l.points), end = (k, f) => f(...all.map(p => p[k])), [x0, x1, y0, y1] = [end(0, Math.min), end(0, Math.max), end(1, Math.min), end(1, Math.max)];
    const x = v => 50 + 340 * (x1 > x0 ? (v - x0) / (x1 - x0) : .5), y = v => 150 - 120 * (y1 > y0 ? (v - y0) / (y1 - y0) : .5);
    const words = (x, y, cls, text) => svgMake('text', {x, y, class: cls}, text);
    return svgMake('svg', {class: 'pic', viewBox: '0 0 400 180', role: 'img'}, svgMake('title', {}, name + ' of ' + lines.map(l => this.d.id[picks[l.k]]).join(', ')),
      words(4, 14, 'strong', name), words(46, 154, 'tick end', num(y0)), words(46, 34, 'tick end', y1 > y0 ? num(y1) : ''), words(50, 172, 'small', num(x0)), words(390, 172, 'small end', 'step ' + num(x1)),
      svgMake('path', {class: 'grid', d: 'M50 150H390M50 30H390'}), ...lines.map(l => svgMake('path', {class: 'best style' + l.k, d: 'M' + l.points.map(p => x(p[0]).toFixed(1) + ' ' + y(p[1]).toFixed(1)).join('L')})));
  }
}

/* The marks of one picture. A class of few marks is an SVG path; larger ones, in data-d, are drawn on a canvas below the SVG, in
   a time that depends on the number of marks and not on how they overlap. */
class Chart {
  constructor(store, svg) {
    this.store = store; this.svg = svg; this.dense = !!$('[data-d]', svg);
    svg.tabIndex = 0;
    svg.onpointermove = e => this.hover(e);
    svg.onpointerleave = svg.onblur = () => this.leave();
    svg.onkeydown = e => this.key(e);
    svg.onclick = e => { const i = e.target.closest('[data-n],.grip') ? null : this.near(e); if (i !== null) { e.stopPropagation(); this.store.open(i, svg); } };
    $$('title', svg).forEach(e => { if (e.parentNode.matches('[data-i]')) e.remove(); });
    if (this.dense) { $$('.density', svg).forEach(e => e.remove()); this.canvas = make('canvas', {ariaHidden: 'true'});
      const plot = make('div', {className: 'plot'}); svg.replaceWith(plot); plot.append(this.canvas, svg); }
    this.seen = false; this.dirty = true;
    sight.observe(this.canvas || svg); (this.canvas || svg).chart = this;
  }
  /* Reads the marks when the chart is first seen or used. */
  read() {
    if (this.groups) return this.groups;
    return this.groups = $$('path[data-i]', this.svg).map(el => { const index = Int32Array.from(el.dataset.i.split(' '), Number), text = el.dataset.d || el.getAttribute('d');
      const parts = text.split('M').slice(1), own = index.length === parts.length ? parts : [parts.join('M')], c = el.classList, offset = c.contains('cross') ? 2.5 : 0;
      const g = {el, index, own, dense: !!el.dataset.d, thread: c.contains('thread'), offset, dim: null, x: new Float32Array(index.length), y: new Float32Array(index.length)};
      own.forEach((p, k) => { g.x[k] = parseFloat(p) + offset; g.y[k] = parseFloat(p.slice(p.indexOf(' ') + 1)) + offset; });
      if (g.thread) g.points = own.map(p => Float32Array.from(p.split(/[\sL]/), Number));
      el.removeAttribute('data-d');
      return g; });
  }
  marks() { if (!this.sorted) { const all = []; this.read().forEach(g => g.index.forEach((i, k) => all.push([i, g, k]))); this.sorted = all.sort((a, b) => a[0] - b[0]); } return this.sorted; }
  filter() { this.dirty = true; if (this.seen) this.draw(); }
  draw() {
    const mask = this.store.mask, groups = this.read(); this.dirty = false;
    for (const g of groups) { if (g.dense) continue;
      if (g.index.length === 1) { g.el.classList.toggle('dim', !mask[g.index[0]]); continue; }
      let lit = '', dim = ''; g.index.forEach((i, k) => mask[i] ? lit += 'M' + g.own[k] : dim += 'M' + g.own[k]);
      g.el.setAttribute('d', lit);
      if (dim && !g.dim) { g.dim = g.el.cloneNode(); g.dim.removeAttribute('data-i'); g.dim.classList.add('dim'); g.el.before(g.dim); }
      if (g.dim) g.dim.setAttribute('d', dim); }
    $$('text[data-n]', this.svg).forEach(e => e.setAttribute('opacity', mask[+e.dataset.n] ? 1 : .3));
    if (this.canvas) this.paint(groups.filter(g => g.dense));
  }
  paint(groups) {
    const box = this.svg.getBoundingClientRect(), view = this.svg.viewBox.baseVal, c = this.canvas; if (!box.width) return;
    const ratio = Math.min(devicePixelRatio, Math.sqrt(WORK / (box.width * box.height)));
    c.width = Math.max(1, Math.round(box.width * ratio)); c.height = Math.max(1, Math.round(box.height * ratio));
    const context = c.getContext('2d'), scale = c.width / view.width, total = groups.reduce((n, g) => n + g.index.length, 0);
    const dots = groups.filter(g => !g.thread), threads = groups.filter(g => g.thread);
    if (dots.length) this.raster(context, c, dots, scale, total);
    for (const lit of this.store.all ? [1] : [0, 1]) { const counted = threads.map(g => this.count(g, lit)), most = Math.max(1, ...counted.map(c => c.most));
      threads.forEach((g, k) => this.lines(context, g, counted[k].counts, most, scale, lit)); }
  }
  /* Counts the marks of each pixel, and gives a pixel of many marks more of the class's colour than one of a few. */
  raster(context, c, groups, scale, total) {
    const w = c.width, h = c.height, image = context.createImageData(w, h), out = image.data, counts = new Uint16Array(w * h), mask = this.store.mask;
    for (const lit of this.store.all ? [1] : [0, 1]) for (const g of groups) { const style = getComputedStyle(g.el), [r, gr, b] = style.stroke.match(/[\d.]+/g).map(Number);
      const size = Math.max(.5, Math.min(total > 20000 ? 1 : 9, (g.offset ? 2 : parseFloat(style.strokeWidth) / 2) * scale)), disk = [], touched = [], reach = Math.floor(size); let most = 1;
      for (let dy = -reach; dy <= reach; dy++) for (let dx = -reach; dx <= reach; dx++) if (dx * dx + dy * dy <= size * size + .5) disk.push(dx, dy);
      for (let k = 0; k < g.index.length; k++) { if (mask[g.index[k]] !== lit) continue;
        const x = Math.round(g.x[k] * scale), y = Math.round(g.y[k] * scale);
        for (let q = 0; q < disk.length; q += 2) { const px = x + disk[q], py = y + disk[q + 1]; if (px < 0 || py < 0 || px >= w || py >= h) continue;
          const p = py * w + px; if (!counts[p]++) touched.push(p); if (counts[p] > most) most = counts[p]; } }
      const base = Math.max(.35, .9 - .12 * Math.log2(most));
      for (const p of touched) { const a = (lit ? 1 : .15) * (most < 2 ? .9 : base + (.95 - base) * Math.log(counts[p]) / Math.log(most)), q = p * 4, under = out[q + 3] / 255 * (1 - a), sum = a + under;
        out[q] = (r * a + out[q] * under) / sum; out[q + 1] = (gr * a + out[q + 1] * under) / sum; out[q + 2] = (b * a + out[q + 2] * under) / sum; out[q + 3] = 255 * sum; counts[p] = 0; } }
    context.putImageData(image, 0, 0);
  }
  /* Lines between two axes are counted by where they begin and end, in steps of a few pixels, and drawn once for each count. */
  count(g, lit) {
    const bins = BINS, step = this.svg.viewBox.baseVal.height / bins, mask = this.store.mask, n = g.points[0].length / 2; let most = 1;
    const counts = new Uint32Array((n - 1) * bins * bins), bin = y => Math.max(0, Math.min(bins - 1, Math.floor(y / step)));
    for (let k = 0; k < g.index.length; k++) { if (mask[g.index[k]] !== lit) continue; const q = g.points[k];
      for (let a = 0; a < n - 1; a++) { const at = (a * bins + bin(q[2 * a + 1])) * bins + bin(q[2 * a + 3]); if (++counts[at] > most) most = counts[at]; } }
    return {counts, most};
  }
  lines(context, g, counts, most, scale, lit) {
    const bins = BINS, step = this.svg.viewBox.baseVal.height / bins, levels = [[], [], [], []];
    counts.forEach((count, at) => { if (count) levels[most > 1 ? Math.min(3, Math.floor(4 * Math.log(count) / Math.log(most))) : 3].push(at); });
    context.strokeStyle = getComputedStyle(g.el).stroke; context.lineWidth = Math.max(1, scale);
    levels.forEach((list, level) => { context.globalAlpha = (lit ? 1 : .15) * [.06, .15, .35, .8][level]; context.beginPath();
      for (const at of list) { const a = Math.floor(at / bins / bins), from = Math.floor(at / bins) % bins, to = at % bins, q = g.points[0];
        context.moveTo(q[2 * a] * scale, (from + .5) * step * scale); context.lineTo(q[2 * a + 2] * scale, (to + .5) * step * scale); }
      context.stroke(); });
    context.globalAlpha = 1;
  }
  near(e) {
    const at = placeIn(this.svg, e), mask = this.store.mask;
    let best = null, distance = 14; this.found = null;
    for (const g of this.read()) for (let k = 0; k < g.index.length; k++) { if (!mask[g.index[k]]) continue;
      let d;
      if (g.thread) { const q = g.points[k]; let j = 0; while (j + 4 < q.length && q[j + 2] < at.x) j += 2;
        const f = (at.x - q[j]) / (q[j + 2] - q[j]); d = f < -.1 || f > 1.1 ? 99 : Math.abs(q[j + 1] + f * (q[j + 3] - q[j + 1]) - at.y); }
      else { const dx = g.x[k] - at.x, dy = g.y[k] - at.y; if (dx > 14 || dx < -14) continue; d = Math.sqrt(dx * dx + dy * dy); }
      if (d < distance) { distance = d; best = g.index[k]; this.found = [g, k]; } }
    return best;
  }
  point(i, g, k, x, y) {
    this.now = i;
    if (!this.ring) this.ring = this.svg.appendChild(svgMake('path', {}));
    put(this.ring, {class: g.thread ? 'lit' : 'ring', d: g.thread ? 'M' + g.own[k] : `M${g.x[k] - 8} ${g.y[k]}a8 8 0 1 0 16 0a8 8 0 1 0-16 0`});
    tip.textContent = this.store.summary(i); tip.hidden = false;
    const within = (v, end) => Math.max(4, Math.min(v, end - 8)) + 'px';
    tip.style.left = within(x + 14, innerWidth - tip.offsetWidth); tip.style.top = within(y + 16, innerHeight - tip.offsetHeight);
  }
  hover(e) { if (e.buttons) return; const i = this.near(e); i === null ? this.leave() : this.point(i, ...this.found, e.clientX, e.clientY); }
  leave() { tip.hidden = true; this.ring?.remove(); this.ring = null; }
  key(e) {
    if (e.key === 'Enter' && this.now !== undefined) { this.store.open(this.now, this.svg); return; }
    const way = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[e.key]; if (!way || e.target !== this.svg) return;
    e.preventDefault();
    const all = this.marks(), mask = this.store.mask, from = this.now === undefined ? (way < 0 ? all.length : -1) : all.findIndex(m => m[0] === this.now);
    for (let step = 1; step <= all.length; step++) { const m = all[(from + way * step + all.length * 2) % all.length];
      if (m[0] === this.now || !mask[m[0]]) continue;
      const [i, g, k] = m, at = new DOMPoint(g.x[k], g.y[k]).matrixTransform(this.svg.getScreenCTM()); this.point(i, g, k, at.x, at.y); return; }
  }
}
/* Only charts that can be seen are drawn; the others when they are scrolled to. */
const sight = new IntersectionObserver(list => list.forEach(({target, isIntersecting}) => { const chart = target.chart; chart.seen = isIntersecting;
  if (isIntersecting && chart.dirty) chart.draw(); }), {rootMargin: '200px'});
const repaint = () => report.stores.forEach(s => s.charts.forEach(c => { if (c.canvas) c.filter(); }));
addEventListener('resize', repaint); matchMedia('(prefers-color-scheme:dark)').onchange = repaint;

/* The state of all stores behind the # of the address, so that a link restores them. A link to a part of the page
   scrolls there and keeps the state. A page in srcdoc (notebooks, model cards) has no address of its own: a link would load the
   page around it, so the script follows links itself and remembers where it is. */
const framed = /^about:/.test(document.URL);
const links = {
  at: '',
  hash: () => framed ? links.at : location.hash,
  anchor: () => /^#s\d+(-|$)/.test(links.hash()),
  params: () => new URLSearchParams(links.anchor() ? '' : links.hash().slice(1)),
  text: () => { const out = new URLSearchParams(); report.stores.forEach(s => s.save(out)); return String(out); },
  write: () => { links.due = 0; const text = links.text();
    if (framed) links.at = '#' + text;
    else if (('#' + text) !== (location.hash || '#')) try { history.replaceState(null, '', text ? '#' + text : location.pathname + location.search); } catch { /* a sandbox may forbid it */ } },
  later: () => { if (!links.due) links.due = setTimeout(links.write, 120); }
};
const follow = () => { const m = /^#s(\d+)-t(\d+)$/.exec(links.hash()), store = m && report.stores[m[1]];
  if (store && +m[2] < store.n) store.open(+m[2]);
  else if (links.anchor()) { if (links.text()) links.later(); }
  else report.stores.forEach(s => s.load(links.params())); };
addEventListener('hashchange', follow);
if (framed) document.addEventListener('click', e => { const link = e.target.closest('a[href^="#"]'); if (!link) return;
  e.preventDefault(); links.at = link.getAttribute('href'); document.getElementById(links.at.slice(1))?.scrollIntoView(); follow(); });
document.onkeydown = e => { if (e.key === 'Escape') { if (!panel.hidden) $('button', panel).click(); tip.hidden = true; } };
/* A region is a stop of the tab key only while there is something to scroll. */
const stops = () => $$('.scroll').forEach(e => e.scrollWidth > e.clientWidth + 1 ? e.tabIndex = 0 : e.removeAttribute('tabindex'));
addEventListener('resize', stops);

const begin = performance.now();
/* Used by live.js, which sets `more`: it fetches a trial that the page does not contain in full. */
const report = window.report = {Store, stores: [], params: links.params, text: links.text};
$$('.store').forEach(e => report.stores.push(new Store(e, links.params())));
if (/^#s\d+-t\d+$/.test(location.hash)) follow();
stops();
document.documentElement.dataset.ready = Math.round(performance.now() - begin);
})();
