import { stageOf } from '../lifecycle/stage.ts';
import type { Problem } from '../problems/problem.ts';
import { firstSegment, looksLikeVersion, parseRequestTarget, pathBelow } from '../routing/requestTarget.ts';
import type { Exchange } from './exchange.ts';
import type { GatewayContext } from './live.ts';
import type { StepOutcome } from './steps.ts';

/** Finds the version that the path begins with, below `base_path`, and what its target is asked for. */
export function findVersion(exchange: Exchange): StepOutcome | undefined {
  const { live, origin } = exchange;
  const { basePath } = live.snapshot.gateway;
  const inside = origin === '*' ? undefined : pathBelow(origin, basePath);
  const segment = inside === undefined ? '' : firstSegment(inside);
  const served = live.activeVersions.get(segment);
  if (!served) return undefined;
  const prefixEnd = basePath.length + segment.length + 1;
  const rest = origin.slice(prefixEnd);
  exchange.activeVersion = served;
  exchange.resource = origin.slice(prefixEnd, exchange.pathEnd);
  if (served.version.prefix === 'forward') {
    exchange.path = inside as string;
    return undefined;
  }
  if (rest.startsWith('//')) return { kind: 'problem', problem: networkPath, closes: true };
  exchange.path = rest.startsWith('/') ? rest : `/${rest}`;
  return undefined;
}

/** Without its prefix the path would read as `//host/path` to a URL parser (RFC 3986 §4.2). */
const networkPath: Problem = { code: 'BAD_REQUEST', detail: 'The path behind the version begins with //.' };

/** Whether a request is the gateway's to answer, in a server where it is a guest: what looks like a version is. */
export function isGatewayPath(url: string, { live, isDiscovery }: GatewayContext): boolean {
  const target = parseRequestTarget(url);
  if (typeof target === 'string') return true;
  const { origin, pathEnd } = target;
  return namesVersion(origin, live.snapshot.gateway.basePath) || isDiscovery(origin.slice(0, pathEnd), live.snapshot);
}

/** Whether a path begins with something that has the form of a version, known or not. */
export function namesVersion(origin: string, basePath: string): boolean {
  const inside = pathBelow(origin, basePath);
  return inside !== undefined && looksLikeVersion(firstSegment(inside));
}

/** By now the message is known to be sound, so that it may be answered in detail. */
export function refuseUnknown(exchange: Exchange): StepOutcome | undefined {
  if (exchange.activeVersion) return undefined;
  if (isDiscovery(exchange)) return { kind: 'discovery' };
  const { snapshot } = exchange.live;
  const { basePath, publicUrl = '' } = snapshot.gateway;
  const versions = snapshot.byMajor.map((version) => ({
    version: version.name,
    stage: stageOf(version, exchange.now),
    href: `${publicUrl}${basePath}/${version.name}`,
  }));
  return { kind: 'problem', problem: { code: 'UNKNOWN_VERSION', members: { versions } } };
}

function isDiscovery({ origin, pathEnd, live, context }: Exchange): boolean {
  return context.isDiscovery(origin.slice(0, pathEnd), live.snapshot);
}
