/** Names of query parameters whose values are secrets wherever they occur, in lower case and without `-` and `_`. */
export const secretNames: readonly string[] = [
  'token',
  'accesstoken',
  'idtoken',
  'refreshtoken',
  'authtoken',
  'authorization',
  'apikey',
  'key',
  'secret',
  'clientsecret',
  'clientassertion',
  'password',
  'passwd',
  'pwd',
  'code',
  'sig',
  'signature',
  'xamzsignature',
  'xamzsecuritytoken',
  'xamzcredential',
  'xgoogsignature',
  'xgoogcredential',
  'session',
  'sessionid',
  'jwt',
];

const secret: ReadonlySet<string> = new Set(secretNames);

/** `a=1&token=2` → `a=1&token=***`. `names`: more of them, in lower case. */
export function redacted(query: string, names: readonly string[]): string {
  return query
    .split('&')
    .map((pair) => {
      const at = pair.indexOf('=');
      return at !== -1 && isSecret(nameOf(pair.slice(0, at)), names) ? `${pair.slice(0, at)}=***` : pair;
    })
    .join('&');
}

// `api-key`, `api_key` and `apiKey` are one; so are `token` and `token[]`.
function isSecret(name: string, names: readonly string[]): boolean {
  return names.includes(name) || secret.has(name.replace(/[-_]|\[.*$/g, ''));
}

/** As a backend would read it, so that `%74oken` hides no more than `token` does. */
function nameOf(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' ')).toLowerCase();
  } catch {
    return text.toLowerCase();
  }
}
