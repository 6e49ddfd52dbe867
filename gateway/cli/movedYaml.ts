import type { MovedProposals } from '../compat/moved.ts';
import { printable } from '../shared/text.ts';

/** Rows to paste into routes.yaml: each with why, and how sure. */
export function movedYaml(from: string, to: string, { proposals, unmatched }: MovedProposals): string {
  if (proposals.length + unmatched.length === 0) {
    return `# Every route of ${from} has its path in ${to}, or a row under moved already.\n`;
  }
  const lines = [
    `# Routes of ${from} that ${to} has under another path. Look at each, and put them below routes./${from} .`,
  ];
  lines.push(proposals.length > 0 ? 'moved:' : '# moved:');
  for (const { from: old, to: now, sure, why } of proposals) {
    lines.push(`  # ${printable(`${sure}: ${why.join(', ')}`)}`, `  ${scalar(old)}: ${scalar(now)}`);
  }
  if (unmatched.length > 0)
    lines.push(`  # nothing like ${unmatched.length === 1 ? 'it' : 'them'} in ${to}: write null if that is meant`);
  lines.push(...unmatched.map((path) => `  # ${scalar(path)}: null`));
  return `${lines.join('\n')}\n`;
}

/** A path as it is where YAML takes it for a text, in quotes where it might take it for more. */
function scalar(path: string): string {
  return /^\/[\w\-./{}~]*$/.test(path) ? path : printable(JSON.stringify(path));
}
