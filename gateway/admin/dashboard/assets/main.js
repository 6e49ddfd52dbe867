import { ask, tell } from './api.js';
import { attention, attentionFacts } from './attention.js';
import { el, empty, place } from './dom.js';
import { Flow } from './flow.js';
import { gateway } from './gateway.js';
import { Latest } from './latest.js';
import { watch } from './live.js';
import { lives } from './lives.js';
import { rates } from './rates.js';
import { reloadWith } from './reload.js';
import { Retiring } from './retiring.js';
import { targets } from './targets.js';
import { trouble } from './trouble.js';

/** @import { Status } from './shapes.js' */

const retiring = new Retiring();
const flow = new Flow();
const backends = targets();
const speeds = rates();
const connection = place('connection');
/** What each part was drawn from. A part is drawn anew only when that changed. @type {Map<string, string>} */
const drawn = new Map();
/** How often the ledger is asked, ms; the stream of events does not cover it. */
const every = 30_000;
const poll = new Latest();
let generation = 0;
let refreshed = Date.now();

place('host').textContent = `version-gateway · ${location.host}`;
reloadWith(/** @type {HTMLButtonElement} */ (place('reload')), place('outcome'));
place('logout').addEventListener('click', async () => {
  const { status } = await tell('/logout').catch(() => ({ status: 0 }));
  // 403: the session had expired.
  if (status === 204 || status === 403) location.replace('/login');
  else
    place('outcome').replaceChildren(
      el('p', { class: 'problem' }, 'You are still logged in: the gateway does not answer.'),
    );
});

watch({
  access(by) {
    // A browser that was admitted by its address has no session to end.
    place('logout').hidden = by !== 'session';
    retiring.access(by);
  },
  status(status) {
    poll.begin();
    if (connection.className.includes('lost')) refresh();
    say('live', 'Live');
    show(status);
  },
  lost: () => void withoutStream(),
});

void flow.refresh();
setInterval(refresh, every);
document.addEventListener('visibilitychange', () => Date.now() - refreshed > every && refresh());

/** Asks once without the stream: it may be refused while requests are answered. An expired session leads to the form. */
async function withoutStream() {
  const question = poll.begin();
  if (!connection.className.includes('polled')) say('lost', 'Connection lost, retrying…');
  try {
    /** @type {Status} */
    const status = await ask('/api/status', question.signal);
    if (question.isOver) return;
    say('polled', 'Updating by polling');
    show(status);
  } catch (error) {
    if (question.isOver) return;
    say('lost', 'Connection lost, retrying…');
    if (drawn.size > 0) return;
    for (const id of ['lives', 'rates', 'targets', 'gateway', 'verdict', 'decline', 'clients', 'routes'])
      place(id).replaceChildren(id === 'lives' ? trouble(error) : empty('Not known.'));
  }
}

function refresh() {
  if (document.hidden) return;
  refreshed = Date.now();
  void retiring.refresh();
  void flow.refresh();
}

/** @param {Status} status */
function show(status) {
  const now = Date.now();
  const { versions, config } = status;
  document.title = `${versions.length} versions · version-gateway`;
  const days = Math.floor(now / 86_400_000);
  draw(
    'lives',
    [days, versions.map(({ version, stage, deprecation, sunset }) => [version, stage, deprecation, sunset])],
    () => [lives(versions, now)],
  );
  draw('targets', '', () => [backends.root]);
  backends.fill(versions, now);
  draw('attention', attentionFacts(status, now), () => attention(status));
  draw('rates', '', () => [speeds.root]);
  speeds.fill(status.traffic);
  draw('gateway', [Math.floor(now / 60_000), config, status.workers], () => [gateway(status, now)]);
  if (generation !== 0 && generation !== config.generation) refresh();
  generation = config.generation;
  void retiring.versions(versions);
}

/**
 * @param {string} id
 * @param {unknown} facts what the part is drawn from
 * @param {() => readonly Node[]} make
 */
function draw(id, facts, make) {
  const said = JSON.stringify(facts);
  if (drawn.get(id) === said) return;
  drawn.set(id, said);
  place(id).replaceChildren(...make());
}

/**
 * @param {'live'|'polled'|'lost'} state
 * @param {string} text
 */
function say(state, text) {
  if (connection.textContent === text) return;
  connection.className = `connection ${state}`;
  connection.textContent = text;
  document.body.classList.toggle('stale', state === 'lost');
}
