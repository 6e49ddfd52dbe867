import { asFlatString, lowerCased } from '../../http1/grammar.ts';
import type { ResponseHead } from '../../http1/responseHead.ts';
import { type CacheVariation, type LifecycleFields, type ResponsePlan, responseFields } from './responseFields.ts';

/** The head of a response as text, except the links of the version, which differ by path. No blank line; latin1. */
export interface RenderedHead {
  readonly status: number;
  /** The status line and the fields before the links. */
  readonly beforeLinks: string;
  readonly afterLinks: string;
  readonly hasDate: boolean;
  readonly hasLength: boolean;
}

/** A head that was rendered for a plan. It has all properties of the plan on which the text depends, to compare them. */
interface Rendering extends RenderedHead {
  readonly lifecycle: LifecycleFields | undefined;
  readonly cacheVariation: CacheVariation | undefined;
  readonly rewrites: boolean;
  readonly trailers: boolean;
  readonly hsts: boolean;
  readonly pseudonym: string;
}

/** A property of the parsed head. `ResponseHeads` returns the same parsed head again if a backend sends the same text again. */
const renderings = Symbol('renderings');

interface HeadWithRenderings extends ResponseHead {
  [renderings]?: Rendering[];
}

// Versions that share a target may differ in their lifecycle fields.
const maxRenderings = 4;
// The values of these fields are rewritten with the Host of the request.
const rewrittenNames = ['link', 'location', 'content-location', 'refresh', 'set-cookie'];
// Marks the place of the links. No field of a backend contains a line feed.
const linkMark = '\n';
const linkField = `Link: ${linkMark}\r\n`;

/**
 * The head that `responseFields` returns, as text. The same head is rendered once for all requests with the same plan.
 * Undefined if a field depends on the request.
 */
export function renderHead(head: HeadWithRenderings, plan: ResponsePlan): RenderedHead | undefined {
  const earlier = head[renderings];
  if (earlier) for (const rendering of earlier) if (isFor(plan, rendering)) return rendering;
  const rewrites = plan.urlRewriting !== undefined;
  if (rewrites && head.names.some((name) => rewrittenNames.includes(name))) return undefined;
  const rendering = render(head, plan, rewrites);
  if (earlier && earlier.length < maxRenderings) earlier.push(rendering);
  else head[renderings] = [rendering];
  return rendering;
}

function isFor(plan: ResponsePlan, rendering: Rendering): boolean {
  return (
    rendering.rewrites === (plan.urlRewriting !== undefined) &&
    rendering.trailers === plan.trailers &&
    rendering.hsts === plan.hsts &&
    rendering.cacheVariation === plan.cacheVariation &&
    rendering.pseudonym === plan.pseudonym &&
    haveSameDates(rendering.lifecycle, plan.lifecycle)
  );
}

function haveSameDates(a: LifecycleFields | undefined, b: LifecycleFields | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.deprecation === b.deprecation && a.sunset === b.sunset && a.deprecatedAt === b.deprecatedAt;
}

function render(head: ResponseHead, plan: ResponsePlan, rewrites: boolean): Rendering {
  const { lifecycle, cacheVariation, trailers, hsts, pseudonym } = plan;
  const fields = responseFields(head, { ...plan, lifecycle: lifecycle && { ...lifecycle, links: [linkMark] } });
  let text = `HTTP/1.1 ${head.status} ${head.reason}\r\n`;
  let hasDate = false;
  let hasLength = false;
  for (let at = 0; at < fields.length; at += 2) {
    const name = lowerCased(fields[at] as string);
    hasDate ||= name === 'date';
    hasLength ||= name === 'content-length';
    text += `${fields[at]}: ${fields[at + 1]}\r\n`;
  }
  const [beforeLinks = '', afterLinks = ''] = text.split(linkField).map(asFlatString);
  return {
    status: head.status,
    beforeLinks,
    afterLinks,
    hasDate,
    hasLength,
    lifecycle,
    cacheVariation,
    rewrites,
    trailers,
    hsts,
    pseudonym,
  };
}
