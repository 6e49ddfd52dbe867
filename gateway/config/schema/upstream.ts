import { hostName, probePath } from './network.ts';
import { section } from './section.ts';
import { rate, share, size, timer, timerOrOff } from './units.ts';
import { filePath, flag, integer, oneOf } from './words.ts';

// Each key once; `defaults` gives it a default value, and a route leaves it out to take that of `defaults`.

const connect = timerOrOff.describe('How long a connection to a target may take.');
const firstByte = timerOrOff.describe('How long a target may take to begin its response.');
const idle = timerOrOff.describe('How long a target may fall silent within a response body.');
const streamIdle = timerOrOff.describe('The same for text/event-stream and upgraded connections.');
const writeIdle = timerOrOff.describe('How long a client may stop reading.');
const keepAlive = timerOrOff.describe(
  'How long a pooled connection to a target may idle; a shorter Keep-Alive of the target wins.',
);

export const timeouts = section({
  connect: connect.prefault('3s'),
  first_byte: firstByte.prefault('30s'),
  idle: idle.prefault('60s'),
  stream_idle: streamIdle.prefault('off'),
  write_idle: writeIdle.prefault('60s'),
  keep_alive: keepAlive.prefault('4s'),
});
export const routeTimeouts = section({
  connect: connect.optional(),
  first_byte: firstByte.optional(),
  idle: idle.optional(),
  stream_idle: streamIdle.optional(),
  write_idle: writeIdle.optional(),
  keep_alive: keepAlive.optional(),
});

const count = integer(1, 1_000_000);
const body = size.describe('The longest request body; one of exactly this size is allowed.');
const inFlight = count.describe('Requests of one version at the same time.');
const inFlightPerTarget = count.describe('Requests on one target at the same time.');
const queue = timerOrOff.describe('How long a request may wait for its turn at these limits.');

export const limits = section({
  body: body.prefault('10MiB'),
  in_flight: inFlight.prefault(10_000),
  in_flight_per_target: inFlightPerTarget.prefault(2000),
  queue: queue.prefault('1s'),
});
export const routeLimits = section({
  body: body.optional(),
  in_flight: inFlight.optional(),
  in_flight_per_target: inFlightPerTarget.optional(),
  queue: queue.optional(),
});

const attempts = integer(1, 10).describe('Attempts in all, the first one included; 1 means no retry.');
const budget = share.describe('The share of requests that may be retried.');
const budgetMin = rate.describe('Retries that are always granted.');

export const retries = section({
  attempts: attempts.prefault(2),
  budget: budget.prefault('20%'),
  budget_min: budgetMin.prefault('3/s'),
});
export const routeRetries = section({
  attempts: attempts.optional(),
  budget: budget.optional(),
  budget_min: budgetMin.optional(),
});

const few = integer(1, 1000);
const path = probePath.describe('The path that probes ask each target for, or off.');
const interval = timer.describe('The time between two probes.');
const timeout = timer.describe('How long a probe may take.');
const healthyAfter = few.describe('Good probes in a row that bring a target back.');
const unhealthyAfter = few.describe('Bad probes in a row that take a target out.');
const passiveFailures = few.describe('Failed requests in a row that take a target out.');
const eject = timer.describe('For how long failed requests take a target out.');
const onNoneHealthy = oneOf(['try', 'refuse']).describe('With no healthy target: try one all the same, or answer 503.');

export const health = section({
  path: path.prefault('off'),
  interval: interval.prefault('5s'),
  timeout: timeout.prefault('2s'),
  healthy_after: healthyAfter.prefault(2),
  unhealthy_after: unhealthyAfter.prefault(3),
  passive_failures: passiveFailures.prefault(3),
  eject: eject.prefault('10s'),
  on_none_healthy: onNoneHealthy.prefault('try'),
});
export const routeHealth = section({
  path: path.optional(),
  interval: interval.optional(),
  timeout: timeout.optional(),
  healthy_after: healthyAfter.optional(),
  unhealthy_after: unhealthyAfter.optional(),
  passive_failures: passiveFailures.optional(),
  eject: eject.optional(),
  on_none_healthy: onNoneHealthy.optional(),
});

export const balance = oneOf(['round_robin', 'least_requests', 'random']).describe('How a target is chosen.');

const verify = flag.describe('Whether the certificate of a target has to be valid.');
const tlsNames = {
  ca: filePath.optional().describe('A PEM file of the authorities that targets are trusted by.'),
  servername: hostName.optional().describe('The name to ask for, and to look for in the certificate.'),
};
export const tls = section({ ...tlsNames, verify: verify.prefault(true) });
export const routeTls = section({ ...tlsNames, verify: verify.optional() });

export const defaults = section({
  timeouts: timeouts.prefault({}).describe('How long to wait for a target, or for a client that has stopped reading.'),
  limits: limits.prefault({}).describe('How much is let through at once.'),
  retries: retries.prefault({}).describe('When a request may be sent a second time.'),
  health: health.prefault({}).describe('How it is found out which targets can answer.'),
  balance: balance.prefault('round_robin'),
  tls: tls.prefault({}).describe('For targets with https:// URLs.'),
});
