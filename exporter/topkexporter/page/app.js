// The page asks the API that it came from, every few seconds, and changes only what has changed.
const refreshEvery = 5000; // milliseconds between two looks
const oldAfter = 60; // seconds after which a list is called old
const reasons = {
  silent_shards: 'shards are silent', overflow: 'there were more groups than are counted', drops: 'states were dropped',
  short_window: 'the window is not full yet', late: 'records came too late', future: 'records were ahead of the clock',
  no_snapshot: 'no list was published yet', damaged: 'some of what was stored is damaged',
};
const scopeNames = {missing: '(records without a group)', overflow: '(groups beyond the limit)'};

const $ = id => document.getElementById(id);
const number = new Intl.NumberFormat('en');
const percent = new Intl.NumberFormat('en', {style: 'percent', minimumFractionDigits: 1, maximumFractionDigits: 1});
const wanted = new URLSearchParams(location.search);
let rules = [];
let list = null; // the answer that is shown
let clock = {server: 0, local: 0}; // when it came, by both clocks
let chosen = false; // whether the address of the page follows what is shown
let asked = 0; // the newest request; answers to older ones are dropped
let elsewhere = []; // a window that is longer than the chosen one, and rank by key there
const past = new Past();

const set = (node, text) => { if (node.textContent !== text) node.textContent = text; };
const make = (name, className, ...children) => {
  const node = document.createElement(name);
  if (className) node.className = className;
  node.append(...children);
  return node;
};
// isolated shows text from outside: never as markup, and its direction never leaves it.
const isolated = (text, className) => {
  if (text === '') return make('span', 'none', 'the empty key');
  const node = make('bdi', className, text);
  node.dir = 'auto';
  return node;
};
const plural = (n, one, many) => `${number.format(n)} ${n === 1 ? one : many}`;

async function ask(path, query) {
  const answer = await fetch(`${path}?${query}`, {cache: 'no-cache'});
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.error);
  return {body, server: Date.parse(answer.headers.get('Date')) || Date.now()};
}

function listQuery() {
  const query = new URLSearchParams();
  if (!$('rule').value) return query;
  query.set('rule', $('rule').value);
  query.set('window', $('window').value);
  const group = $('group').value;
  if (group.startsWith('=')) query.set('group', group.slice(1));
  else if (group) query.set('scope', group);
  return query;
}

// fill sets the options of a select and keeps what is chosen, or takes what the address of the page wants.
function fill(select, options, want) {
  const had = select.options.length ? select.value : want;
  const texts = JSON.stringify(options);
  if (select.dataset.options !== texts) {
    select.replaceChildren(...options.map(([value, text]) => new Option(text, value)));
    select.dataset.options = texts;
  }
  if (options.some(([value]) => value === had)) select.value = had;
}

function showChoice() {
  fill($('rule'), rules.map(r => [r.name, r.name]), wanted.get('rule'));
  const rule = rules.find(r => r.name === $('rule').value);
  if (!rule) return;
  fill($('window'), rule.windows.map(w => [w, w]), wanted.get('window'));
  const scopes = rule.scopes.filter(s => scopeNames[s]).map(s => [s, scopeNames[s]]);
  const want = wanted.has('group') ? '=' + wanted.get('group') : wanted.get('scope');
  fill($('group'), [['', 'all'], ...rule.groups.map(g => ['=' + g, g === '' ? '(the empty one)' : g]), ...scopes], want);
  $('group-label').hidden = rule.definition.group_by === null;
  const most = rule.definition.k;
  const lengths = [10, 25, 50, 100, 200].filter(k => k < most).concat(most);
  fill($('k'), lengths.map(k => [String(k), String(k)]), wanted.get('k'));
  const weight = {1: 'Records', bytes: 'Bytes'}[rule.definition.weight] ?? 'Weight';
  set($('weight-name'), weight);
  set($('total-name'), weight === 'Weight' ? 'Total weight' : `Total ${weight.toLowerCase()}`);
  $('records').parentElement.hidden = weight === 'Records';
  $('hint').firstChild.data = rule.definition.key.length > 1
    ? `A key of this rule is a JSON array of ${rule.definition.key.length} texts. Press ` : 'Press ';
}

function showVerdict() {
  const say = (id, good, strong, rest) => {
    $(id).className = good ? 'good' : 'warn';
    set($(id).firstElementChild, strong);
    set($(id).lastElementChild, rest);
  };
  const unsure = list.items.filter(i => !i.certain).length;
  if (list.certified) say('certified', true, 'Certified.', 'These keys are the heaviest of all that was counted, ties aside.');
  else if (unsure) say('certified', false, 'Not certified.', `${plural(unsure, 'key', 'keys')} may belong below the end of the list. The bounds hold.`);
  else say('certified', false, 'Not certified.', 'There may be more keys than the list holds. The bounds hold.');
  if (list.partial) say('partial', false, 'Partial:', list.partial_reasons.map(r => reasons[r] ?? r).join('; ') + '.');
  else say('partial', true, 'Complete.', 'Every shard that is expected has reported.');
}

const newRow = () => $('row').content.firstElementChild.cloneNode(true);

// changeOf a place, as a sign and as words.
function changeOf(key) {
  const change = past.change(key);
  if (change === null) return ['new', 'It was not in the list before.'];
  if (change > 0) return [`▲${change}`, `${plural(change, 'place', 'places')} up since the list before.`];
  if (change < 0) return [`▼${-change}`, `${plural(-change, 'place', 'places')} down since the list before.`];
  return ['', ''];
}

function showRow(row, item, longest) {
  const [rank, name, trend, weight, share, others] = row.cells;
  const [sign, change] = changeOf(item.key);
  set(rank.firstElementChild, (item.rank_certain ? '' : '≈ ') + item.rank);
  set(rank.lastElementChild, sign);
  rank.lastElementChild.className = sign[0] === '▼' ? 'down' : 'up';
  rank.title = [item.rank_certain ? 'This rank is certain.' : 'The rank may differ within the bounds.', change].join(' ').trim();
  const estimates = past.line(item.key);
  draw(trend.firstElementChild, estimates);
  const seen = estimates.filter(v => v !== null);
  trend.firstElementChild.setAttribute('aria-label', seen.length > 1 ? `${number.format(seen[0])} to ${number.format(seen.at(-1))}` : 'no line yet');
  const button = name.firstElementChild;
  if (button.dataset.key !== item.key) {
    button.dataset.key = item.key;
    button.title = item.key;
    const parts = item.parts.length > 1 ? item.parts.map(p => isolated(p, 'part')) : [isolated(item.key)];
    button.firstElementChild.replaceChildren(...parts);
    button.onclick = () => { $('key').value = item.key; count(item.key); };
  }
  const [certain, maybe] = button.lastElementChild.children;
  certain.style.width = `${100 * item.lower / longest}%`;
  maybe.style.width = `${100 * item.error_bound / longest}%`;
  set(weight.firstElementChild, number.format(item.estimate));
  set(weight.lastElementChild, item.error_bound ? `at least ${number.format(item.lower)}` : 'exact');
  set(share, percent.format(item.share));
  set(others, elsewhere.map(([window, ranks]) => `${window}: ${ranks.get(item.key) ?? '–'}`).join('  '));
}

function showList() {
  const {items} = list;
  const body = $('items');
  while (body.rows.length > items.length) body.lastElementChild.remove();
  while (body.rows.length < items.length) body.append(newRow());
  items.forEach((item, i) => showRow(body.rows[i], item, items[0].estimate || 1));
  $('empty').hidden = items.length > 0;
  $('legend').hidden = $('rest').hidden = $('table').hidden = items.length === 0;
  $('table').classList.toggle('alone', elsewhere.length === 0);
  $('legend-rank').hidden = items.every(i => i.rank_certain);
  for (const name of ['total', 'records', 'distinct', 'theta', 'other']) set($(name), number.format(list[name]));
  set($('other-share'), percent.format(list.total ? list.other / list.total : 0));
  const time = text => text ? text.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC') : '';
  set($('span'), list.as_of ? `${time(list.window_start)} to ${time(list.as_of)}` : 'No list was published yet.');
  const query = listQuery();
  query.set('k', $('k').value || '10');
  $('api').href = `v1/trending?${query}`;
}

function showCoverage() {
  const c = list.coverage;
  const said = [`${plural(c.reporting, 'shard reports', 'shards report')}`];
  if (c.silent) said.push(`${number.format(c.silent)} silent`);
  if (c.gone) said.push(`${number.format(c.gone)} gone`);
  if (c.overflowed_shards) said.push(`${number.format(c.overflowed_shards)} with more groups than are counted`);
  if (c.late) said.push(plural(c.late, 'record too late', 'records too late'));
  if (c.future) said.push(plural(c.future, 'record ahead of the clock', 'records ahead of the clock'));
  if (c.dropped) said.push(plural(c.dropped, 'state dropped', 'states dropped'));
  set($('coverage'), said.join(', ') + '.');
  const names = JSON.stringify(c.silent_shards);
  if ($('silent').dataset.names === names) return;
  $('silent').dataset.names = names;
  $('silent').replaceChildren(...c.silent_shards.map(s =>
    make('li', '', isolated(s.shard), s.since ? ` silent since ${s.since.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC')}` : ' silent')));
}

function showAge() {
  if (!list?.as_of) return set($('age-text'), list ? 'No list yet' : 'Loading');
  const age = Math.max(0, Math.round((clock.server + Date.now() - clock.local - Date.parse(list.as_of)) / 1000));
  const text = age < 120 ? `${age} s` : age < 7200 ? `${Math.round(age / 60)} min` : age < 172800 ? `${Math.round(age / 3600)} h` : `${Math.round(age / 86400)} days`;
  $('age').classList.toggle('old', age > oldAfter);
  set($('age-text'), `${text} old`);
}

// ranksElsewhere are those of the longer windows of the same rule and group, as far as their lists go.
async function ranksElsewhere(query) {
  const rule = rules.find(r => r.name === query.get('rule'));
  const windows = rule ? rule.windows.slice(rule.windows.indexOf(query.get('window')) + 1) : [];
  return Promise.all(windows.map(async window => {
    const other = new URLSearchParams(query);
    other.set('window', window);
    other.set('k', rule.definition.k);
    const {body} = await ask('v1/trending', other);
    return [window, new Map(body.items.map(i => [i.key, i.rank]))];
  }));
}

async function refresh() {
  const mine = ++asked;
  try {
    ({body: {rules}} = await ask('v1/rules', ''));
    if (mine !== asked) return;
    showChoice();
    const query = listQuery();
    if ($('k').value) query.set('k', $('k').value);
    if (chosen) history.replaceState(null, '', `?${query}`);
    const answer = await ask('v1/trending', query);
    const longer = await ranksElsewhere(query);
    if (mine !== asked) return;
    list = answer.body;
    elsewhere = longer;
    past.take(listQuery().toString(), list);
    clock = {server: answer.server, local: Date.now()};
    document.querySelector('main').classList.remove('waiting');
    $('trouble').hidden = true;
    $('age').classList.remove('lost');
    showVerdict();
    showList();
    showCoverage();
  } catch (error) {
    if (mine !== asked) return;
    $('trouble').hidden = false;
    $('age').classList.add('lost');
    set($('trouble'), (error instanceof TypeError ? 'The server does not answer.' : error.message) + (list ? ' This is the last list it gave.' : ''));
  }
  showAge();
}

async function count(key) {
  const query = listQuery();
  query.set('key', key);
  const found = make('p');
  try {
    const {body: c} = await ask('v1/count', query);
    const bounds = c.as_of === null ? ['nothing is known yet.']
      : c.error_bound === 0 ? ['exactly ', make('b', '', number.format(c.estimate)), '.']
      : c.lower === 0 ? ['at most ', make('b', '', number.format(c.estimate)), '.']
      : ['between ', make('b', '', number.format(c.lower)), ' and ', make('b', '', number.format(c.estimate)), '.'];
    found.append(isolated(c.key), ': ', ...bounds, c.rank ? ` Rank ${c.rank}.` : ' Not in the list.');
  } catch (error) {
    found.append(error instanceof TypeError ? 'The server does not answer.' : error.message);
  }
  $('found').replaceChildren(found);
}

function choose() {
  chosen = true;
  $('found').replaceChildren();
  refresh();
}

$('choice').addEventListener('change', choose);
$('choice').addEventListener('submit', event => event.preventDefault());
$('search').addEventListener('submit', event => { event.preventDefault(); count($('key').value); });
document.addEventListener('keydown', event => {
  if (event.key === '/' && !/INPUT|SELECT/.test(document.activeElement.tagName) && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    $('key').focus();
    $('key').select();
  } else if (event.key === 'Escape' && document.activeElement === $('key')) {
    $('key').value = '';
    $('found').replaceChildren();
    $('key').blur();
  }
});
document.addEventListener('visibilitychange', () => { if (!document.hidden) refresh(); });
setInterval(() => { if (!document.hidden) refresh(); }, refreshEvery);
setInterval(showAge, 1000);
refresh();
