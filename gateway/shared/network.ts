import { isIPv4, isIPv6 } from 'node:net';

/** The /24 or /48 network of an address, because an address may identify a person. '' if it is not an address. */
export function networkOf(address: string): string {
  if (isIPv4(address)) return `${address.slice(0, address.lastIndexOf('.'))}.0/24`;
  if (!isIPv6(address)) return '';
  const [withoutZone = ''] = address.split('%');
  const mapped = /^::ffff:([\d.]+)$/i.exec(withoutZone)?.[1];
  if (mapped !== undefined && isIPv4(mapped)) return networkOf(mapped);
  const groups = groupsOf(withoutZone).slice(0, 3);
  while (groups.at(-1) === '0') groups.pop();
  return `${groups.join(':')}::/48`;
}

/** All eight groups, in lower case and without leading zeros (RFC 5952 §4). An IPv4 address at the end becomes two zeros. */
function groupsOf(address: string): string[] {
  const [head = '', tail = ''] = address.split('::').map((half) => half.replace(/[\d.]+\.[\d.]+$/, '0:0'));
  const before = head === '' ? [] : head.split(':');
  const after = tail === '' ? [] : tail.split(':');
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return [...before, ...zeros, ...after].map((group) => Number.parseInt(group, 16).toString(16));
}
