/** `/v1/drinks` in a contract of `v1` means `/drinks`: some write their own version into their paths. */
export function withoutVersion(path: string, version: string): string {
  if (path === `/${version}`) return '/';
  return path.startsWith(`/${version}/`) ? path.slice(version.length + 1) : path;
}
