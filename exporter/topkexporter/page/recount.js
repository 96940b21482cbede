// Exact counts of an hour, where the exporter recounts archived records.
const hoursOffered = 24;
const graceOffered = 15 * 60e3; // after which an hour can be counted, by default

// offerHours fills the choice with the hours that are over, the newest first.
function offerHours(now) {
  const hour = 3600e3, last = Math.floor((now - graceOffered) / hour) * hour;
  const text = t => new Date(t).toISOString().slice(0, 16).replace('T', ' ');
  fill($('hour'), Array.from({length: hoursOffered}, (_, i) => last - (i + 1) * hour)
    .map(t => [new Date(t).toISOString(), `${text(t)} to ${text(t + hour).slice(11)} UTC`]));
}

async function call(path, options) {
  const answer = await fetch(path, {cache: 'no-store', ...options});
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.error);
  return body;
}

// order a recount of the list that is shown, and follow it until it has ended.
async function order() {
  const from = $('hour').value, to = new Date(Date.parse(from) + 3600e3).toISOString();
  const wants = {rule: $('rule').value, from, to, k: Number($('k').value), reason: 'web page'};
  const group = $('group').value;
  if (group.startsWith('=')) wants.group = group.slice(1);
  else if (group) wants.scope = group;
  $('order').disabled = true;
  $('exact').hidden = true;
  try {
    const {job_id: id} = await call('v1/recounts', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(wants)});
    for (;;) {
      const job = await call(`v1/recounts/${id}`);
      showJob(job);
      if (!['queued', 'running'].includes(job.status)) break;
      await new Promise(done => setTimeout(done, 500));
    }
  } catch (error) {
    $('progress').hidden = true;
    set($('job'), error instanceof TypeError ? 'The server does not answer.' : error.message);
  } finally {
    $('order').disabled = false;
  }
}

function showJob(job) {
  $('progress').hidden = job.status !== 'running';
  $('progress').value = job.progress ?? 0;
  const done = job.status === 'done';
  const missing = done && job.missing_hours.length ? ' The archive has nothing of this hour.' : '';
  set($('job'), done ? `${plural(job.records, 'record', 'records')} counted, ${plural(job.distinct, 'distinct key', 'distinct keys')}.${missing}`
    : job.error ? `${job.status}: ${job.error}` : `${job.status} …`);
  if (!done) return;
  $('exact').hidden = job.results.length === 0;
  $('exact-items').replaceChildren(...job.results.map(r => make('tr', '', make('td', 'rank', String(r.rank)), make('td', 'key', isolated(r.key)),
    make('td', 'number', number.format(r.count)), make('td', 'number', percent.format(r.share)))));
}

$('recount').addEventListener('submit', event => { event.preventDefault(); order(); });
ask('v1/status', '').then(({body, server}) => {
  $('recount-card').hidden = body.recounts === null;
  offerHours(server);
}).catch(() => {}); // the list says it
