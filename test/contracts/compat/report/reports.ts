import { parseFile } from '../../../../gateway/contract/document/contractFiles.ts';
import { Documents } from '../../../../gateway/contract/document/documents.ts';
import {
  type Between,
  type CompatReport,
  compareAndJudge,
  type Exemption,
  Exemptions,
  type PairReport,
} from '../../../../gateway/contracts/compat/judge/judge.ts';
import type { RuleLevel } from '../../../../gateway/contracts/compat/rules/rules.ts';

export const now = Date.parse('2026-06-01');

export interface Setting {
  readonly title?: string;
  readonly between?: Between;
  readonly exemptions?: readonly Exemption[];
  readonly levels?: Readonly<Record<string, RuleLevel>>;
  readonly calls?: number;
  readonly names?: readonly [old: string, now: string];
}

/** A real report on two contracts. */
export function reportOn(old: string, changed: string, setting: Setting = {}): CompatReport {
  const exemptions = new Exemptions(setting.exemptions ?? [], now);
  const pair = pairReportOf(old, changed, setting, exemptions);
  const off = Object.entries(setting.levels ?? {}).flatMap(([id, level]) => (level === 'off' ? [id] : []));
  return { pairs: [pair], staleExemptions: exemptions.stale, rulesOff: off, notCompared: [] };
}

export function pairReportOf(
  old: string,
  changed: string,
  {
    title = '',
    between = 'past',
    levels = {},
    calls,
    names = ['origin/main:api/drinks.yaml', 'api/drinks.yaml'],
  }: Setting,
  exemptions = new Exemptions([], now),
): PairReport {
  const [before, after] = [documentsOf(names[0], old), documentsOf(names[1], changed)];
  const pair = { title, between, old: before, new: after, versions: {} };
  return compareAndJudge(pair, { levels: new Map(Object.entries(levels)), exemptions, callsOf: () => calls });
}

function documentsOf(name: string, text: string): Documents {
  return new Documents(parseFile(name, text), () => {
    throw new Error('these contracts have one file each');
  });
}

/** With `after`: one breaking change, one that may break clients, and one addition. */
export const before = `openapi: 3.1.0
info: { title: drinks, version: 1.0.0 }
paths:
  /drinks:
    get:
      parameters:
        - { name: page, in: query, schema: { type: integer, default: 1 } }
      responses:
        200:
          description: all of them
          content:
            application/json:
              schema: { $ref: '#/components/schemas/Drink' }
  /drinks/{id}:
    get:
      responses:
        200:
          description: one of them
          content:
            application/json:
              schema: { $ref: '#/components/schemas/Drink' }
components:
  schemas:
    Drink:
      required: [price]
      properties:
        price:
          type: string
        name: { type: string }
`;

export const after = before
  .replace('type: string\n', 'type: number\n')
  .replace('default: 1', 'default: 2')
  .replace('name: { type: string }', 'name: { type: string }\n        maker: { type: string }');

/** A contract whose response has one field. */
export function contractWithField(name: string, type: string, path = '/drinks'): string {
  return contractWithFields({ [name]: { type } }, path);
}

export function contractWithFields(properties: Readonly<Record<string, unknown>>, path = '/drinks'): string {
  const responses = { 200: { description: 'fine', content: { 'application/json': { schema: { properties } } } } };
  const info = { title: 'drinks', version: '1.0.0' };
  return JSON.stringify({ openapi: '3.1.0', info, paths: { [path]: { get: { responses } } } });
}

/** Names that attack the program that prints them. */
export const hostile = {
  tag: '<img src=x onerror=1>',
  cells: 'a | b \\| c',
  backticks: 'a ` b `` c ``` d',
  lines: 'a\r\nb\nc',
  terminal: '\u001b[31m\u001b]0;owned\u0007\u009b2J',
  command: '::error::owned',
  olderCommand: '##[error]owned',
  percent: '%0A::error::owned',
  bidi: 'a\u202eb\u2066c\u200b',
  mention: '@octocat fixes #1',
  link: '[click](https://example.com) ![](https://example.com/x.png)',
  comment: '--><script>alert(1)</script><!-- ',
  fold: '</summary></details>',
  separator: 'a\u2028b\u2029c',
  surrogate: 'a\ud800b',
  long: 'x'.repeat(1_000_000),
} as const;
export const hostileEntries = Object.entries(hostile);
