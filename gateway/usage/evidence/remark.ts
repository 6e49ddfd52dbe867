import { type Instant, isoText } from '../../shared/instant.ts';

/** The answer to a question about calls. `not known`: facts are missing, so neither yes nor no has evidence. */
export type Answer = 'yes' | 'no' | 'not known';

/** One fact behind an answer, or one fact that is missing. */
export interface Remark {
  readonly code: string;
  /** One or two sentences, safe to print. */
  readonly text: string;
  /** Since when the fact is true, epoch ms; undefined: it has no beginning, or it is not known. */
  readonly since?: number | undefined;
  /** When the fact stops to matter if nothing changes, epoch ms; undefined: it does not end by itself. */
  readonly until?: number | undefined;
  /** What an operator can do about it, in one sentence. */
  readonly remedy?: string | undefined;
}

/** A remark in a report, without members that are not known. */
export function remarkJson({ code, text, since, until, remedy }: Remark): RemarkJson {
  return {
    code,
    text,
    ...(since !== undefined && { since: isoText(since) }),
    ...(until !== undefined && { until: isoText(until) }),
    ...(remedy !== undefined && { remedy }),
  };
}

export interface RemarkJson extends Pick<Remark, 'code' | 'text'> {
  readonly since?: Instant;
  readonly until?: Instant;
  readonly remedy?: string;
}
