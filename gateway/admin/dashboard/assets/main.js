import { ask, tell } from './api.js';
import { el, empty, place } from './dom.js';
import { Flow } from './flow.js';
import { gateway } from './gateway.js';
import { Latest } from './latest.js';
import { ledgerNotice } from './ledger.js';
import { watch } from './live.js';
import { lives } from './lives.js';
import { reloadWith } from './reload.js';
import { Retiring } from './retiring.js';
import { targets } from './targets.js';
import { trouble } from './trouble.js';

/** @import { Status } from './shapes.js' */

const retiring = new Retiring();
const flow = new Flow();
const backends = targets();
const connection = place('connection');
/** What stands in each part, so that nothing is drawn anew under a reader's eyes that has not changed. @type {Map<string, string>} */
const drawn = new Map();
/** How often what streams do not tell is asked for, ms. */
const every = 30_000;
const poll = new Latest();
let generation = 0;
let refreshed = Date.now();

place('host').textContent = `version-gateway · ${location.host}`;
reloadWith(/** @type {HTMLButtonElement} */ (place('reload')), place('outcome'));
place('logout').addEventListener('click', async () => {
  const { status } = await tell('/logout').catch(() => ({ status: 0 }));
  // Whose login has run out is out already.
  if (status === 204 || status === 403) location.replace('/login');
  else
    place('outcome').replaceChildren(
      el('p', { class: 'problem' }, 'You are still logged in: the gateway does not answer.'),
    );
});

watch({
  access(by) {
    // Who is let in by address has nothing to log out of.
    place('logout').hidden = by !== 'session';
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

/** A stream may be refused where a question is answered; and if only the login ran out, that leads to the form. */
async function withoutStream() {
  const question = poll.begin();
  if (!connection.className.includes('polled')) say('lost', 'Connection lost, retrying…');
  try {
    /** @type {Status} */
    const status = await ask('/api/status', question.signal);
    if (question.isOver) return;
    say('polled', 'Updated now and then');
    show(status);
  } catch (error) {
    if (question.isOver) return;
    say('lost', 'Connection lost, retrying…');
    if (drawn.size > 0) return;
    for (const id of ['lives', 'targets', 'gateway', 'verdict', 'decline', 'clients', 'routes'])
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
    () => lives(versions, now),
  );
  draw('targets', '', () => backends.root);
  backends.fill(versions, now);
  // Aloud when something begins or ends, but not whenever one more row is held.
  const { problem, held_rows: held = 0 } = status.usage ?? {};
  draw('ledger', [problem, held > 0, held > 0 && Math.floor(now / 60_000)], () => ledgerNotice(status.usage));
  draw('gateway', [Math.floor(now / 60_000), config, status.workers], () => gateway(status, now));
  if (generation !== 0 && generation !== config.generation) refresh();
  generation = config.generation;
  retiring.versions(versions);
}

/**
 * @param {string} id
 * @param {unknown} facts what the part is drawn from
 * @param {() => Node|string} make
 */
function draw(id, facts, make) {
  const said = JSON.stringify(facts);
  if (drawn.get(id) === said) return;
  drawn.set(id, said);
  place(id).replaceChildren(make());
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
