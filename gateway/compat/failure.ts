/** Why two contracts could not be compared: nothing may be concluded then, least of all that nothing has changed. */
export class CompareError extends Error {
  override readonly name = 'CompareError';
  /** `file`, `file:line:column` or `file#/json/pointer`. */
  readonly where: string;
  /** The way out. */
  readonly remedy: string;

  constructor(where: string, message: string, remedy: string, cause?: unknown) {
    super(`${where}: ${message}.  ${remedy}`, cause === undefined ? undefined : { cause });
    this.where = where;
    this.remedy = remedy;
  }
}

/** What is nested thousands of levels deep is walked by functions that call themselves as often. @throws CompareError */
export function withinTheStack<T>(where: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new CompareError(
      where,
      'is nested too deeply to be compared',
      'Give its inner parts names of their own.',
      cause,
    );
  }
}
