import { isIPv6 } from 'node:net';

/** RFC 9110 §5.6.2. */
export const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

// No escaped control characters, although the grammar has nothing against them: no host is called so.
const registeredName = /^(?:[A-Za-z0-9\-._~!$&'()*+,;=]|%(?!7f)[2-9A-Fa-f][0-9A-Fa-f])+$/i;
const futureAddress = /^v[0-9A-Fa-f]+\.[A-Za-z0-9\-._~!$&'()*+,;=:]+$/i;
const port = /^[0-9]{0,5}$/;

// Nearly every request asks for the same host as the one before.
let lastValid = '';

/** `uri-host [ ":" port ]` of RFC 9110 §7.2, not empty: RFC 9110 §4.2.1 has no http URI without a host. */
export function isAuthority(value: string): boolean {
  if (value === lastValid) return value !== '';
  if (!fitsGrammar(value)) return false;
  lastValid = value;
  return true;
}

function fitsGrammar(value: string): boolean {
  const literal = value.startsWith('[');
  const hostEnd = literal ? value.indexOf(']') + 1 : value.indexOf(':');
  if (literal && hostEnd === 0) return false;
  const host = hostEnd === -1 ? value : value.slice(0, hostEnd);
  const rest = value.slice(host.length);
  if (rest !== '' && !(rest.startsWith(':') && port.test(rest.slice(1)) && Number(rest.slice(1)) <= 65_535))
    return false;
  if (!literal) return registeredName.test(host);
  const address = host.slice(1, -1);
  return isIPv6(address) ? !address.includes('%') : futureAddress.test(address);
}

/** The members of a comma-separated list (RFC 9110 §5.6.1) of tokens, in lower case. */
export function listOfTokens(value: string): string[] {
  return value
    .split(',')
    .map((member) => member.trim().toLowerCase())
    .filter((member) => member !== '');
}
