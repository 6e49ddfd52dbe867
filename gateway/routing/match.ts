/**
 * The part of `path` below `basePath`, or undefined when it is not below it. On a segment boundary:
 * `/api` holds `/api`, `/api/x` and `/api?x`, not `/apix`. `basePath` has no trailing slash.
 */
export function below(path: string, basePath: string): string | undefined {
  if (basePath === '') return path;
  if (!path.startsWith(basePath)) return undefined;
  const next = path.charAt(basePath.length);
  return next === '' || next === '/' || next === '?' ? path.slice(basePath.length) : undefined;
}

/**
 * The first segment of an origin-form target, as received: `v1` of `/v1/drinks`, of `/v1?x` and of `/v1`.
 * Nothing is decoded or folded, so that `/V1`, `/v01` and `/v1%2fx` find no version.
 */
export function firstSegment(target: string): string {
  for (let at = 1; at < target.length; at += 1) {
    const code = target.charCodeAt(at);
    if (code === 0x2f || code === 0x3f) return target.slice(1, at);
  }
  return target.slice(1);
}

/** Whether a segment has the form of a version, known or not. */
export function looksLikeVersion(segment: string): boolean {
  return /^v[0-9]/i.test(segment);
}
