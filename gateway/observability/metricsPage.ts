import { type MetricKind, metricTable } from './metricTable.ts';

/** docs/metrics.md: the table for people. */
export function metricsPage(): string {
  const rows = Object.entries(metricTable).map(([name, kind]) => row(name, kind));
  return `# Metrics

\`GET /metrics\` of the admin listener, in the text format of Prometheus. It stands behind the same guard as the rest: where
\`gateway.admin_token\` is set, send it as a bearer token (\`authorization: { credentials_file: … }\` of a scrape config), else call
from the same machine by a loopback address. With several workers it is the sum of them all; what a worker counted outlives it: to the last
request when it ends in good order, as last scraped when it does not.

No label holds what a client can choose: there is neither a path nor a client, a version or stage that is none of the file
is \`unknown\`, and a method beyond the seven common ones is \`other\`.

| metric | type | labels | meaning |
|---|---|---|---|
${rows.join('\n')}

Besides, there are the usual \`process_*\` and \`nodejs_*\` metrics of a Node process.
`;
}

function row(name: string, { type, labels, help }: MetricKind): string {
  return `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${help} |`;
}
