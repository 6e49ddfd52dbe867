// Runs before the other scripts.

// Chromium takes the language from the environment: under LANG=C.UTF-8 it is `en-US@posix`, which Intl refuses with a
// RangeError, and uPlot asks Intl while it loads. This page writes English in any case.
try {
  Intl.getCanonicalLocales(navigator.language);
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en', configurable: true });
}

// One module that cannot be loaded stops all of them. A browser drops every request under way when the network changes
// (ERR_NETWORK_CHANGED), which also happens to a laptop that changes its Wi-Fi: load the page again.
// Each attempt in a row waits twice as long as the one before it, up to a minute.
const attempts = 'failed-loads';
let isWaiting = false;
addEventListener(
  'error',
  ({ target }) => {
    if (isWaiting || !(target instanceof HTMLScriptElement || target instanceof HTMLLinkElement)) return;
    isWaiting = true;
    const failed = Number(sessionStorage.getItem(attempts));
    sessionStorage.setItem(attempts, String(failed + 1));
    setTimeout(() => location.reload(), Math.min(60_000, 1_000 * 2 ** failed));
  },
  true,
);
addEventListener('load', () => {
  if (!isWaiting) sessionStorage.removeItem(attempts);
});
