/** Two contracts, or two versions, cannot be compared. No caller may treat this as "no changes". */
export class CompareError extends Error {
  override readonly name = 'CompareError';
  /** `file`, `file:line:column` or `file#/json/pointer`. */
  readonly where: string;
  /** What to do about it. */
  readonly remedy: string;

  constructor(where: string, message: string, remedy: string, cause?: unknown) {
    super(`${where}: ${message}.  ${remedy}`, cause === undefined ? undefined : { cause });
    this.where = where;
    this.remedy = remedy;
  }
}

/** Runs `work`. @throws CompareError if `work` overflows the stack, as on schemas nested thousands of levels deep */
export function catchingStackOverflow<T>(where: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new CompareError(
      where,
      'has schemas that are nested too deeply, within each other or along a chain of $refs',
      'Leave out the innermost schemas: a value without a schema may be anything.',
      cause,
    );
  }
}
