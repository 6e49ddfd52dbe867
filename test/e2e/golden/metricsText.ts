/**
 * The exposition of the metrics, without what a machine measures: the values of the metrics of Node, and the buckets and sums of
 * durations. Names, labels and counts are kept. The reasons for dropped copies are in the order in which they occurred first, in threads,
 * so they are sorted.
 */
export function metricsText(exposition: string): string {
  const lines = exposition.split('\n').map(shown);
  const dropped = lines.filter((line) => line.startsWith(droppedCopies)).sort();
  return lines.map((line) => (line.startsWith(droppedCopies) ? dropped.shift() : line)).join('\n');
}

const droppedCopies = 'version_gateway_shadow_dropped_total{';

function shown(line: string): string {
  if (/^(?:process|nodejs)_/.test(line))
    return line.replace(/version="v[\d.]+".*\}/, 'version=<node>}').replace(/ \S+$/, ' <process>');
  if (/_seconds_(?:bucket\{.*le="(?!\+Inf")|sum)/.test(line)) return line.replace(/ \S+$/, ' <duration>');
  // A tenth of a day is more than the length of a run, which starts in the first half of one.
  if (line.startsWith('version_gateway_days_until_sunset{'))
    return line.replace(/ (\S+)$/, (_, days) => ` ${Number(days).toFixed(1)}`);
  return line;
}
