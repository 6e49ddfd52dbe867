/**
 * How each state of migration is called.
 * @param {string} version
 * @param {string|undefined} successor
 * @returns {Record<string, string>}
 */
export function wording(version, successor) {
  if (successor === undefined) return { stayed: `${version} only`, failing: 'Only errors (4xx)' };
  return {
    stayed: `${version} only`,
    both: `${version} and ${successor}`,
    'went back': `Went back to ${version}`,
    moved: `Moved to ${successor}`,
    'successor only': `${successor} only`,
    failing: 'Only errors (4xx)',
  };
}
