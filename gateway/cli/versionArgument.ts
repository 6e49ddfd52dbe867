import { InvalidArgumentError } from 'commander';

/** `/v1` or `v1`, as a segment: `v1`. */
export function versionArgument(text: string): string {
  const segment = text.replace(/^\//, '');
  // It becomes part of a URL, so nothing else may come with it.
  if (!/^v\d{1,15}$/.test(segment)) throw new InvalidArgumentError('Write a version such as /v1.');
  return segment;
}
