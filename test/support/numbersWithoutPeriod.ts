/** The words of a period or an instant that a number may have beside it. */
const period =
  /\b(?:in|before) the last \d|\b\d+ complete days?\b|\bnow\b|\bsince\b|\buntil\b|\bper day\b|\b(?:not|reached|cover) .* at \S*Z|\bcalls? every \d/i;

/** Texts with digits that are no counts: names, addresses, times, durations, status codes and settings. */
const notCounts = [
  /https?:\/\/\S+/g,
  /\/v\d+/g,
  /\b(?:GET|POST|PUT|DELETE|PATCH) \S+/g,
  /\b[a-z-]+:[#\w.=-]+/g,
  /\b\d{4}-\d\d-\d\d(?:T[\d:.]+Z)?/g,
  /\b\d+ (?:days?|h|min|s|ms) ago\b/g,
  /\bjust now\b/g,
  /\b[45](?:xx|\d\d)\b/g,
  /\bgeneration \d+/g,
  /\bconfiguration [0-9a-f]{12}\b/g,
  /\bretire\.max_share allows [\d.]+%/g,
  /\b(?:for about|usually every|every) \d[\w ]*?(?:days?|h|min)\b/g,
];

/**
 * The parts of a text output that show a number whose period is not written: neither beside it, nor in the heading of its column,
 * nor in the line above its table, nor in the first line of the output if this is its heading. Blank lines separate tables.
 */
export function numbersWithoutPeriod(output: string): string[] {
  const [firstLine = '', ...otherLines] = output.split('\n');
  const isHeading = !firstLine.startsWith(' ') && /^usage\b/.test(firstLine);
  if (isHeading) return period.test(firstLine) ? [] : [firstLine, ...otherLines].filter((line) => hasCount(line));
  return output.split(/\n\n+/).flatMap((block) => {
    const lines = block.split('\n');
    const [title = ''] = lines;
    if (title.endsWith(':') && period.test(title)) return [];
    const headings = cellsOf(title);
    return lines.flatMap((line) =>
      cellsOf(line)
        .filter(({ text, at }) => {
          const heading = headings.findLast((one) => one.at <= at)?.text ?? '';
          return hasCount(text) && !period.test(text) && !period.test(line === title ? '' : heading);
        })
        .map(({ text }) => text),
    );
  });
}

function hasCount(text: string): boolean {
  return /\d/.test(notCounts.reduce((rest, one) => rest.replace(one, ''), text));
}

/** The cells of a line: texts with two spaces or more between them. */
function cellsOf(line: string): { readonly text: string; readonly at: number }[] {
  return [...line.matchAll(/\S+(?: \S+)*/g)].map((match) => ({ text: match[0], at: match.index }));
}
