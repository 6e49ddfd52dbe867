/** Type, labels and help of a metric, as Prometheus shows them. */
export interface MetricKind {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly labels: readonly string[];
  readonly help: string;
}

const byVersion = ['version'] as const;

/** Every metric of the gateway itself. No label has values that a client can choose. */
export const metricTable = {
  version_gateway_requests_total: {
    type: 'counter',
    labels: ['version', 'stage', 'method', 'class'],
    help: 'Requests that have ended, by class of the status sent. An upgraded connection counts when it closes.',
  },
  version_gateway_request_duration_seconds: {
    type: 'histogram',
    labels: byVersion,
    help: 'From the request head to the end of the response, without upgrades and text/event-stream.',
  },
  version_gateway_upstream_duration_seconds: {
    type: 'histogram',
    labels: byVersion,
    help: 'From sending a request to the head of the target’s response.',
  },
  version_gateway_request_bytes_total: {
    type: 'counter',
    labels: byVersion,
    help: 'Bytes of request bodies and of tunnels, towards targets.',
  },
  version_gateway_response_bytes_total: {
    type: 'counter',
    labels: byVersion,
    help: 'Bytes of response bodies and of tunnels, towards clients.',
  },
  version_gateway_retries_total: {
    type: 'counter',
    labels: byVersion,
    help: 'Requests that were sent again, to another target or on another connection.',
  },
  version_gateway_failures_total: {
    type: 'counter',
    labels: ['version', 'fault'],
    help: 'Requests without a complete response, by the side that caused it: client, gateway or target. A client that disconnects from a text/event-stream is not a failure.',
  },
  version_gateway_problems_total: {
    type: 'counter',
    labels: ['version', 'code'],
    help: 'Answers of the gateway itself, by problem code.',
  },
  version_gateway_upgrades_open: {
    type: 'gauge',
    labels: byVersion,
    help: 'Open upgraded connections.',
  },
  version_gateway_requests_in_flight: {
    type: 'gauge',
    labels: byVersion,
    help: 'Open requests and streams that have a target.',
  },
  version_gateway_requests_waiting: {
    type: 'gauge',
    labels: byVersion,
    help: 'Requests that wait because a limit is reached.',
  },
  version_gateway_last_request_timestamp_seconds: {
    type: 'gauge',
    labels: byVersion,
    help: 'When a request or stream was last in flight to a target, from this run or the usage ledger; the current time if one is in flight now. Absent: never.',
  },
  version_gateway_deprecated_version_in_use: {
    type: 'gauge',
    labels: byVersion,
    help: 'For each deprecated version that is served: 1 if it was called within guard.quiet (24h if that is off), else 0.',
  },
  version_gateway_days_until_sunset: {
    type: 'gauge',
    labels: byVersion,
    help: 'Days until the announced sunset; negative once it has passed.',
  },
  version_gateway_target_up: {
    type: 'gauge',
    labels: ['version', 'target'],
    help: '1 if the target is healthy; 0 if it cannot be reached, fails its probes, or is ejected.',
  },
  version_gateway_target_ejections_total: {
    type: 'counter',
    labels: ['version', 'target'],
    help: 'How often the target was ejected because requests failed.',
  },
  version_gateway_workers_unresponsive: {
    type: 'gauge',
    labels: [],
    help: 'Workers that do not answer. Their other metrics have the values of their last answer.',
  },
  version_gateway_ledger_up: {
    type: 'gauge',
    labels: [],
    help: '1 if the usage ledger can be written; 0 while counts wait in memory.',
  },
  version_gateway_ledger_last_incident_timestamp_seconds: {
    type: 'gauge',
    labels: [],
    help: 'When coverage of the usage ledger last restarted, because the clock was set or the file was changed. Absent: never in this run.',
  },
  version_gateway_ledger_held_rows: {
    type: 'gauge',
    labels: [],
    help: 'Rows that wait in memory until the usage ledger can be written.',
  },
  version_gateway_usage_folded_requests_total: {
    type: 'counter',
    labels: [],
    help: 'Requests that the usage ledger counts as “other clients”, beyond usage.max_clients.',
  },
  version_gateway_access_log_dropped_lines_total: {
    type: 'counter',
    labels: [],
    help: 'Access log lines that were dropped: the log could not be opened, written, or read fast enough.',
  },
  version_gateway_config_reloads_total: {
    type: 'counter',
    labels: ['result'],
    help: 'Reloads that changed something (ok), and reloads that were invalid or refused (failed).',
  },
  version_gateway_config_generation: {
    type: 'gauge',
    labels: [],
    help: 'Starts at 1 and grows with each reload that changed something.',
  },
  version_gateway_config_last_reload_successful: {
    type: 'gauge',
    labels: [],
    help: '0 after a reload that was invalid or refused, until one succeeds.',
  },
  version_gateway_config_last_success_timestamp_seconds: {
    type: 'gauge',
    labels: [],
    help: 'When the active configuration was loaded.',
  },
} as const satisfies Record<string, MetricKind>;

export type MetricName = keyof typeof metricTable;

/** The text of docs/metrics.md. */
export function metricsPage(): string {
  const rows = Object.entries(metricTable).map(([name, kind]) => row(name, kind));
  return `# Metrics

\`GET /metrics\` of the admin listener returns the Prometheus text format. Access is restricted as for the other operations: if
\`gateway.admin_token\` is set, send it as a bearer token (\`authorization: { credentials_file: … }\` of a scrape config), else call
it from the same machine at a loopback address. With several workers, values are added over all workers. The
counters of a worker that has ended stay in the sum. If it did not shut down properly, they lack its counts since the last scrape.

No label has a value that a client can choose. There is no label for paths or clients; an unknown version or stage is
\`unknown\`, and a method other than the seven common ones is \`other\`.

| metric | type | labels | meaning |
|---|---|---|---|
${rows.join('\n')}

The usual \`process_*\` and \`nodejs_*\` metrics of a Node process are included.
`;
}

function row(name: string, { type, labels, help }: MetricKind): string {
  return `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${help} |`;
}
