// The header fields and parameters by which clients of some frameworks override the method, in lower case and without separators.
const overridingNames: ReadonlySet<string> = new Set(
  ['httpmethod', 'httpmethodoverride', 'methodoverride', 'tunneledmethod'].flatMap((name) => [name, `x${name}`]),
);
const writeMethod = /^\s*(?:post|put|patch|delete)\s*$/i;
// A backend may decode a name more than once.
const maxDecodings = 3;

/**
 * Whether a backend may use another method than that of the request: `X-HTTP-Method-Override: PUT`, `?_method=DELETE`,
 * `?data[_method]=DELETE`. A query parameter `method` is common, so it counts only with a method that writes. `_method` always counts.
 * `fields`: lines. `query`: without `?`.
 */
export function overridesMethod(fields: string, query: string): boolean {
  for (const [, name = ''] of /method/i.test(fields) ? fields.matchAll(/^([^:\r\n]*method[^:\r\n]*):/gim) : [])
    if (overridingNames.has(lettersOf(name))) return true;
  // Without an m, even an encoded one, no parameter name can contain `method`.
  if (!/[m%]/i.test(query)) return false;
  return queryParameters(query).some(([name, value]) => {
    const decodedName = fullyDecoded(name);
    // Frameworks nest parameters: `data[_method]`, `data._method`, `_method[]`.
    return [decodedName, ...decodedName.split(/[[\].]+/)].some((part) => isOverride(part, value));
  });
}

export function queryParameters(query: string): [name: string, value: string][] {
  return [...new URLSearchParams(query.replaceAll(';', '&'))];
}

function isOverride(name: string, value: string): boolean {
  const letters = lettersOf(name);
  return letters === 'method' ? !/^method$/i.test(name) || writeMethod.test(value) : overridingNames.has(letters);
}

function lettersOf(name: string): string {
  return name.toLowerCase().replace(/[^a-z]/g, '');
}

function fullyDecoded(name: string): string {
  let decoded = name;
  for (let time = 0; time < maxDecodings && decoded.includes('%'); time += 1) {
    // Not `decodeURIComponent`, which refuses a name that is not UTF-8.
    decoded = decoded.replace(/%([\da-f]{2})/gi, (_escaped, digits: string) =>
      String.fromCharCode(Number.parseInt(digits, 16)),
    );
  }
  return decoded;
}
