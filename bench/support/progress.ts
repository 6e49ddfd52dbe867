/** Progress goes to stderr, so that stdout holds the tables alone. */
export function progress(line: string): void {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)}  ${line}\n`);
}
