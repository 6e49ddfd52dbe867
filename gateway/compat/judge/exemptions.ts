import { pointerOf } from '../document/located.ts';
import { routeInWords } from '../rules/words.ts';
import { type Finding, onlyForRoutes } from './findings.ts';

/** Accepts a finding until a date on which it has to be reviewed. */
export interface Exemption {
  readonly rule: string;
  /** As in the report: `GET /cocktails`. */
  readonly route: string;
  /** In the old or the new contract; includes everything below it. Undefined: the whole route. */
  readonly pointer: string | undefined;
  readonly reason: string;
  /** Epoch ms. */
  readonly until: number;
}

export interface StaleExemption {
  readonly exemption: Exemption;
  readonly why: 'expired' | 'unused';
}

export interface ExemptedFinding<F extends Finding = Finding> {
  readonly finding: F;
  readonly exemption: Exemption;
}

/** Applies exemptions, and records which of them are used. An expired exemption has no effect. */
export class Exemptions {
  readonly #all: readonly Exemption[];
  readonly #now: number;
  readonly #used = new Set<Exemption>();

  constructor(all: readonly Exemption[], now: number) {
    this.#all = all;
    this.#now = now;
  }

  /**
   * A finding keeps the routes that are not exempt. With no route left, it is exempted. `whole`: what an exemption writes
   * as the route of findings outside all routes; the report uses the same words.
   */
  apply(
    findings: readonly Finding[],
    whole = 'the document',
  ): { readonly findings: Finding[]; readonly exempted: ExemptedFinding[] } {
    const exempted: ExemptedFinding[] = [];
    const kept = findings.flatMap((finding) => {
      if (finding.level === 'info') return [finding];
      const names = finding.routes.length === 0 ? [whole] : finding.routes.map(routeInWords);
      const found = names.map((name) => this.#exemptionFor(finding, name));
      const exemption = found.find((one) => one !== undefined);
      if (exemption === undefined) return [finding];
      const routes = finding.routes.filter((_route, index) => found[index] === undefined);
      if (routes.length > 0) return [onlyForRoutes(finding, routes)];
      exempted.push({ finding, exemption });
      return [];
    });
    return { findings: kept, exempted };
  }

  get expired(): StaleExemption[] {
    return this.#all.filter((one) => one.until <= this.#now).map((exemption) => ({ exemption, why: 'expired' }));
  }

  /** Expired or unused exemptions. Complete only after `apply` has seen every finding. */
  get stale(): StaleExemption[] {
    const expired = new Map(this.expired.map((one) => [one.exemption, one]));
    return this.#all.flatMap((exemption): StaleExemption[] => {
      const ended = expired.get(exemption);
      if (ended) return [ended];
      return this.#used.has(exemption) ? [] : [{ exemption, why: 'unused' }];
    });
  }

  #exemptionFor(finding: Finding, route: string): Exemption | undefined {
    const found = this.#all.find(
      (one) =>
        one.until > this.#now &&
        one.rule === finding.rule &&
        one.route === route &&
        (one.pointer === undefined || pointersOf(finding).some((pointer) => isWithin(pointer, one.pointer ?? ''))),
    );
    if (found) this.#used.add(found);
    return found;
  }
}

function pointersOf(finding: Finding): string[] {
  return [finding.old, finding.new].flatMap((site) => (site ? [pointerOf(site.place)] : []));
}

function isWithin(pointer: string, whole: string): boolean {
  return pointer === whole || pointer.startsWith(`${whole}/`);
}
