import pretty from 'pino-pretty';

/** Makes a line for people of a line of JSON. */
export function prettyPrinter(colorize: boolean): (json: string) => string {
  return pretty.prettyFactory({
    colorize,
    hideObject: true,
    translateTime: 'UTC:HH:MM:ss.l',
    messageFormat: words,
  });
}

function words(line: Readonly<Record<string, unknown>>): string {
  const { method, path, query, status, duration_ms: duration, retries } = line;
  const parts = [
    `${method} ${path}${query === undefined ? '' : `?${query}`} → ${status} in ${duration} ms`,
    whichVersion(line),
    said(line['client'] ?? line['address'], 'client '),
    said(line['target'], ''),
    Number(retries) > 0 ? `${retries} ${retries === 1 ? 'retry' : 'retries'}` : undefined,
    said(line['problem'], ''),
    line['fault'] === undefined ? undefined : `by the ${line['fault']}’s fault: ${line['cause']}`,
    said(line['id'], 'id '),
  ];
  return parts.filter((part) => part !== undefined).join('  ');
}

function whichVersion({ version, stage }: Readonly<Record<string, unknown>>): string | undefined {
  return version === undefined ? undefined : `${version}${stage === undefined ? '' : ` (${stage})`}`;
}

function said(value: unknown, before: string): string | undefined {
  return value === undefined ? undefined : `${before}${value}`;
}
