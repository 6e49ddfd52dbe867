import type { LogSettings } from '../config/snapshot.ts';
import { networkOf } from '../shared/network.ts';
import type { ExchangeRecord } from './exchangeRecord.ts';
import { redactPath, redactQuery, type SecretNames, secretNamesIn } from './redact.ts';

/** What a line shows of an exchange. */
export interface ShownSettings extends Pick<LogSettings, 'address' | 'query'> {
  readonly secretNames: SecretNames;
}
export type LogLevel = 'info' | 'warn' | 'error';

export function shownBy({ address, query, redact }: LogSettings): ShownSettings {
  return { address, query, secretNames: secretNamesIn(redact) };
}

/**
 * One JSON line of the access log, in ASCII. Building it by hand takes a tenth of the time of a general logger, because it
 * is known which values may need escaping. Undefined fields are left out.
 */
export function logLine(exchange: ExchangeRecord, level: LogLevel, settings: ShownSettings, client?: string): string {
  const { query, secretNames } = settings;
  const { version, upstream } = exchange;
  const shownQuery = query && exchange.query !== '' ? redactQuery(exchange.query, secretNames) : undefined;
  const ids = `"level":"${level}","time":"${timeOf(exchange.at)}","id":"${exchange.id}","trace_id":"${exchange.traceId}"`;
  const versionAndStage = `${plainField('version', version || undefined)}${plainField('stage', exchange.stage)}`;
  const caller = `${textField('client', client)}${plainField('address', shownAddress(exchange.address, settings.address))}`;
  const request = `,"method":"${exchange.method}","path":${quoted(redactPath(exchange.path, secretNames))}${textField('query', shownQuery)}`;
  const answer = `,"status":${exchange.status}${plainField('problem', exchange.problem)}${textField('target', exchange.target)}`;
  const times = `,"duration_ms":${rounded(exchange.duration)}${upstream === undefined ? '' : `,"upstream_ms":${rounded(upstream)}`}`;
  const sizes = `,"bytes_in":${exchange.bytesIn},"bytes_out":${exchange.bytesOut},"retries":${exchange.retries}`;
  const failure = `${plainField('fault', exchange.fault)}${textField('cause', exchange.cause)}`;
  return `{${ids}${versionAndStage}${caller}${request}${answer}${times}${sizes}${failure}}\n`;
}

/** A field whose value never needs escaping. */
function plainField(name: string, value: string | undefined): string {
  return value === undefined ? '' : `,"${name}":"${value}"`;
}

/** A field whose value may be any text. */
function textField(name: string, value: string | undefined): string {
  return value === undefined ? '' : `,"${name}":${quoted(value)}`;
}

const needsEscape = /[^ !#-[\]-~]/;

function quoted(value: string): string {
  return needsEscape.test(value) ? JSON.stringify(inPrintableAscii(value)) : `"${value}"`;
}

const notPrintableAscii = /[^ -~]/g;

/**
 * Replaces all characters outside printable ASCII by their code, because control characters could move the cursor of a
 * terminal. JSON alone is not enough. A tool that prints the value decodes the JSON escapes of C0 controls. JSON does not
 * escape DEL and the C1 controls, one of which acts like ESC [.
 */
function inPrintableAscii(text: string): string {
  return text.replace(notPrintableAscii, (one) => `\\x${one.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

/** Rounded to the microsecond, `1.72`. Uses integers because printing a fraction costs many times as much. */
function rounded(ms: number): string {
  const us = Math.round(ms * 1000);
  const whole = Math.floor(us / 1000);
  const rest = us - whole * 1000;
  if (rest === 0) return `${whole}`;
  const digits = rest < 10 ? `00${rest}` : rest < 100 ? `0${rest}` : `${rest}`;
  return `${whole}.${digits.endsWith('0') ? digits.replace(/0+$/, '') : digits}`;
}

let lastAddress = '';
let lastNetwork: string | undefined;

/** The address as `log.address` allows it. Clients send several requests in a row, so the last network is kept. */
function shownAddress(given: string, how: LogSettings['address']): string | undefined {
  if (how !== 'network') return how === 'full' ? given : undefined;
  if (given !== lastAddress) {
    lastAddress = given;
    lastNetwork = networkOf(given) || undefined;
  }
  return lastNetwork;
}

let lastSecond = Number.NaN;
let upToSecond = '';

/** ISO 8601. The part up to the second is reused while it is the same. */
function timeOf(at: number): string {
  const second = Math.floor(at / 1000);
  if (second !== lastSecond) {
    lastSecond = second;
    upToSecond = new Date(second * 1000).toISOString().slice(0, -4);
  }
  return `${upToSecond}${String(at - second * 1000).padStart(3, '0')}Z`;
}

const colours: Readonly<Record<LogLevel, number>> = { info: 32, warn: 33, error: 31 };

/** A JSON line as text for a terminal: `[08:00:00.042] INFO: GET /v1/drinks → 200 in 1.2 ms  v1 (active)  …`. */
export function prettyLine(json: string, inColour: boolean): string {
  const line = JSON.parse(json) as Readonly<Record<string, unknown>> & {
    readonly level: LogLevel;
    readonly time: string;
  };
  const time = line.time.slice(11, -1);
  const level = line.level.toUpperCase();
  const message = messageOf(line);
  if (!inColour) return `[${time}] ${level}: ${message}\n`;
  return `[${time}] \x1b[${colours[line.level]}m${level}\x1b[39m: \x1b[36m${message}\x1b[39m\n`;
}

function messageOf(line: Readonly<Record<string, unknown>>): string {
  const { method, path, query, status, duration_ms: duration, retries } = line;
  const parts = [
    `${method} ${path}${query === undefined ? '' : `?${query}`} → ${status} in ${duration} ms`,
    versionIn(line),
    prefixed('client ', line['client'] ?? line['address']),
    prefixed('', line['target']),
    Number(retries) > 0 ? `${retries} ${retries === 1 ? 'retry' : 'retries'}` : undefined,
    prefixed('', line['problem']),
    line['fault'] === undefined ? undefined : `by the ${line['fault']}’s fault: ${line['cause']}`,
    prefixed('id ', line['id']),
  ];
  return parts.filter((part) => part !== undefined).join('  ');
}

function versionIn({ version, stage }: Readonly<Record<string, unknown>>): string | undefined {
  return version === undefined ? undefined : `${version}${stage === undefined ? '' : ` (${stage})`}`;
}

function prefixed(prefix: string, value: unknown): string | undefined {
  return value === undefined ? undefined : `${prefix}${value}`;
}
