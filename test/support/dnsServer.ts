import { createSocket } from 'node:dgram';
import { once } from 'node:events';

/** What a DNS server answers about a name: its IPv4 addresses, an error, or nothing at all. */
export type DnsAnswer = readonly string[] | 'NXDOMAIN' | 'SERVFAIL' | 'REFUSED' | 'silence';

export interface DnsServer {
  readonly address: string;
  /** Changes the answer about a name. A name without an answer does not exist. */
  answerWith(name: string, answer: DnsAnswer): void;
  /** How many queries for IPv4 addresses of the name have arrived. */
  queries(name: string): number;
  close(): void;
}

const codes = { SERVFAIL: 2, NXDOMAIN: 3, REFUSED: 5 } as const;
const [typeA, classIn] = [1, 1];

/** A DNS server for A and AAAA queries over UDP (RFC 1035), on port 53 of a loopback address. */
export async function startDnsServer(address: string): Promise<DnsServer> {
  const answers = new Map<string, DnsAnswer>();
  const queries = new Map<string, number>();
  const socket = createSocket('udp4');
  socket.on('message', (query, { port, address: client }) => {
    const { name, type, end } = questionOf(query);
    if (type === typeA) queries.set(name, (queries.get(name) ?? 0) + 1);
    const answer = answers.get(name) ?? 'NXDOMAIN';
    if (answer === 'silence') return;
    const addresses = typeof answer !== 'string' && type === typeA ? answer : [];
    const head = Buffer.from(query.subarray(0, 12));
    // A response, recursion desired and available, and the code.
    head.writeUInt16BE(0x8180 | (typeof answer === 'string' ? codes[answer] : 0), 2);
    head.writeUInt16BE(addresses.length, 6);
    // No records of other sections.
    head.fill(0, 8);
    socket.send(Buffer.concat([head, query.subarray(12, end), ...addresses.map(recordOf)]), port, client);
  });
  socket.bind(53, address);
  await once(socket, 'listening');
  return {
    address,
    answerWith: (name, answer) => answers.set(name, answer),
    queries: (name) => queries.get(name) ?? 0,
    close: () => socket.close(),
  };
}

function questionOf(query: Buffer): { readonly name: string; readonly type: number; readonly end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

/** An A record with a time to live of 0, whose name refers to the question. */
function recordOf(address: string): Buffer {
  const record = Buffer.alloc(16);
  record.writeUInt16BE(0xc00c, 0);
  record.writeUInt16BE(typeA, 2);
  record.writeUInt16BE(classIn, 4);
  record.writeUInt16BE(4, 10);
  record.set(address.split('.').map(Number), 12);
  return record;
}
