// Runs before the other scripts.

// Chromium takes the language from the environment. With LANG=C.UTF-8, the language is `en-US@posix`. Intl throws a RangeError
// for this name, and uPlot calls Intl while it loads. The page is in English, so `en` is right for every reader.
try {
  Intl.getCanonicalLocales(navigator.language);
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en', configurable: true });
}

// If one module fails to load, none of them runs. A browser aborts all requests when the network changes
// (ERR_NETWORK_CHANGED), for example when a laptop changes its Wi-Fi, so the page is loaded again.
// The delay doubles with each attempt in a row, up to a minute.
const failedLoadsKey = 'failed-loads';
let isWaiting = false;
addEventListener(
  'error',
  ({ target }) => {
    if (isWaiting || !(target instanceof HTMLScriptElement || target instanceof HTMLLinkElement)) return;
    isWaiting = true;
    const failedLoads = Number(sessionStorage.getItem(failedLoadsKey));
    sessionStorage.setItem(failedLoadsKey, String(failedLoads + 1));
    setTimeout(() => location.reload(), Math.min(60_000, 1_000 * 2 ** failedLoads));
  },
  // The error of an element does not bubble.
  { capture: true },
);
addEventListener('load', () => {
  if (!isWaiting) sessionStorage.removeItem(failedLoadsKey);
});
