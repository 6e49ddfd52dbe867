import { faultAt } from '../source.ts';
import type { WarningRule } from './rule.ts';
import { dateText, isInService, successorOf } from './rule.ts';

/** Clients are told to move, but not by when. */
export const deprecationWithoutSunset: WarningRule = ({ source, entries }, now) =>
  entries
    .filter(
      (entry) => isInService(entry, now) && entry.route.deprecation !== undefined && entry.route.sunset === undefined,
    )
    .map(({ key }) => {
      const message = `${key} is deprecated without a sunset, so its clients do not know how much time they have.`;
      return faultAt(source, ['routes', key, 'deprecation'], message, 'Add a sunset when it is known.');
    });

/** The announced end has passed, and the version is still in service. */
export const passedSunset: WarningRule = ({ source, entries }, now) =>
  entries.flatMap((entry) => {
    const { key, route } = entry;
    if (route.sunset === undefined || route.sunset > now || !isInService(entry, now)) return [];
    const message = `The sunset of ${key}, ${dateText(route.sunset)}, has passed, and it is still served.`;
    const remedy = 'Write after_sunset: gone or retired: true, or move the sunset to a later date.';
    return [faultAt(source, ['routes', key, 'sunset'], message, remedy)];
  });

/** A version ends without a successor. */
export const noSuccessor: WarningRule = (context, now) =>
  context.entries
    .filter((entry) => entry.route.sunset !== undefined && !successorOf(entry, context, now))
    .map(({ key }) => {
      const message = `${key} ends, and there is no higher major that its clients can move to.`;
      return faultAt(context.source, ['routes', key, 'sunset'], message, 'Add the next major, or remove the sunset.');
    });

/** Clients that move would soon have to move again. */
export const successorEndsFirst: WarningRule = (context, now) =>
  context.entries.flatMap((entry) => {
    const { key, route } = entry;
    const next = route.successor === undefined ? undefined : successorOf(entry, context, now);
    if (!next) return [];
    const path = ['routes', key, 'successor'];
    if (!isInService(next, now)) {
      const message = `${next.key}, the successor of ${key}, is itself retired.`;
      return [faultAt(context.source, path, message, 'Name a later major, or remove it.')];
    }
    const isEarlier = next.route.sunset !== undefined && next.route.sunset < (route.sunset ?? Number.POSITIVE_INFINITY);
    if (!isEarlier || route.retired) return [];
    const message = `${next.key}, the successor of ${key}, ends before ${key} does.`;
    return [faultAt(context.source, path, message, 'Name a later major, or move one of the two dates.')];
  });
