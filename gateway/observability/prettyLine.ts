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
  const { method, path, query, status, problem, target, duration_ms: duration, fault, cause } = line;
  const parts: unknown[] = [`${method} ${path}${query === undefined ? '' : `?${query}`} → ${status} in ${duration} ms`];
  if (target !== undefined) parts.push(target);
  if (problem !== undefined) parts.push(problem);
  if (fault !== undefined) parts.push(`by the ${fault}’s fault: ${cause}`);
  return parts.join('  ');
}
