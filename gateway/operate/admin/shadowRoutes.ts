import {
  type ComparisonKind,
  type ComparisonStop,
  comparisonNames,
} from '../../contracts/shadow/sampling/comparisonStatus.ts';
import type { ShadowControl } from '../../contracts/shadow/sampling/shadowControl.ts';
import { type ApiHandlers, noLedger } from './apiRouter.ts';
import type { AdminContext } from './operations.ts';
import { InvalidParameterError } from './usageQueryParams.ts';

// Evidence stays in the ledger file of each gateway.
const oneGatewayNote =
  'Each gateway of the fleet compares its own samples: this is the evidence of the gateway that was asked.';

/** Of shadows, and of the comparisons of versions with their own contracts. */
export function shadowRoutes(
  { source, operations: { clock, live } }: AdminContext,
  control: () => Pick<ShadowControl, 'status' | 'drifts' | 'stop' | 'requests'> | undefined,
): Partial<ApiHandlers> {
  const report = async <Kind extends ComparisonKind>(kind: Kind, version: string) => {
    await live.flush();
    const notes = live.fleet ? [oneGatewayNote] : [];
    return live.ledger?.query(kind, source.current, { version, now: clock.now(), notes }) ?? noLedger;
  };
  return {
    'GET /api/shadow': () => ({ answer: { shadows: control()?.status() ?? [] } }),
    'GET /api/shadow/{version}': ({ params }) => report('shadow', params.version),
    'POST /api/shadow/stop': async ({ body }) => {
      const stop = await control()?.stop('shadow', versionIn(body));
      if (stop?.kind === 'stopped') return { answer: { shadow: stop.status, stored: stop.isStored } };
      return { problem: 'NO_SHADOW', detail: whyNotStopped('shadow', stop) };
    },
    'GET /api/shadow/{version}/requests': ({ params: { version }, query }) => {
      const options = { now: clock.now(), withValues: query.values === 'true' };
      const answer = control()?.requests.exportOf(source.current, version, options);
      return answer ? { answer } : { problem: 'NO_SHADOW', detail: `/${version} has no shadow.` };
    },

    'GET /api/drift': () => ({ answer: { drifts: control()?.drifts() ?? [] } }),
    'GET /api/drift/{version}': ({ params }) => report('drift', params.version),
    'POST /api/drift/stop': async ({ body }) => {
      const stop = await control()?.stop('drift', versionIn(body));
      if (stop?.kind === 'stopped') return { answer: { drift: stop.status, stored: stop.isStored } };
      return { problem: 'NO_DRIFT', detail: whyNotStopped('drift', stop) };
    },
  };
}

/** @throws InvalidParameterError */
function versionIn({ version }: { readonly version?: unknown }): string {
  if (typeof version === 'string') return version;
  throw new InvalidParameterError('`version` must be a version such as v1.');
}

function whyNotStopped(
  kind: ComparisonKind,
  stop: (ComparisonStop<unknown> & { kind: 'nothing' }) | undefined,
): string {
  return stop?.reason ?? `No version has a ${comparisonNames[kind]}.`;
}
