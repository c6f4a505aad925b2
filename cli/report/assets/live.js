/* Keeps a served page up to date. Loaded after page.js, whose `report` object it uses. */
(() => {
'use strict';
const $ = (s, e) => (e || document).querySelector(s);
const say = text => { $('#live').textContent = text; };
const fetchPart = async (path, more) => { const r = await fetch(path + (location.search || '?') + (more || '')); if (!r.ok) throw r;
  return new DOMParser().parseFromString(await r.text(), 'text/html'); };
report.more = i => fetchPart('trial', '&i=' + i).then(d => $('details.card', d), () => null);
const running = async () => { const d = await fetchPart('running'); $('#running').replaceChildren(...d.body.children); };
const rows = async () => { const d = await fetchPart('./'), before = report.stores[0], root = $('.store', d); before.root.replaceWith(root);
  const now = new report.Store(root); report.stores = [now]; now.ranges = before.ranges; now.off = before.off; now.search.value = now.text = before.text;
  now.apply(); say('live · ' + now.t.length + ' trials · ' + new Date().toLocaleTimeString()); };
const news = new EventSource('events' + location.search);
news.onopen = () => { say('live'); running(); if (news.lost) rows(); news.lost = false; };
news.onerror = () => { news.lost = true; say('the server is gone; this is its last state'); };
news.addEventListener('rows', rows); news.addEventListener('running', running);
})();
