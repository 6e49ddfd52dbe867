/** @import { Status } from './shapes.js' */

// The gateway repeats itself every 5 s: three times nothing is a connection that died silently.
const silence = 15_000;
const pause = 2_000;

/**
 * Reads `/api/events` for as long as the page is open, and begins again whenever that ends.
 * @param {{ status(status: Status): void, access(by: string): void, lost(): void }} listener
 */
export function watch(listener) {
  /** @type {EventSource|undefined} */
  let source;
  /** What waits: for the next word of the gateway, or to ask it again. @type {number|undefined} */
  let timer;
  const leave = () => {
    clearTimeout(timer);
    source?.close();
    source = undefined;
  };
  const again = () => {
    leave();
    listener.lost();
    timer = setTimeout(open, pause);
  };
  const heard = () => {
    clearTimeout(timer);
    timer = setTimeout(again, silence);
  };
  const open = () => {
    source = new EventSource('/api/events');
    heard();
    source.addEventListener('error', again);
    source.addEventListener('access', ({ data }) => listener.access(data));
    source.addEventListener('status', ({ data }) => {
      heard();
      listener.status(JSON.parse(data));
    });
  };
  open();
  addEventListener('pagehide', leave);
  // A browser has six connections to an origin, for all its tabs: those that nobody looks at must not hold them.
  document.addEventListener('visibilitychange', () => {
    leave();
    if (!document.hidden) open();
  });
}
