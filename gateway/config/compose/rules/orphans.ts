import { brief, type Finding, faultIn, warning } from '../finding.ts';
import { type ComposeRule, isNamedFor, servedTargets } from './rule.ts';

/** A container whose service was taken out of the file before it was stopped: Compose itself leaves it running. */
export const orphaned: ComposeRule = (pair) => {
  const { project, versions, running = new Set<string>() } = pair;
  // A host that a served version still asks for is a fault of its own, and no container to remove.
  const asked = new Set(servedTargets(pair).map(({ target }) => target.host));
  const lost = [...running].filter((name) => !project.services.has(name) && !asked.has(name.toLowerCase()));
  return lost.map((service): Finding => {
    const name = brief(service);
    const retired = versions.find((version) => version.isRetired && isNamedFor(service, version.name));
    const message = `A container of ${name} still runs in the project ${brief(project.name)}, and no file here has that service.`;
    const remove =
      'remove it with `docker compose up --detach --remove-orphans`, or with `docker rm --force` and its name';
    const steps = retired
      ? `Wait for \`version-gateway status --wait /${retired.name}\`, then ${remove}`
      : `${remove.charAt(0).toUpperCase()}${remove.slice(1)}`;
    const at = { file: project.files[0] ?? '', line: 1, column: 1 };
    const fault = faultIn(at, ['services', service], message, `${steps}; if another file has it, name that, too.`);
    // There is no line of it.
    return warning({ ...fault, line: undefined, column: undefined });
  });
};
