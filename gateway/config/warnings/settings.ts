import type { Path } from '../mask.ts';
import { faultAt } from '../source.ts';
import { isServed } from './living.ts';
import type { Warning } from './warning.ts';

/** A probe that outlasts the next one finds out late. */
export const slowProbes: Warning = ({ source, draft, entries }) => {
  const { interval, timeout } = draft.defaults.health;
  const settings = entries
    .filter(({ route }) => route.health?.interval !== undefined || route.health?.timeout !== undefined)
    .map(({ key, route: { health } }) => ({
      at: ['routes', key, 'health', 'timeout'] as Path,
      interval: health?.interval ?? interval,
      timeout: health?.timeout ?? timeout,
    }));
  settings.unshift({ at: ['defaults', 'health', 'timeout'], interval, timeout });
  return settings
    .filter((setting) => setting.timeout > setting.interval)
    .map(({ at }) =>
      faultAt(source, at, 'A probe may take longer than the time until the next one.', 'Shorten timeout.'),
    );
};

/** Whoever may write X-Forwarded-For may claim any address. */
export const unboundedTrust: Warning = ({ source, draft: { gateway } }) =>
  gateway.trusted_proxies
    .filter((cidr) => cidr.endsWith('/0'))
    .map((cidr) => {
      const message = `${cidr} trusts everybody: any client can claim any address.`;
      return faultAt(source, ['gateway', 'trusted_proxies'], message, 'Name the networks of your own proxies.');
    });

/** A file of nothing but tombstones. */
export const nothingServed: Warning = (context, now) => {
  if (context.entries.some((entry) => isServed(entry, now))) return [];
  return [
    faultAt(context.source, ['routes'], 'Every version is retired: nothing is served.', 'Add a version that is.'),
  ];
};
