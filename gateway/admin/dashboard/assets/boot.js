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
addEventListener(
  'error',
  ({ target }) => {
    if (target instanceof HTMLScriptElement || target instanceof HTMLLinkElement)
      setTimeout(() => location.reload(), 1_000);
  },
  true,
);
