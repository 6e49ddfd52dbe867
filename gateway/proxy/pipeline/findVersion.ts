import type { Problem } from '../../problems/problem.ts';
import { looksLikeVersion, parseRequestTarget, versionSegment } from '../../routing/requestTarget.ts';
import { unlistedMajor } from '../../usage/counting/routeNames.ts';
import { stageOf } from '../../versions/lifecycle/stage.ts';
import type { ActiveSnapshot, ActiveVersion } from './activeVersion.ts';
import type { Exchange, GatewayContext, StepOutcome } from './exchange.ts';

/** Finds the version in the first segment below `base_path`, and the path to send to its target. */
export function findVersion(exchange: Exchange): StepOutcome | undefined {
  const { activeSnapshot, originForm } = exchange;
  const { basePath } = activeSnapshot.snapshot.gateway;
  const segment = originForm === '*' ? '' : versionSegment(originForm, basePath);
  const activeVersion = versionAt(segment, activeSnapshot);
  if (!activeVersion) return undefined;
  const prefixEnd = basePath.length + segment.length + 1;
  const afterPrefix = originForm.slice(prefixEnd);
  exchange.activeVersion = activeVersion;
  if (exchange.now >= activeVersion.requests.nextMarkAt) exchange.context.callMarks?.onCall(exchange, activeVersion);
  exchange.resource = originForm.slice(prefixEnd, exchange.pathEnd);
  if (activeVersion.version.prefix === 'forward') {
    exchange.path = originForm.slice(basePath.length);
    return undefined;
  }
  if (afterPrefix.startsWith('//')) return { kind: 'problem', problem: networkPathProblem, closesConnection: true };
  exchange.path = afterPrefix.startsWith('/') ? afterPrefix : `/${afterPrefix}`;
  return undefined;
}

/** Whether an origin-form target is below a version of the snapshot. */
export function isForVersion(target: string, activeSnapshot: ActiveSnapshot): boolean {
  return versionAt(versionSegment(target, activeSnapshot.snapshot.gateway.basePath), activeSnapshot) !== undefined;
}

/**
 * The version of a path segment. Most requests are for the same version as the one before, so its name is compared first. A look-up
 * costs several times as much, because V8 has to hash the segment.
 */
function versionAt(segment: string, activeSnapshot: ActiveSnapshot): ActiveVersion | undefined {
  if (activeSnapshot.ofLastRequest?.version.name === segment) return activeSnapshot.ofLastRequest;
  const found = activeSnapshot.versions.get(segment);
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
  return namesVersion(originForm, snapshot.gateway.basePath) || isDiscovery(originForm.slice(0, pathEnd), snapshot);
}

/** Whether the first segment below `basePath` has the form of a version, configured or not. */
export function namesVersion(originForm: string, basePath: string): boolean {
  return looksLikeVersion(versionSegment(originForm, basePath));
}

/** Runs after `checkMessage`: only a valid message gets an answer with details. */
export function refuseUnknownVersion(exchange: Exchange): StepOutcome | undefined {
  const { activeVersion, originForm, pathEnd, activeSnapshot, context } = exchange;
  if (activeVersion) return undefined;
  const { snapshot } = activeSnapshot;
  const path = originForm.slice(0, pathEnd);
  if (context.isDiscovery(path, snapshot)) return { kind: 'discovery' };
  if (context.selfService?.answersPath(path, snapshot)) return { kind: 'ownUsage' };
  const { basePath, publicUrl = '' } = snapshot.gateway;
  const major = context.callMarks && unlistedMajor(versionSegment(path, basePath));
  if (major !== undefined) context.callMarks?.onUnlistedCall(exchange, major);
  const versions = snapshot.sortedVersions.map((version) => ({
    version: version.name,
    stage: stageOf(version, exchange.now),
    href: `${publicUrl}${basePath}/${version.name}`,
  }));
  return { kind: 'problem', problem: { code: 'UNKNOWN_VERSION', members: { versions } } };
}
