import { tell } from './api.js';
import { place } from './dom.js';
import { Flow } from './flow.js';
import { gateway } from './gateway.js';
import { watch } from './live.js';
import { lives } from './lives.js';
import { reloadWith } from './reload.js';
import { Retiring } from './retiring.js';
import { targets } from './targets.js';

/** @import { Status } from './shapes.js' */

const retiring = new Retiring();
const flow = new Flow();
const connection = place('connection');
/** What stands in each part, so that nothing is drawn anew under a reader's eyes that has not changed. @type {Map<string, string>} */
const drawn = new Map();
let generation = 0;

place('host').textContent = `version-gateway · ${location.host}`;
reloadWith(/** @type {HTMLButtonElement} */ (place('reload')), place('outcome'));
place('logout').addEventListener('click', async () => {
  await tell('/logout').catch(() => {});
  location.replace('/login');
});

watch({
  access(by) {
    // Who is let in by address has nothing to log out of.
    place('logout').hidden = by !== 'session';
  },
  status(status) {
    if (connection.className.includes('lost')) refresh();
    say('live', 'Live');
    show(status);
  },
  lost() {
    say('lost', 'Connection lost, retrying…');
    // Perhaps it is only the login that ran out: asking for anything tells.
    void retiring.refresh();
  },
});

setInterval(refresh, 30_000);

function refresh() {
  if (document.hidden) return;
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
  draw('targets', [Math.floor(now / 10_000), versions.map((one) => [one.version, one.last_served, one.targets])], () =>
    targets(versions, now),
  );
  draw('gateway', [Math.floor(now / 60_000), config, status.workers], () => gateway(status, now));
  retiring.versions(versions);
  if (generation !== config.generation) refresh();
  generation = config.generation;
}

/**
 * @param {string} id
 * @param {unknown} facts what the part is drawn from
 * @param {() => Node} make
 */
function draw(id, facts, make) {
  const said = JSON.stringify(facts);
  if (drawn.get(id) === said) return;
  drawn.set(id, said);
  place(id).replaceChildren(make());
}

/**
 * @param {'live'|'lost'} state
 * @param {string} text
 */
function say(state, text) {
  if (connection.textContent === text) return;
  connection.className = `connection ${state}`;
  connection.textContent = text;
  document.body.classList.toggle('stale', state === 'lost');
}
