import { InvalidArgumentError, Option } from 'commander';
import { hostPort } from '../config/schema/network.ts';
import { period, timer } from '../config/schema/units.ts';

/** A duration as the user wrote it, and in ms. */
export interface Duration {
  readonly text: string;
  readonly ms: number;
}

/** A `--since` or `--quiet` duration, compared with dates. @throws InvalidArgumentError */
export function periodArgument(text: string): Duration {
  return { text, ms: parsedBy(period, text) };
}

/** A `--timeout` duration, short enough for a timer. @throws InvalidArgumentError */
export function timeoutArgument(text: string): Duration {
  return { text, ms: parsedBy(timer, text) };
}

/** Checks a host:port to listen on; the text stays as it is. @throws InvalidArgumentError */
export function listenArgument(text: string): string {
  parsedBy(hostPort, text);
  return text;
}

/** `/v1` or `v1`, as the path segment `v1`. @throws InvalidArgumentError */
export function versionArgument(text: string): string {
  const segment = text.replace(/^\//, '');
  // The segment becomes part of a URL, so nothing but a version may pass.
  if (!/^v\d{1,15}$/.test(segment)) throw new InvalidArgumentError('Write a version such as /v1.');
  return segment;
}

/** `--format`: the first one is the default. */
export function formatOption(formats: readonly [string, ...string[]]): Option {
  return new Option('--format <format>', 'output format').choices(formats).default(formats[0]);
}

/** What is used here of a config schema. Each of its issues has a remedy. */
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
