import { buildGuide } from '../../../../gateway/contracts/compat/guide/build.ts';
import type { Guide, GuideRoute, Topic } from '../../../../gateway/contracts/compat/guide/guide.ts';
import { documentsOf, type Json } from '../support/comparing.ts';

export const end = {
  deprecation: Date.parse('2026-06-30'),
  sunset: Date.parse('2029-06-30T23:59:59Z'),
  isGoneAfterSunset: false,
  isRetired: false,
  oldBaseUrl: '/v1',
  newBaseUrl: '/v2',
};

/** The guide between two contracts, of which only paths and components are given. */
export function guideBetween(
  old: { readonly paths: Json; readonly components?: Json; readonly title?: string },
  now: { readonly paths: Json; readonly components?: Json },
  moved: Readonly<Record<string, string | null>> = {},
): Guide {
  const documents = ({ title = 'drinks', ...rest }: typeof old, name: string) =>
    // The two contracts must not share objects.
    documentsOf(JSON.parse(JSON.stringify({ openapi: '3.1.0', info: { title, version: '1.0.0' }, ...rest })), name);
  return buildGuide({
    old: documents(old, 'old'),
    new: documents(now, 'new'),
    from: 'v1',
    to: 'v2',
    moved: (path) => (Object.hasOwn(moved, path) ? (moved[path] ?? null) : path),
    versionEnd: end,
  });
}

/** An operation with a JSON response, and an example of its media type. */
export function giving(schema: unknown, example?: unknown, more: Json = {}): Json {
  const media = example === undefined ? { schema } : { schema, example };
  return { ...more, responses: { 200: { description: 'fine', content: { 'application/json': media } } } };
}

/** An operation with a JSON request body. */
export function taking(schema: unknown, example?: unknown): Json {
  const media = example === undefined ? { schema } : { schema, example };
  return {
    requestBody: { required: true, content: { 'application/json': media } },
    responses: { 204: { description: 'done' } },
  };
}

export const done = { responses: { 204: { description: 'done' } } };

export function object(properties: Json, required: readonly string[] = Object.keys(properties)): Json {
  return { type: 'object', required, properties };
}

export function only(guide: Guide): GuideRoute {
  const [route] = guide.routes;
  if (!route) throw new Error('the guide has no route');
  return route;
}

export function onlyTopic({ topics }: GuideRoute): Topic {
  const [topic, ...others] = topics;
  if (!topic || others.length > 0) throw new Error(`the route has ${topics.length} topics`);
  return topic;
}

export function texts({ changes }: Topic): string[] {
  return changes.map(({ text }) => text);
}
