/** Progress goes to stderr, so that stdout contains only the tables. */
export function progress(line: string): void {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)}  ${line}\n`);
}
