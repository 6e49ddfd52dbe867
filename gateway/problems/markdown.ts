import { catalogue, type ProblemCode } from './catalogue.ts';
import type { ProblemKind } from './kind.ts';
import { typeOf } from './problem.ts';

/** docs/problems.md: the catalogue for people. */
export function problemsPage(): string {
  const codes = Object.keys(catalogue) as ProblemCode[];
  const rows = codes.map((code) => row(code, catalogue[code]));
  return `# What the gateway answers by itself

Bodies are \`application/problem+json\` (RFC 9457): \`type\`, \`title\`, \`status\`, \`detail\`, the stable \`code\`, and the
\`request_id\` that the log knows. \`Proxy-Status\` (RFC 9209) carries the error type. No answer names a backend.
Answers of a deprecated major carry \`Deprecation\`, \`Sunset\` and \`Link\` like any other.

| status | code | means | Proxy-Status error |
|---|---|---|---|
${rows.join('\n')}

The type of a problem is a URN made of its code: \`${typeOf('VERSION_RETIRED')}\`.
`;
}

function row(code: ProblemCode, { status, title, detail, proxyError }: ProblemKind): string {
  return `| ${status} | \`${code}\` | ${title}. ${detail} | ${proxyError === undefined ? '' : `\`${proxyError}\``} |`;
}
