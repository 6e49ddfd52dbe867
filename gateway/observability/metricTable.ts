/** A metric as Prometheus is told of it. */
export interface MetricKind {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly labels: readonly string[];
  readonly help: string;
}

const byVersion = ['version'] as const;

/** Every metric of the gateway's own. None has a label that a client could fill with values of its choice. */
export const metricTable = {
  version_gateway_requests_total: {
    type: 'counter',
    labels: ['version', 'stage', 'method', 'class'],
    help: 'Exchanges that have ended, by the class of the status that was sent; upgrades count when they are closed.',
  },
  version_gateway_request_duration_seconds: {
    type: 'histogram',
    labels: byVersion,
    help: 'From the head of a request to the end of its response; upgrades and text/event-stream are left out.',
  },
  version_gateway_upstream_duration_seconds: {
    type: 'histogram',
    labels: byVersion,
    help: 'From the send of a request to the head of its target’s response.',
  },
  version_gateway_request_bytes_total: {
    type: 'counter',
    labels: byVersion,
    help: 'Bytes of request bodies, and of tunnels towards targets.',
  },
  version_gateway_response_bytes_total: {
    type: 'counter',
    labels: byVersion,
    help: 'Bytes of response bodies, and of tunnels towards clients.',
  },
  version_gateway_retries_total: {
    type: 'counter',
    labels: byVersion,
    help: 'Requests that were sent once more.',
  },
  version_gateway_failures_total: {
    type: 'counter',
    labels: ['version', 'fault'],
    help: 'Exchanges whose response did not come, or not to its end, by whose fault it was: client, gateway or target. To leave a text/event-stream is none.',
  },
  version_gateway_problems_total: {
    type: 'counter',
    labels: ['version', 'code'],
    help: 'Answers of the gateway’s own, by their problem code.',
  },
  version_gateway_upgrades_open: {
    type: 'gauge',
    labels: byVersion,
    help: 'Upgraded connections that are open.',
  },
  version_gateway_requests_in_flight: {
    type: 'gauge',
    labels: byVersion,
    help: 'Requests and streams on their way to a target.',
  },
  version_gateway_requests_waiting: {
    type: 'gauge',
    labels: byVersion,
    help: 'Requests that wait because a limit is reached.',
  },
  version_gateway_last_request_timestamp_seconds: {
    type: 'gauge',
    labels: byVersion,
    help: 'When a request or stream was last in flight to a target (now while one is), as far as this run or the usage ledger knows; absent: never.',
  },
  version_gateway_deprecated_version_in_use: {
    type: 'gauge',
    labels: byVersion,
    help: 'Of deprecated versions that are served: 1 if one was asked within guard.quiet, or 24h where that is off; else 0.',
  },
  version_gateway_days_until_sunset: {
    type: 'gauge',
    labels: byVersion,
    help: 'Days until the announced sunset; negative when it has passed.',
  },
  version_gateway_target_up: {
    type: 'gauge',
    labels: ['version', 'target'],
    help: '1 if the target is healthy; 0 if it cannot be reached, or if probes or failed requests have taken it out.',
  },
  version_gateway_target_ejections_total: {
    type: 'counter',
    labels: ['version', 'target'],
    help: 'How often failed requests have taken the target out.',
  },
  version_gateway_workers_unresponsive: {
    type: 'gauge',
    labels: [],
    help: 'Workers that do not answer: what they count and hold is as of their last answer.',
  },
  version_gateway_ledger_up: {
    type: 'gauge',
    labels: [],
    help: '1 if the usage ledger can be written; 0 while what is counted waits in memory.',
  },
  version_gateway_ledger_last_incident_timestamp_seconds: {
    type: 'gauge',
    labels: [],
    help: 'When coverage of the usage ledger last began anew, because the clock was set or the file was changed; absent: never in this run.',
  },
  version_gateway_ledger_held_rows: {
    type: 'gauge',
    labels: [],
    help: 'Rows of the usage ledger that wait in memory until it can be written.',
  },
  version_gateway_usage_folded_requests_total: {
    type: 'counter',
    labels: [],
    help: 'Requests that the usage ledger counts under other clients, beyond usage.max_clients.',
  },
  version_gateway_access_log_dropped_lines_total: {
    type: 'counter',
    labels: [],
    help: 'Lines of the access log that nobody will read: it could not be opened, written or read fast enough.',
  },
  version_gateway_config_reloads_total: {
    type: 'counter',
    labels: ['result'],
    help: 'Reloads that changed something (ok), and those that were faulty or refused (failed).',
  },
  version_gateway_config_generation: {
    type: 'gauge',
    labels: [],
    help: '1 since the start, one more with each reload that changed something.',
  },
  version_gateway_config_last_reload_successful: {
    type: 'gauge',
    labels: [],
    help: '0 after a reload that was faulty or refused, until one is taken over.',
  },
  version_gateway_config_last_success_timestamp_seconds: {
    type: 'gauge',
    labels: [],
    help: 'When the active configuration was taken over.',
  },
} as const satisfies Record<string, MetricKind>;

export type MetricName = keyof typeof metricTable;
