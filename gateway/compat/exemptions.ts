import { routeInWords } from './diff/routes.ts';
import { pointerOf } from './document/located.ts';
import type { Finding } from './finding.ts';
import { onlyOf } from './findings.ts';

/** A finding that is let through until a day on which somebody looks at it again. */
export interface Exemption {
  readonly rule: string;
  /** As the report names it: `GET /cocktails`. */
  readonly route: string;
  /** Of either side, and all that stands below; undefined: the whole route. */
  readonly pointer: string | undefined;
  readonly reason: string;
  /** Epoch ms. */
  readonly until: number;
}

export interface StaleExemption {
  readonly exemption: Exemption;
  readonly why: 'expired' | 'unused';
}

export interface Exempted {
  readonly finding: Finding;
  readonly exemption: Exemption;
}

// As the report heads what belongs to no route.
const theDocument = 'the document';

/** Lets through what is exempt, and remembers which exemptions were of use. One that has expired is of none. */
export class Exemptions {
  readonly #all: readonly Exemption[];
  readonly #now: number;
  readonly #used = new Set<Exemption>();

  constructor(all: readonly Exemption[], now: number) {
    this.#all = all;
    this.#now = now;
  }

  /**
   * What is left of the findings: those with a route that is not exempt, with such routes only. `whole` is what an
   * exemption names for what belongs to no route.
   */
  apply(findings: readonly Finding[], whole = theDocument): { findings: Finding[]; exempted: Exempted[] } {
    const exempted: Exempted[] = [];
    const left = findings.flatMap((finding) => {
      if (finding.level === 'info') return [finding];
      const names = finding.routes.length === 0 ? [whole] : finding.routes.map(routeInWords);
      const found = names.map((name) => this.#exemptionFor(finding, name));
      const exemption = found.find((one) => one !== undefined);
      if (exemption === undefined) return [finding];
      const routes = finding.routes.filter((_route, index) => found[index] === undefined);
      if (routes.length > 0) return [onlyOf(finding, routes)];
      exempted.push({ finding, exemption });
      return [];
    });
    return { findings: left, exempted };
  }

  /** Those that have ended. */
  get expired(): StaleExemption[] {
    return this.#all.filter((one) => one.until <= this.#now).map((exemption) => ({ exemption, why: 'expired' }));
  }

  /** To be asked last, when all has been compared: those that have ended, or let nothing through. */
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
