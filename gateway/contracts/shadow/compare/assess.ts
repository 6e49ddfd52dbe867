import type { EvidenceRow } from '../../../usage/usageRow.ts';
import {
  changeOf,
  isOneSided,
  isPairRow,
  leastChange,
  leastPairs,
  maxNoiseChance,
  parentsOf,
  propertyKeyOf,
  sumPairs,
} from './evidence.ts';

/**
 * `declared`: the contracts state the difference. `undeclared`: they do not, or the new version violates its contract. `noise`: two
 * responses of the old version differ in the same way, or the difference occurs in both directions. `no evidence`: too few pairs.
 */
export type DifferenceClass = 'undeclared' | 'declared' | 'noise' | 'no evidence';

/** A difference between the responses of two versions. Instants in epoch ms. */
export interface ResponseDifference {
  readonly route: string;
  /** The status of the old responses; 0 if the difference is about the status itself. */
  readonly status: number;
  readonly path: string;
  /** `absent`, `null`, `empty`, `type`, `status`, `media`, `syntax`, or the rule of the contract that the value violates. */
  readonly what: string;
  /** `string → number`, `200 → 404`, or ''. */
  readonly detail: string;
  readonly class: DifferenceClass;
  readonly why: string;
  /** The number of pairs that show the difference. */
  readonly count: number;
  /** The number of compared pairs. */
  readonly pairs: number;
  readonly first: number;
  readonly last: number;
}

/** What is known about one route. */
export interface RouteEvidence {
  readonly route: string;
  readonly pairs: number;
  /** The pairs whose bodies were compared. */
  readonly compared: number;
  /** Pairs of two responses of the old version. */
  readonly control: number;
  /** Why bodies were not compared: `refused`, `not JSON` and so on, with the number of pairs. */
  readonly skipped: readonly { readonly reason: string; readonly pairs: number }[];
  /** Undeclared ones first. */
  readonly differences: readonly ResponseDifference[];
  /** Fields of the old contract about which too little is known, each with the reason. */
  readonly unseen: readonly { readonly status: number; readonly path: string; readonly why: string }[];
  readonly first: number;
  readonly last: number;
}

const classOrder: readonly DifferenceClass[] = ['undeclared', 'declared', 'noise', 'no evidence'];

/** `rows`: of two versions, all with the same `EvidenceRow.hash`. No two rows of a route and kind have the same `propertyKeyOf`. */
export function assessEvidence(rows: readonly EvidenceRow[]): RouteEvidence[] {
  const byRoute = Map.groupBy(rows, ({ route }) => route);
  // A route that has only control pairs is left out. That happens while the new version fails.
  return [...byRoute]
    .map(([route, routeRows]) => assessRoute(route, routeRows))
    .filter(({ pairs }) => pairs > 0)
    .toSorted((a, b) => b.pairs - a.pairs || compareText(a.route, b.route));
}

function assessRoute(route: string, allRows: readonly EvidenceRow[]): RouteEvidence {
  const rows = allRows.filter(({ kind }) => kind !== 'control');
  const controlRows = allRows.filter(({ kind }) => kind === 'control');
  const evidence = new RouteRows(rows, controlRows);
  const pairRows = rows.filter(isPairRow);
  const rowsByReason = Map.groupBy(
    pairRows.filter(({ detail }) => detail !== 'body'),
    ({ detail }) => detail,
  );
  const differences = [...evidence.violations(), ...evidence.shapes(), ...evidence.statuses()];
  return {
    route,
    pairs: sumPairs(pairRows),
    compared: sumPairs(pairRows.filter(({ detail }) => detail === 'body')),
    control: sumPairs(controlRows.filter(isPairRow)),
    skipped: [...rowsByReason].map(([reason, skipped]) => ({ reason, pairs: sumPairs(skipped) })),
    differences: differences.toSorted(
      (a, b) =>
        classOrder.indexOf(a.class) - classOrder.indexOf(b.class) || b.count - a.count || compareText(a.path, b.path),
    ),
    unseen: evidence.unseen(),
    first: Math.min(...pairRows.map(({ first }) => first)),
    last: Math.max(...pairRows.map(({ last }) => last)),
  };
}

/** The rows of one route. */
class RouteRows {
  readonly #rows: readonly EvidenceRow[];
  readonly #controlByProperty: ReadonlyMap<string, EvidenceRow>;
  readonly #pairs: number;
  /** `200 /drinks/price` → its rows. */
  readonly #rowsByPath: ReadonlyMap<string, readonly EvidenceRow[]>;

  constructor(rows: readonly EvidenceRow[], control: readonly EvidenceRow[]) {
    this.#rows = rows;
    this.#controlByProperty = new Map(control.map((row) => [propertyKeyOf(row), row]));
    this.#pairs = sumPairs(rows.filter(isPairRow));
    this.#rowsByPath = Map.groupBy(rows, ({ status, path }) => `${status} ${path}`);
  }

  /** Violations of the new contract (`invalid`) or only of the old one (`changed`). One pair is enough if old responses have none. */
  violations(): ResponseDifference[] {
    const rows = this.#rows.filter((row) => ['invalid', 'changed', 'syntax'].includes(row.what) && row.newShare > 0);
    return rows.flatMap((counted) => {
      // A row about a violation counts only the pairs with the violation.
      const row = { ...counted, pairs: this.#comparedPairs(counted) };
      const { what, newMore } = row;
      const control = this.#controlByProperty.get(propertyKeyOf(row));
      const isInOldToo = row.oldShare > 0 || (control !== undefined && control.oldShare + control.newShare > 0);
      if (isInOldToo && newMore === 0) return [];
      // A longer list contains more violations, so in lists the share of violations must change, too.
      const hasEnoughChange = !row.path.includes('/*') || changeOf(row) >= leastChange;
      const isDifference = !isInOldToo || (hasEnoughChange && isOneSided(row, 'newMore'));
      const isDeclared = what === 'changed' && row.newListing !== 'no schema';
      // `detail` of the row: `type number`, `format date-time`, `required` and so on.
      const rule =
        what === 'syntax' ? 'syntax' : row.detail === 'type null' ? 'null' : (row.detail.split(' ', 1)[0] ?? '');
      const detail = rule === 'type' ? this.#types(row) : rule === 'format' ? row.detail.slice('format '.length) : '';
      if (!isDifference) {
        const isUndecided = row.oldMore === 0 && newMore < leastPairs;
        return [difference(row, [rule, detail], isUndecided ? tooFew : alsoInOldVersion, newMore)];
      }
      const why =
        what === 'syntax'
          ? 'the body is not JSON'
          : what === 'invalid'
            ? 'the new contract does not allow it'
            : isDeclared
              ? 'the new contract allows it'
              : 'the new contract has no schema for it';
      return [difference(row, [rule, detail], [isDeclared ? 'declared' : 'undeclared', why], newMore)];
    });
  }

  /** Fields that the new version sends less often, and types and media types that it sends more often. */
  shapes(): ResponseDifference[] {
    return this.#rows.flatMap((row) => {
      const { what, oldMore, newMore } = row;
      const direction = what === 'value' ? 'oldMore' : 'newMore';
      if (what !== 'value' && what !== 'type' && what !== 'media') return [];
      if (oldMore + newMore === 0 || this.#isCoveredByViolation(row)) return [];
      const label = this.#labelOf(row);
      if (isOneSided(row, direction) && changeOf(row) >= leastChange) {
        const verdict = this.#isNoise(row, direction) ? noise : this.#contractVerdict(row);
        return [difference(row, label, verdict, row[direction])];
      }
      // An added field, and a type that does not occur any more, are not differences.
      if (row[direction] === 0) return [];
      const count = row[direction];
      if (row.pairs < leastPairs || oldMore === 0 || newMore === 0) return [difference(row, label, tooFew, count)];
      return [difference(row, label, ['noise', 'it varies in both versions'], count)];
    });
  }

  statuses(): ResponseDifference[] {
    const rows = this.#rows.filter(({ what }) => what === 'status');
    const lessFrequentRows = rows.filter((row) => isOneSided(row, 'oldMore'));
    return rows.flatMap((counted) => {
      const row = { ...counted, pairs: this.#pairs };
      const { detail: status, newMore, oldMore } = row;
      if (newMore === 0) return [];
      const formerStatusRows = lessFrequentRows.filter((one) => one !== counted);
      const detail = `${formerStatusRows.map((one) => one.detail).join(', ') || 'another status'} → ${status}`;
      if (!isOneSided(row, 'newMore')) {
        const isInBoth = oldMore > 0 && newMore + oldMore >= leastPairs;
        return [difference(row, ['status', detail], isInBoth ? noise : tooFew, newMore)];
      }
      if (this.#isNoise(row, 'newMore')) return [difference(row, ['status', detail], noise, newMore)];
      // `optional`: the contract lists the status. `required`: the new contract requires a parameter that the request may lack.
      const { oldListing: before, newListing: after } = row;
      const isFormerStatusOnlyInOld = formerStatusRows.some(
        ({ oldListing, newListing }) => oldListing === 'optional' && newListing === 'unlisted',
      );
      const [isDeclared, why] =
        after === 'no route'
          ? [true, 'the new contract does not have the route']
          : after === 'required'
            ? [true, 'the new contract requires another parameter']
            : after !== 'optional'
              ? [false, 'the new contract does not list the status']
              : before === 'unlisted' || isFormerStatusOnlyInOld
                ? [true, 'only one of the contracts lists the status']
                : [false, 'the contracts do not state it'];
      return [difference(row, ['status', detail], [isDeclared ? 'declared' : 'undeclared', why], newMore)];
    });
  }

  unseen(): { status: number; path: string; why: string }[] {
    const unseenFields = this.#rows.flatMap((row) => {
      const { what, status, path, pairs, oldShare, oldListing } = row;
      if (what !== 'value' || (oldListing !== 'required' && oldListing !== 'optional')) return [];
      const nullShare = this.#rowAt(row, 'null')?.oldShare ?? 0;
      if (pairs >= leastPairs && oldShare > 0) return [];
      const whyNever = path.endsWith('/*') ? 'always empty' : nullShare > 0 ? 'always null' : 'never sent';
      const why = pairs === 0 ? 'never reached' : oldShare === 0 ? whyNever : `fewer than ${leastPairs} pairs`;
      return [{ status, path, why }];
    });
    // What is below an unseen path is unseen for the same reason.
    const paths = new Set(unseenFields.map(({ status, path }) => `${status} ${path}`));
    return unseenFields
      .filter(({ status, path }) => !parentsOf(path).some((parent) => paths.has(`${status} ${parent}`)))
      .toSorted((a, b) => a.status - b.status || compareText(a.path, b.path));
  }

  /** Whether a violation of a contract already describes the difference. */
  #isCoveredByViolation(row: EvidenceRow): boolean {
    return (this.#rowsByPath.get(`${row.status} ${row.path}`) ?? []).some(({ what, detail, newShare, newMore }) => {
      if ((what !== 'invalid' && what !== 'changed') || newShare === 0 || newMore === 0) return false;
      if (row.what === 'type') return detail.startsWith('type ') || detail === 'alternatives';
      return row.what === 'value' && (detail === 'required' || detail === 'type null' || detail === 'minItems');
    });
  }

  #labelOf(row: EvidenceRow): Label {
    if (row.what === 'type') return ['type', this.#types(row)];
    if (row.what === 'media') {
      const oldRows = this.#rows.filter((one) => one.what === 'media' && one.status === row.status && one.oldMore > 0);
      return ['media', `${oldRows.map(({ detail }) => detail).join(', ')} → ${row.detail}`];
    }
    if (row.path.endsWith('/*')) return ['empty', ''];
    const nullRow = this.#rowAt(row, 'null');
    // `null`: more than half of the lost values have become null.
    return [nullRow && nullRow.newShare - nullRow.oldShare > (row.oldShare - row.newShare) / 2 ? 'null' : 'absent', ''];
  }

  /** `string → number`, from the old types to the new one. Only the new type if all old values had it. */
  #types(row: EvidenceRow): string {
    const types = (this.#rowsByPath.get(`${row.status} ${row.path}`) ?? []).filter(({ what }) => what === 'type');
    const oldTypes = types.filter(({ oldShare }) => oldShare > 0).map(({ detail }) => detail);
    const newType = row.what === 'type' ? row.detail : row.detail.slice('type '.length);
    const otherOldTypes = oldTypes.filter((type) => type !== newType);
    if (oldTypes.length > 0 && otherOldTypes.length === 0) return newType;
    return `${otherOldTypes.join(', ') || 'no value'} → ${newType}`;
  }

  /** Whether two responses of the old version differ in the same direction. */
  #isNoise(row: EvidenceRow, direction: 'oldMore' | 'newMore'): boolean {
    const control = this.#controlByProperty.get(propertyKeyOf(row));
    return control !== undefined && isOneSided(control, direction, maxNoiseChance);
  }

  #contractVerdict(row: EvidenceRow): Verdict {
    const { oldListing: before, newListing: after } = row;
    if (row.what === 'media')
      return before === 'unlisted' && after === 'optional'
        ? ['declared', 'only the new contract lists it']
        : ['undeclared', 'the contracts do not state it'];
    if (before === 'unlisted') return ['undeclared', 'the old contract does not list the field'];
    if (before === 'no schema' || after === 'no schema') return ['undeclared', 'the contracts have no schema for it'];
    if (after === 'unlisted') return ['declared', 'the new contract does not list the field'];
    if (row.what === 'type') {
      // `narrowed`: the new contract does not allow the old type.
      const isNarrowed = (this.#rowsByPath.get(`${row.status} ${row.path}`) ?? []).some(
        ({ what, oldShare, newShare }) => what === 'narrowed' && oldShare > 0 && newShare === 0,
      );
      return isNarrowed
        ? ['declared', 'the new contract has another type']
        : ['undeclared', 'the contracts allow both types'];
    }
    return before === 'required' && after === 'optional'
      ? ['declared', 'the new contract makes the field optional']
      : ['undeclared', 'both contracts list the field'];
  }

  /** The pairs whose bodies were compared. For `syntax`, also the pairs with a body that is not JSON. */
  #comparedPairs({ status, pairs, what }: EvidenceRow): number {
    const bodies =
      this.#rowsByPath.get(`${status} `)?.find((row) => row.what === 'pair' && row.detail === 'body')?.pairs ?? 0;
    return what === 'syntax' ? bodies + pairs : bodies;
  }

  #rowAt({ status, path }: EvidenceRow, what: string): EvidenceRow | undefined {
    return this.#rowsByPath.get(`${status} ${path}`)?.find((row) => row.what === what);
  }
}

type Label = readonly [what: string, detail: string];
type Verdict = readonly [DifferenceClass, why: string];

const noise: Verdict = ['noise', 'the old version differs from itself'];
const alsoInOldVersion: Verdict = ['noise', 'the old version sends such values, too'];
const tooFew: Verdict = ['no evidence', 'too few pairs show it'];

function difference(row: EvidenceRow, label: Label, verdict: Verdict, count: number): ResponseDifference {
  const [[what, detail], [differenceClass, why]] = [label, verdict];
  const { route, status, path, pairs, first, last } = row;
  return { route, status, path, what, detail, class: differenceClass, why, count, pairs, first, last };
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
