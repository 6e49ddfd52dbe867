/** @import { Status } from './shapes.js' */

// The gateway repeats itself every 5 s: three times nothing is a connection that died silently.
const silence = 15_000;
// Twice as long after each failure, so that a gateway that comes back is not met by all its readers at once.
const [shortest, longest] = [1_000, 30_000];

/**
 * Reads `/api/events` while somebody looks at the page, and begins again whenever that ends.
 * @param {{ status(status: Status): void, access(by: string): void, lost(): void }} listener
 */
export function watch(listener) {
  /** @type {EventSource|undefined} */
  let source;
  /** What waits: for the next word of the gateway, or to ask it again. @type {number|undefined} */
  let timer;
  let pause = shortest;
  const leave = () => {
    clearTimeout(timer);
    source?.close();
    source = undefined;
  };
  const again = () => {
    leave();
    listener.lost();
    timer = setTimeout(open, pause * (0.75 + Math.random() / 2));
    pause = Math.min(longest, pause * 2);
  };
  const heard = () => {
    clearTimeout(timer);
    timer = setTimeout(again, silence);
  };
  const open = () => {
    leave();
    source = new EventSource('/api/events');
    heard();
    source.addEventListener('error', again);
    source.addEventListener('access', ({ data }) => listener.access(data));
    source.addEventListener('status', ({ data }) => {
      pause = shortest;
      heard();
      listener.status(JSON.parse(data));
    });
  };
  // A browser has six connections to an origin, for all its tabs: those that nobody looks at must not hold them.
  const look = () => {
    pause = shortest;
    if (document.hidden) leave();
    else open();
  };
  look();
  document.addEventListener('visibilitychange', look);
  addEventListener('online', look);
  addEventListener('pagehide', leave);
  // A page that the browser kept while the reader went back and forth is shown as it was, its stream closed.
  addEventListener('pageshow', ({ persisted }) => persisted && look());
}
