/** One kind of answer that the gateway gives by itself. */
export interface ProblemKind {
  readonly status: number;
  readonly title: string;
  /** Error type of Proxy-Status (RFC 9209 §2.3); absent where none of them fits. */
  readonly proxyError?: string;
  /** What went wrong and what to do about it; the documentation is made from it. */
  readonly detail: string;
}
