/**
 * The number of a version's colour, 1 to 6, and 0 for requests that named no version. It depends on the version alone, so
 * that a version has the same colour in every chart, whichever other versions are shown.
 * @param {string} version
 */
export function colorOf(version) {
  const major = Number(version.slice(1));
  return version === '' || !Number.isInteger(major) ? 0 : ((major + 5) % 6) + 1;
}
