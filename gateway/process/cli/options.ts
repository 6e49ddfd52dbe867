import { readFileSync, statSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { hostname } from 'node:os';
import { relative, resolve } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { isId, leadingId } from '../../config/api.ts';
import { formatFault, UnreadableFileError } from '../../config/fault.ts';
import { adminAddressIn, parseConfig } from '../../config/load.ts';
import { decodeIfUtf8, readRoutes, realPathOf } from '../../config/location.ts';
import { digestOf } from '../../config/referencedFiles.ts';
import { hostPort } from '../../config/schema/network.ts';
import { dateTime, instant, period, timer } from '../../config/schema/units.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import { printable, printableExcerpt } from '../../shared/text.ts';
import { type NamedRoute, parseRoute } from '../../usage/counting/routeNames.ts';
import type { AnsweringGateway } from '../../usage/observability/answeringGateway.ts';
import { type AdminEndpoint, AdminError } from './adminClient.ts';
import { type Io, UsageError } from './io.ts';

// The folder of the second place contains nothing else, so that the folder can be mounted into a container.
const defaultPlaces = ['routes.yaml', 'config/routes.yaml'] as const;

/** The routes.yaml that is used when none is named; undefined when neither place has one. */
export function defaultConfig(cwd: string): string | undefined {
  return defaultPlaces.find((place) => mayExist(resolve(cwd, place)));
}

/** Also true if `stat` fails for another reason, such as a missing permission. The caller reads the file and reports the error. */
function mayExist(path: string): boolean {
  try {
    statSync(path);
    return true;
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ENOENT');
  }
}

/** `--config`. If neither file exists, the default is the first place, and the error message names this place. */
export function configOption(cwd: string): Option {
  return new Option('--config <file>', 'path of routes.yaml').default(
    defaultConfig(cwd) ?? defaultPlaces[0],
    `${defaultPlaces.join(' or ')}, the first that exists`,
  );
}

/**
 * Reads and validates a routes.yaml for a command that sends no requests to its targets. Versions need no upstream, because the
 * file may be that of a `versionLifecycle`. @throws UsageError with its faults, UnreadableFileError
 */
export function snapshotOf(file: string, { cwd, env }: Pick<Io, 'cwd' | 'env'>): Snapshot {
  const { snapshot, faults } = parseConfig(readRoutes(file, cwd), file, { env, cwd, needsUpstreams: false });
  if (snapshot) return snapshot;
  throw new UsageError(
    [...faults.map(formatFault), `${file} has faults and cannot be used: see version-gateway check.`].join('\n'),
  );
}

export interface AdminEndpointOptions {
  /** An origin. */
  readonly admin?: string;
  readonly config?: string;
}

/** Of a command that prints an answer in one of its formats. */
export interface PrintOptions extends AdminEndpointOptions {
  readonly format: string;
}

/** `--admin`, and `--config` to read the address from. */
export function addAdminEndpointOptions(command: Command): Command {
  return addAdminOption(command).option(
    '--config <file>',
    'routes.yaml to read gateway.admin and admin_token from (default: routes.yaml or config/routes.yaml, the first that exists)',
  );
}

export function addAdminOption(command: Command): Command {
  return command.option(
    '--admin <host:port>',
    'admin listener of the running gateway; its token is read from ADMIN_TOKEN (default: gateway.admin of --config; 127.0.0.1:9901 if that is not set)',
    originOf,
  );
}

const defaultOrigin = 'http://127.0.0.1:9901';

/**
 * A token read from the file is only sent to the address read from the file. The first line of a text answer names the gateway that
 * gives it. `stream`: where this line goes. Beside an answer in another format, it goes to standard error; a JSON answer has it as a
 * member instead (`gatewayJson`). @throws AdminError, UnreadableFileError
 */
export function adminEndpointOf(
  options: AdminEndpointOptions & { readonly format?: string },
  io: Pick<Io, 'env' | 'cwd' | 'stderr' | 'stdout'>,
  stream: 'stdout' | 'stderr' = 'stdout',
): AdminEndpoint {
  const endpoint = addressedEndpoint(options, io);
  const { format = 'text' } = options;
  let named: AnsweringGateway | undefined;
  return {
    ...endpoint,
    gateway: () => named,
    onAnswer: (gateway) => {
      if (named !== undefined || gateway === undefined) return;
      named = gateway;
      const line = answeredBy(gateway, endpoint.origin, options.config ?? defaultConfig(io.cwd), io.cwd);
      const isText = format === 'text' || format === 'markdown';
      if (stream === 'stdout' && isText) io.stdout.write(`${line}\n\n`);
      else if (format !== 'json') io.stderr.write(`${line}\n`);
    },
  };
}

/** Which gateway answers, as a line. It says so if the file of the command is not the file of the gateway. */
function answeredBy(
  { name, host, file, digest }: AnsweringGateway,
  origin: string,
  ownFile: string | undefined,
  cwd: string,
): string {
  const who = `Gateway ${printableExcerpt(name)} at ${origin}`;
  if (file === '') return `${who}, without a file.`;
  const isHere = host === hostname();
  const below = relative(realPathOf(cwd), file);
  const shown = printable(isHere && !below.startsWith('..') ? below : file);
  if (ownFile === undefined) return `${who}, with ${shown}.`;
  const ownPath = resolve(cwd, ownFile);
  // In a container the file has another path, and another host name.
  const isOwn = (isHere && realPathOf(ownPath) === file) || digestAt(ownPath) === digest;
  return isOwn ? `${who}, with ${shown}.` : `${who} uses ${shown}, not ${printable(ownFile)}.`;
}

function digestAt(path: string): string | undefined {
  try {
    return digestOf(readFileSync(path));
  } catch {
    return undefined;
  }
}

function addressedEndpoint(
  { admin, config }: AdminEndpointOptions,
  io: Pick<Io, 'env' | 'cwd' | 'stderr'>,
): AdminEndpoint {
  const token = (io.env['ADMIN_TOKEN'] ?? '').trim();
  if (admin !== undefined) return { origin: admin, name: admin, token };
  const origin = defaultOrigin;
  const file = config ?? defaultConfig(io.cwd);
  if (file === undefined) return { origin, name: `${origin} (the default)`, token };
  const shownFile = printable(file);
  const address = addressIn(file, io);
  if (address instanceof UnreadableFileError || typeof address === 'string') {
    const reason =
      address instanceof UnreadableFileError ? address.message : `${shownFile} ${addressProblems[address]}`;
    // The default file may be invalid during an edit. Operators need the status also then, so the default address is used.
    if (config === undefined && address !== 'unusable') {
      // The gateway at the default address may be another gateway than the one that the file configures.
      io.stderr.write(`Connecting to ${origin}, the default: ${reason}.\n`);
      return { origin, name: `${origin} (the default, because ${reason})`, token };
    }
    throw address instanceof UnreadableFileError
      ? address
      : new AdminError(`${reason}.  Give the address of the gateway: --admin host:port.`);
  }
  if (address === undefined)
    return { origin, name: `${origin} (the default, because ${shownFile} has no gateway.admin)`, token };
  const configuredOrigin = originOf(`${hostOf(address.host)}:${address.port}`);
  return {
    origin: configuredOrigin,
    name: `${configuredOrigin} (gateway.admin of ${shownFile})`,
    token: token === '' ? address.token : token,
  };
}

const addressProblems = {
  broken: 'cannot be parsed: see version-gateway check',
  unusable: 'has no usable address in gateway.admin',
};

function addressIn(file: string, { cwd, env }: Pick<Io, 'cwd' | 'env'>) {
  try {
    return adminAddressIn(decodeIfUtf8(readRoutes(file, cwd)) ?? '', env);
  } catch (error) {
    if (error instanceof UnreadableFileError) return new UnreadableFileError(printable(file), error.cause);
    throw error;
  }
}

/** The host to connect to: a wildcard address includes the loopback address. */
function hostOf(host: string): string {
  if (host === '' || host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return isIPv6(host) ? `[${host}]` : host;
}

function originOf(text: string): string {
  const urlText = /^https?:\/\//i.test(text) ? text : `http://${text}`;
  const hasSchemeOrPort = urlText === text || /:\d{1,5}$/.test(text);
  const url = hasSchemeOrPort && URL.canParse(urlText) ? new URL(urlText) : undefined;
  if (!url || url.href !== `${url.origin}/` || url.port === '0')
    throw new InvalidArgumentError('Write host:port, or https://host:port.');
  return url.origin;
}

/** A duration in ms or an instant in epoch ms, and its text as the user wrote it. */
export interface TimeArgument {
  readonly text: string;
  readonly ms: number;
}

/** A parser, which throws InvalidArgumentError. */
function timeArgument(schema: Schema<number>): (text: string) => TimeArgument {
  return (text) => ({ text, ms: parsedBy(schema, text) });
}

/** A `--since` or `--quiet` duration, which may be longer than a timer allows. */
export const periodArgument = timeArgument(period);
export const dateArgument = timeArgument(instant);
/** A `--timeout` duration, short enough for a timer. */
export const timeoutArgument = timeArgument(timer);

/** Validates the host:port to listen on, and returns it unchanged. @throws InvalidArgumentError */
export function listenArgument(text: string): string {
  parsedBy(hostPort, text);
  return text;
}

/** `/orders/v1` or `orders/v1`, as the id `orders/v1`. @throws InvalidArgumentError */
export function versionArgument(text: string): string {
  const id = text.replace(/^\//, '');
  if (!isId(id)) throw new InvalidArgumentError('Write a version such as /v1.');
  return id;
}

/** A version, or one of its routes. */
export interface NamedSubject {
  readonly version: string;
  readonly route?: NamedRoute;
}

/** `/v1` or `GET /v1/drinks/{id}`. @throws InvalidArgumentError */
export function subjectArgument(text: string): NamedSubject {
  if (isId(text.replace(/^\//, ''))) return { version: versionArgument(text) };
  const route = parseRoute(text);
  const version = route && leadingId(route.path.slice(1));
  if (route === undefined || version === undefined)
    throw new InvalidArgumentError('Write a version such as /v1, or a route such as "GET /v1/drinks/{id}".');
  return { version, route: { method: route.method, path: route.path.slice(version.length + 1) || '/' } };
}

/** `--format`: the first one is the default. */
export function formatOption(formats: readonly [string, ...string[]]): Option {
  return new Option('--format <format>', 'output format').choices(formats).default(formats[0]);
}

/** A time with its zone: `2028-06-30T14:00Z`. @throws InvalidArgumentError */
export function dateTimeArgument(text: string): number {
  return parsedBy(dateTime, text);
}

/** The part of a config schema that is used here. Each of its issues has a remedy. */
interface Schema<Value> {
  safeParse(text: string): {
    readonly data?: Value | undefined;
    readonly error?: { readonly issues: readonly Issue[] } | undefined;
  };
}

interface Issue {
  readonly message: string;
  readonly params?: Readonly<Record<string, unknown>> | undefined;
}

function parsedBy<Value>(schema: Schema<Value>, text: string): Value {
  const { data, error } = schema.safeParse(text);
  const issue = error?.issues[0];
  if (issue === undefined) return data as Value;
  throw new InvalidArgumentError(`It ${issue.message}. ${issue.params?.['remedy'] ?? ''}`.trimEnd());
}
