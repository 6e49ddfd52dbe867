/**
 * The exposition of the metrics, without what a machine measures: the series of the metrics of Node, and the values of the buckets and
 * sums of durations. Names, labels and counts are kept. The series of a metric are in the order in which they occurred first, partly in threads,
 * so they are sorted by their labels.
 */
export function metricsText(exposition: string): string {
  const families = exposition.trimEnd().split(/\n(?=# HELP )/);
  return `${families.map(sortedFamily).join('\n')}\n`;
}

function sortedFamily(family: string): string {
  const lines = family.split('\n').filter(isOfGateway).map(shown);
  const comments = lines.filter((line) => line.startsWith('#'));
  // Stable: the buckets, the sum and the count of a series keep their order.
  const series = lines.filter((line) => !line.startsWith('#')).toSorted((a, b) => inOrder(labelsOf(a), labelsOf(b)));
  return [...comments, ...series].join('\n');
}

function isOfGateway(line: string): boolean {
  return !/^(?:process|nodejs)_/.test(line);
}

function labelsOf(line: string): string {
  const labels = /\{(.*)\}/.exec(line)?.[1] ?? '';
  return labels.replace(/,?le="[^"]*"/, '');
}

const inOrder = new Intl.Collator('en', { numeric: true }).compare;

function shown(line: string): string {
  if (/_seconds_(?:bucket\{.*le="(?!\+Inf")|sum)/.test(line)) return line.replace(/ \S+$/, ' <duration>');
  // A tenth of a day is more than the length of a run, which starts in the first half of one.
  if (line.startsWith('version_gateway_days_until_sunset{'))
    return line.replace(/ (\S+)$/, (_, days) => ` ${Number(days).toFixed(1)}`);
  return line;
}
