export interface Family {
  type: string;
  help: string;
  readonly samples: { readonly name: string; readonly labels: Record<string, string>; readonly value: number }[];
}

const sampleLine = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?)|[+-]Inf|Na[nN])$/;
const oneLabel = /([a-zA-Z_]\w*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/gy;

/**
 * A strict parser of the text format: HELP and TYPE once and before the samples, no duplicate sample, every sample in a
 * family. @throws Error at the first invalid line
 */
export function parseMetrics(text: string) {
  const families = new Map<string, Family>();
  const seen = new Set<string>();
  if (!text.endsWith('\n')) throw new Error('the last line has no end');
  let current: Family | undefined;
  let family = '';
  for (const line of text.split('\n').filter((one) => one !== '')) {
    const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? [];
    if (kind === 'HELP') {
      if (families.has(name)) throw new Error(`${name} comes twice`);
      family = name;
      current = { help: rest, type: '', samples: [] };
      families.set(name, current);
    } else if (kind === 'TYPE') {
      if (!current || name !== family || current.type !== '' || !/^(counter|gauge|histogram|summary)$/.test(rest)) {
        throw new Error(`out of place: ${line}`);
      }
      current.type = rest;
    } else {
      const [, sample = '', labelText = '', number = ''] = sampleLine.exec(line) ?? [];
      const suffix = sample.slice(family.length);
      const suffixes = current?.type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
      if (
        !current?.type ||
        !sample.startsWith(family) ||
        !suffixes.includes(suffix) ||
        seen.has(`${sample}{${labelText}}`)
      ) {
        throw new Error(`out of place: ${line}`);
      }
      seen.add(`${sample}{${labelText}}`);
      current.samples.push({
        name: sample,
        labels: labelsOf(labelText, line),
        value: Number(number.replace('Inf', 'Infinity')),
      });
    }
  }
  const value = (name: string, labels: object): number | undefined => {
    const all = [...families.values()].flatMap(({ samples }) => samples);
    const found = all.filter((one) => one.name === name && sorted(one.labels) === sorted(labels));
    return found[0]?.value;
  };
  return { families, value };
}

function labelsOf(text: string, line: string): Record<string, string> {
  const matches = [...text.matchAll(oneLabel)];
  if (matches.map(([whole]) => whole).join('') !== text) throw new Error(`labels that cannot be read: ${line}`);
  return Object.fromEntries(matches.map(([, name, value]) => [name, value]));
}

function sorted(labels: object): string {
  return JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
}
