import { performance } from 'node:perf_hooks';
import { readRegularFile } from '../../shared/fileSystem.ts';
import { messageOf } from '../../shared/text.ts';
import { SingleRequest, type SingleResult } from '../upstream/singleRequest.ts';
import { Target } from '../upstream/target.ts';
import type { NewTarget, TargetForm } from './newTargets.ts';

/** The product token that requests of a trial carry. They carry no credentials, and are no requests of clients. */
const userAgent = 'version-gateway-trial';
// At most this many requests of one attempt are open at a time: a trial must not be a burst for a backend that is starting.
const maxOpen = 4;

/** A GET that the target answered 404, 405 or 5xx, or whose connection failed. Also one without an answer in time, if none had one. */
export interface LostPath {
  /** Below the version: `/cocktails`. */
  readonly path: string;
  /** `404`, or why there is no response. */
  readonly answer: string;
}

/** Why a target cannot take over the requests of a version. Undefined: it can, as far as one attempt tells. */
export type TrialFailure =
  | { readonly kind: 'unreachable'; readonly cause: string }
  | { readonly kind: 'health'; readonly cause: string }
  | { readonly kind: 'lost'; readonly paths: readonly LostPath[]; readonly tried: number };

interface AttemptSettings {
  /** Paths below the version to try; empty: only the connection and the health path. */
  readonly paths: readonly string[];
  /** The Host of requests of clients, if it is known. */
  readonly publicHost: string | undefined;
  /** For all requests to the target, in ms. As much again is allowed for the paths that it loses, to the current targets. */
  readonly timeout: number;
}

/** Tries a target once: a connection, its health path if there is one, and a GET of each path. */
export async function attemptTrial(
  target: NewTarget,
  { paths, publicHost, timeout }: AttemptSettings,
): Promise<TrialFailure | undefined> {
  const deadline = performance.now() + timeout;
  const ask = askerOf(target, publicHost);
  if (typeof ask === 'string') return { kind: 'unreachable', cause: ask };
  const first = await ask(target.healthPath, deadline);
  if (!first.connected) return { kind: 'unreachable', cause: first.failure ?? 'the connection failed' };
  if (target.healthPath !== undefined) {
    const { status, failure } = first;
    if (status === undefined) return { kind: 'health', cause: failure ?? 'not answered' };
    if (status < 200 || status >= 400) return { kind: 'health', cause: `answered ${status}` };
  }
  const answers = await askAll(paths, (path) => ask(target.pathPrefix + path, deadline));
  const isAnswered = answers.some(({ result }) => !result.timedOut);
  // A slow route is not tried again. A target that answers none of its routes is not usable.
  const lost = answers
    .filter(({ result }) => (result.timedOut ? !isAnswered : isLost(result)))
    .map(({ path, result: { status, failure } }) => ({ path, answer: status?.toString() ?? failure ?? 'no answer' }));
  if (lost.length === 0) return undefined;
  const lostNow = await withoutLostAlready(lost, target.currentForms, publicHost, performance.now() + timeout);
  return lostNow.length === 0 ? undefined : { kind: 'lost', paths: lostNow, tried: answers.length };
}

/** 401, 403 and other 4xx are answers: a trial has neither credentials nor a query. */
function isLost({ status, failure }: SingleResult): boolean {
  if (status === undefined) return failure !== undefined;
  return status === 404 || status === 405 || status >= 500;
}

/**
 * Without the paths that a current target loses in a trial, too: a route that needs credentials may answer 404 without them, and a
 * resource may not exist any more. If no current target answers, nothing is left out.
 */
async function withoutLostAlready(
  lost: readonly LostPath[],
  currentForms: readonly TargetForm[],
  publicHost: string | undefined,
  deadline: number,
): Promise<readonly LostPath[]> {
  for (const form of currentForms) {
    const ask = askerOf(form, publicHost);
    if (typeof ask === 'string') continue;
    const answers = await askAll(
      lost.map(({ path }) => path),
      (path) => ask(form.pathPrefix + path, deadline),
    );
    if (!answers.some(({ result }) => result.status !== undefined)) continue;
    const lostAlready = new Set(
      answers.filter(({ result }) => result.status !== undefined && isLost(result)).map(({ path }) => path),
    );
    return lost.filter(({ path }) => !lostAlready.has(path));
  }
  return lost;
}

type Ask = (path: string | undefined, deadline: number) => Promise<SingleResult>;

/** Sends single GETs to a target. @returns why it cannot be used, if its settings are wrong */
function askerOf({ url, tls }: TargetForm, publicHost: string | undefined): Ask | string {
  let target: Target;
  try {
    const ca = url.startsWith('https:') && tls.ca !== undefined ? readRegularFile(tls.ca) : undefined;
    target = new Target(url, tls, ca, 0);
  } catch (error) {
    return messageOf(error);
  }
  const authority = publicHost ?? target.authority;
  return (path, deadline) => {
    const timeout = Math.max(1, Math.ceil(deadline - performance.now()));
    const { promise, resolve } = Promise.withResolvers<SingleResult>();
    new SingleRequest(target.endpoint, { authority, path, userAgent, timeout }, resolve);
    return promise;
  };
}

async function askAll(
  paths: readonly string[],
  ask: (path: string) => Promise<SingleResult>,
): Promise<{ readonly path: string; readonly result: SingleResult }[]> {
  const answers: { path: string; result: SingleResult }[] = [];
  const waiting = [...paths];
  const askNext = async (): Promise<void> => {
    for (let path = waiting.shift(); path !== undefined; path = waiting.shift())
      answers.push({ path, result: await ask(path) });
  };
  await Promise.all(Array.from({ length: maxOpen }, askNext));
  return answers;
}
