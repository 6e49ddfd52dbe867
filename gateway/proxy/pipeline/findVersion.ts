import { baseOf, baseOfPath, listedBases, segmentOf, servesApi } from '../../config/api.ts';
import type { Problem } from '../../problems/problem.ts';
import { isAtOrBelow, parseRequestTarget, versionId } from '../../routing/requestTarget.ts';
import { unlistedVersionIn } from '../../usage/counting/routeNames.ts';
import { stageOf } from '../../versions/lifecycle/stage.ts';
import type { ActiveSnapshot, ActiveVersion } from './activeVersion.ts';
import type { Exchange, GatewayContext, StepOutcome } from './exchange.ts';

/** Finds the version by the prefix of the target, and the path to send to its target. */
export function findVersion(exchange: Exchange): StepOutcome | undefined {
  const { activeSnapshot, originForm } = exchange;
  const activeVersion = versionOf(originForm, activeSnapshot);
  if (!activeVersion) return undefined;
  const prefixEnd = activeVersion.path.length;
  const afterPrefix = originForm.slice(prefixEnd);
  exchange.activeVersion = activeVersion;
  if (exchange.now >= activeVersion.requests.nextMarkAt) exchange.context.callMarks?.onCall(exchange, activeVersion);
  exchange.resource = originForm.slice(prefixEnd, exchange.pathEnd);
  if (activeVersion.version.prefix === 'forward') {
    exchange.path = originForm.slice(activeVersion.apiPath.length);
    return undefined;
  }
  if (afterPrefix.startsWith('//')) return { kind: 'problem', problem: networkPathProblem, closesConnection: true };
  exchange.path = afterPrefix.startsWith('/') ? afterPrefix : `/${afterPrefix}`;
  return undefined;
}

/** Whether an origin-form target is below a version of the snapshot. */
export function isForVersion(target: string, activeSnapshot: ActiveSnapshot): boolean {
  return versionOf(target, activeSnapshot) !== undefined;
}

/**
 * The version of a target. Most requests are for the same version as the one before, so its path is compared first. A look-up costs
 * several times as much, because V8 has to hash the id.
 */
function versionOf(target: string, activeSnapshot: ActiveSnapshot): ActiveVersion | undefined {
  const { ofLastRequest, snapshot, segmentsOfIds } = activeSnapshot;
  if (ofLastRequest && isAtOrBelow(target, ofLastRequest.path)) return ofLastRequest;
  const found = activeSnapshot.versions.get(versionId(target, snapshot.gateway.basePath, segmentsOfIds));
  if (found) activeSnapshot.ofLastRequest = found;
  return found;
}

/** Without the prefix of the version, a URL parser would read the path as `//host/path` (RFC 3986 §4.2). */
const networkPathProblem: Problem = { code: 'BAD_REQUEST', detail: 'The path after the version begins with //.' };

/**
 * Whether a gateway inside another server handles this URL: a version, discovery, or an invalid URL, which the gateway refuses.
 */
export function isGatewayPath(url: string, { activeSnapshot, isDiscovery }: GatewayContext): boolean {
  const target = parseRequestTarget(url);
  if (typeof target === 'string') return true;
  const { originForm, pathEnd } = target;
  const { snapshot } = activeSnapshot;
  return namesVersion(originForm, activeSnapshot) || isDiscovery(originForm.slice(0, pathEnd), snapshot);
}

/** Whether a target names a version of one of the APIs, configured or not. Other paths may belong to the application. */
export function namesVersion(originForm: string, activeSnapshot: ActiveSnapshot): boolean {
  if (isForVersion(originForm, activeSnapshot)) return true;
  const { snapshot, segmentsOfIds } = activeSnapshot;
  const id = versionId(originForm, snapshot.gateway.basePath, segmentsOfIds);
  return id !== '' && servesApi(baseOf(id), snapshot);
}

/** Runs after `checkMessage`: only a valid message gets an answer with details. */
export function refuseUnknownVersion(exchange: Exchange): StepOutcome | undefined {
  const { activeVersion, originForm, pathEnd, activeSnapshot, context } = exchange;
  if (activeVersion) return undefined;
  const { snapshot } = activeSnapshot;
  const path = originForm.slice(0, pathEnd);
  if (context.isDiscovery(path, snapshot)) return { kind: 'discovery' };
  const baseAsked = context.selfService?.baseAskedAt(path, snapshot);
  if (baseAsked !== undefined) return { kind: 'ownUsage', base: baseAsked };
  const { basePath, publicUrl = '' } = snapshot.gateway;
  const unlisted = context.callMarks && unlistedVersionIn(path, snapshot, activeSnapshot.segmentsOfIds);
  if (unlisted) context.callMarks?.onUnlistedCall(exchange, unlisted.version);
  const base = baseOfPath(path, snapshot);
  if (!servesApi(base, snapshot)) {
    const apis = listedBases(snapshot).map((api) => ({ api, href: `${publicUrl}${basePath}${api}` }));
    const detail = 'The path does not begin with a configured API. `apis` lists them.';
    return { kind: 'problem', problem: { code: 'UNKNOWN_VERSION', detail, members: { apis } } };
  }
  const ownVersions = snapshot.sortedVersions.filter(({ name }) => baseOf(name) === base);
  const versions = ownVersions.map((version) => ({
    version: segmentOf(version.name),
    stage: stageOf(version, exchange.now),
    href: `${publicUrl}${basePath}/${version.name}`,
  }));
  return { kind: 'problem', problem: { code: 'UNKNOWN_VERSION', members: { versions } } };
}
