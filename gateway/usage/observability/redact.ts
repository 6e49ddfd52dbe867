/** A parameter whose name contains one of these words holds a secret: `user[password]`, `auth.type`, `refreshToken`. */
const secretWords: ReadonlySet<string> = new Set(
  `auth oauth authorization authentication bearer token jwt saml assertion key secret secrets hmac sig signature
  pass password passwords passwd pwd passphrase passcode pin otp totp hotp mfa credential credentials
  session sid cookie ticket csrf xsrf`.split(/\s+/),
);

/** Secret words at the end of a name without separators: `accesstoken`, `PHPSESSID`. */
const secretEnding =
  /(?:token|secret|password|passwd|passphrase|passcode|credentials?|signature|apikey|accesskey|privatekey|sessionid|sessid)$/;

// The name `code` is secret if it is alone or after one of these words. Other codes, such as `country_code`, are not secret.
const secretCode =
  /^(?:(?:auth|verification|confirmation|security|access|login|device|user|reset|recovery|backup|invite) ?)?code$/;

// Only the end of a longer name is examined.
const longestName = 200;
const maxDecodings = 3;

/** Further secret names, in lower case and without separators, so that `api-key` and `apiKey` are the same. */
export type SecretNames = ReadonlySet<string>;

export function secretNamesIn(names: readonly string[]): SecretNames {
  return new Set(names.map((name) => wordsIn(name).join('')));
}

/** `a=1&token=2` → `a=1&token=***`. */
export function redactQuery(query: string, names: SecretNames): string {
  return redactPairs(query, /([&;])/, names);
}

/** The same for path parameters (RFC 3986 §3.3): `/cart;jsessionid=1` and `/token=1`. */
export function redactPath(path: string, names: SecretNames): string {
  return equalsSign.test(path) ? redactPairs(path, /([/;]|%(?:25)*3b)/i, names) : path;
}

// An equals sign, also percent-encoded once or more: `%3d`, `%253d`.
const equalsSign = /=|%(?:25)*3d/i;

// Splits instead of matching pairs: a regular expression would try a match at every character, and a client controls the text.
function redactPairs(text: string, separator: RegExp, names: SecretNames): string {
  const parts = text.split(separator);
  return parts
    .map((part) => {
      const at = part.search(equalsSign);
      if (at === -1) return part;
      const [name, equalsAndValue] = [part.slice(0, at), part.slice(at)];
      const [equals = '='] = equalsSign.exec(equalsAndValue) ?? [];
      return isSecret(name, names) || holdsSecret(equalsAndValue.slice(equals.length)) ? `${name}${equals}***` : part;
    })
    .join('');
}

function isSecret(name: string, names?: SecretNames): boolean {
  const words = wordsIn(name);
  if (names !== undefined && names.size > 0 && names.has(words.join(''))) return true;
  // Some backends ignore case, so `toKEN` is also a token.
  return hasSecretWord(words) || hasSecretWord(wordsIn(decoded(name).toLowerCase()));
}

function hasSecretWord(words: readonly string[]): boolean {
  return secretCode.test(words.join(' ')) || words.some((word) => secretWords.has(word) || secretEnding.test(word));
}

/** `user%5BapiKey2%5D` → user, api, key, 2. */
function wordsIn(name: string): string[] {
  return decoded(name)
    .slice(-longestName)
    .replace(/(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=\d)/g, ' ')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean);
}

/** Whether a value is a URL, form or JSON that contains a secret. */
function holdsSecret(value: string): boolean {
  if (!/[=:%]/.test(value)) return false;
  const text = decoded(value);
  // A URL with a user or password before the host.
  if (/:\/\/[^/?#\s]{0,500}@/.test(text)) return true;
  const parts = text.split(/[=:]/);
  return parts.slice(0, -1).some((part) => {
    const name = /[\w.[\]-]+["'\s]*$/.exec(part.slice(-longestName))?.[0];
    return name !== undefined && isSecret(name);
  });
}

/** Percent-decoded several times, because some backends decode more than once: `%2574oken` is read as `token`. */
function decoded(text: string): string {
  let layer = text.replaceAll('+', ' ');
  for (let depth = 0; depth < maxDecodings && layer.includes('%'); depth += 1) {
    layer = layer.replace(/%([0-9a-f]{2})/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
  }
  return layer;
}
