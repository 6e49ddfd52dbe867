import type { TextPosition } from '../document/textPositions.ts';
import type { Exemption, StaleExemption } from '../exemptions.ts';
import type { Finding } from '../finding.ts';

/** A finding whose places are known in the text of the contracts. */
export interface PlacedFinding extends Finding {
  readonly oldAt: TextPosition | undefined;
  readonly newAt: TextPosition | undefined;
  /** Requests to its routes in the last 30 days; undefined: nobody counted. */
  readonly calls: number | undefined;
}

/** A finding that was let through. */
export interface PlacedExempted {
  readonly finding: PlacedFinding;
  readonly exemption: Exemption;
}

/** `past`: one contract and what it was. `majors`: a major and the one before it, where breaking is what it is there for. */
export type Between = 'past' | 'majors';

/** Two contracts that were held against each other. */
export interface Comparing {
  readonly between: Between;
  /** `v1`, `v1 → v2`, or empty where no version is known. */
  readonly title: string;
  /** As they were named on the command line: `origin/main:services/v1/openapi.yaml`. */
  readonly old: string;
  readonly new: string;
  readonly findings: readonly PlacedFinding[];
  readonly exempted: readonly PlacedExempted[];
}

export interface CompatReport {
  readonly comparings: readonly Comparing[];
  readonly stale: readonly StaleExemption[];
  /** Rules that were switched off: what they are about is in no report, so that "no changes" would say too much. */
  readonly off: readonly string[];
  /** What was not compared, and why. */
  readonly notes: readonly string[];
}
