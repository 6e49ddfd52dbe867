/**
 * Ends this process at once with `code`. Only for a shutdown that is blocked; everything else returns an exit code.
 *
 * process.exit() waits for libuv's threads. A thread inside getaddrinfo(3) or a blocked write(2) may take minutes, and
 * nothing in Node can interrupt it. execve(2) ends every thread, so the process is replaced by one that only sets the code.
 */
export function endProcess(code: number): never {
  try {
    process.execve?.(process.execPath, [process.execPath, '-e', `process.exitCode = ${code}`], {});
  } catch {
    // The executable was replaced, or a sandbox forbids execve.
  }
  process.exit(code);
}
