import { segmentOf } from '../../config/api.ts';
import type { Snapshot, UpstreamTls, Version } from '../../config/snapshot.ts';
import { stageWithWaivers } from '../../versions/lifecycle/stage.ts';

/** How requests of a version reach a target. */
export interface TargetForm {
  readonly url: string;
  readonly tls: UpstreamTls;
  /** What precedes the path below the version in requests to the target: `/v2`, or '' if the prefix is stripped. */
  readonly pathPrefix: string;
}

/** A target that an edit gives to a version, or that would get the requests of the version in another form. */
export interface NewTarget extends TargetForm {
  /** The path segment: `v2`. */
  readonly version: string;
  readonly healthPath: string | undefined;
  /** The edit refuses requests while no target is healthy. One target of the version must work. */
  readonly becomesStrict: boolean;
  /** How the version is answered now: a route that these targets do not answer either is not lost. */
  readonly currentForms: readonly TargetForm[];
  /** Another version of the edit with the same target, if this edit causes it: `v1`. */
  readonly sharedWith: string | undefined;
  /** The version has this target already. If the edit removes another one, one of the kept targets must work. */
  readonly isKept: boolean;
}

/** The targets that would get requests which they do not get now. `now`: epoch ms. */
export function newTargets(
  before: Pick<Snapshot, 'versions'>,
  after: Pick<Snapshot, 'sortedVersions'>,
  now: number,
): NewTarget[] {
  return after.sortedVersions.flatMap((version) => {
    const current = before.versions.get(version.name);
    const currentForms = current === undefined ? [] : formsOf(current, now);
    const knownForms = new Set(currentForms.map(keyOf));
    const becomesStrict = current?.health.onNoneHealthy === 'try' && version.health.onNoneHealthy === 'refuse';
    const nextForms = formsOf(version, now);
    const nextUrls = new Set(nextForms.map(({ url }) => url));
    const losesTarget = currentForms.some(({ url }) => !nextUrls.has(url));
    return nextForms
      .filter((form) => losesTarget || becomesStrict || !knownForms.has(keyOf(form)))
      .map((form) => {
        const isKept = knownForms.has(keyOf(form));
        const isShared = (other: Version): boolean =>
          other.name !== version.name && formsOf(other, now).some(({ url }) => url === form.url);
        const wasUsed = currentForms.some(({ url }) => url === form.url);
        const sharedWith = wasUsed ? undefined : after.sortedVersions.find(isShared)?.name;
        return { ...form, version: version.name, becomesStrict, currentForms, sharedWith, isKept };
      });
  });
}

/**
 * The targets that get requests of a version: none for a version that is retired without a waiver. An adapter sends its requests to the
 * targets of another version, which are compared as those of that version.
 */
function formsOf(version: Version, now: number): CheckedForm[] {
  const { name, targets, tls, prefix, health, adapter } = version;
  if (adapter?.mode === 'serve' || stageWithWaivers(version, now) === 'retired') return [];
  const pathPrefix = prefix === 'forward' ? `/${segmentOf(name)}` : '';
  return targets.map(({ url }) => ({ url, tls, pathPrefix, healthPath: health.path }));
}

type CheckedForm = TargetForm & Pick<NewTarget, 'healthPath'>;

/** Without TLS, the settings of TLS have no effect. */
function keyOf({ url, tls, pathPrefix, healthPath }: CheckedForm): string {
  return JSON.stringify([url, pathPrefix, healthPath, url.startsWith('https:') && tls]);
}
