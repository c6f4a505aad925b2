/* Keeps a served page up to date. Loaded after page.js, whose `report` object it uses. */
(() => {
'use strict';
const $ = (s, e) => (e || document).querySelector(s), $$ = (s, e) => [...(e || document).querySelectorAll(s)];
const say = text => { $('#live').textContent = text; };
const fetchPart = async (path, more) => { const r = await fetch(path + (location.search || '?') + (more || '')); if (!r.ok) throw r;
  return new DOMParser().parseFromString(await r.text(), 'text/html'); };
report.more = (i, s) => fetchPart('trial', '&i=' + i + '&s=' + s).then(d => $('.card', d), () => null);
const running = async () => { const d = await fetchPart('running'); $('#running').replaceChildren(...d.body.children); };
const rows = async () => { const d = await fetchPart('./'), roots = $$('.store', d), state = new URLSearchParams(report.text());
  report.stores.forEach((s, k) => { s.root.replaceWith(roots[k]); });
  report.stores = roots.map(root => new report.Store(root, state));
  say('live · ' + report.stores.reduce((n, s) => n + s.n, 0) + ' trials · ' + new Date().toLocaleTimeString()); };
/* A browser connects again by itself after a broken connection, but not after an answer with an error. */
let lost = false, pause = 1000;
const listen = () => { const news = new EventSource('events' + location.search);
  news.onopen = () => { say('live'); pause = 1000; running(); if (lost) rows(); lost = false; };
  news.onerror = () => { lost = true; say('the server is gone; this is its last state, and the page connects again when it is back');
    if (news.readyState === EventSource.CLOSED) { setTimeout(listen, pause); pause = Math.min(30000, pause * 2); } };
  news.addEventListener('rows', rows); news.addEventListener('running', running); };
listen();
})();
