import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Manifest } from './kustomize.ts';

interface Model {
  /** @throws an error that names the wrong fields */
  validate(): void;
}

/**
 * What the schemas of Kubernetes and the Prometheus Operator object to, for each of the objects. Their validators ignore
 * unknown keys. The compiler reports those, as excess properties of an object literal, but at most one for each object.
 * The compiler runs once for all the objects: most of its time goes into the models.
 */
export async function schemaFaults(objects: readonly Manifest[]): Promise<string[][]> {
  const invalid = await Promise.all(objects.map(async (object) => validationFault(object)));
  const wrong = await typeFaults(objects);
  return objects.map((_object, at) => [invalid[at] ?? [], wrong[at] ?? []].flat());
}

async function validationFault(object: Manifest): Promise<string | undefined> {
  const { [object.kind]: Kind } = (await import(modelsOf(object))) as Record<string, new (data: Manifest) => Model>;
  if (!Kind) return `${nameOf(object)}: ${object.apiVersion} has no such kind`;
  try {
    new Kind(object).validate();
    return undefined;
  } catch (error) {
    return `${nameOf(object)}: ${error instanceof Error ? error.message : error}`;
  }
}

async function typeFaults(objects: readonly Manifest[]): Promise<string[][]> {
  // Within the project, so that its packages and its compiler options are found.
  mkdirSync('node_modules/.cache', { recursive: true });
  const folder = mkdtempSync('node_modules/.cache/manifests-');
  try {
    const lines = objects.map((object, at) => {
      const type = `import('${modelsOf(object)}').I${object.kind}`;
      return `export const object${at}: ${type} = ${JSON.stringify(object)};\n`;
    });
    writeFileSync(join(folder, 'manifests.ts'), lines.join(''));
    const config = { extends: resolve('tsconfig.json'), include: ['*.ts'] };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
    // Several checkers would each check the types that they share.
    const options = ['--pretty', 'false', '--checkers', '1'];
    const compiled = promisify(execFile)('node_modules/.bin/tsc', ['-p', folder, ...options]);
    const output = await compiled.then(
      () => '',
      ({ stdout, stderr }: { stdout: string; stderr: string }) => stdout + stderr,
    );
    const faults = [...output.matchAll(/^.*?manifests\.ts\((\d+),\d+\): error \w+: (.*)$/gm)];
    if (output !== '' && faults.length === 0) throw new Error(output);
    return objects.map((object, at) =>
      faults.filter(([, line]) => Number(line) === at + 1).map(([, , text]) => `${nameOf(object)}: ${text}`),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The module with the models of the API group of an object. */
function modelsOf({ apiVersion }: Manifest): string {
  const isCustom = apiVersion.startsWith('monitoring.coreos.com/');
  return `${isCustom ? '@kubernetes-models/prometheus-operator' : 'kubernetes-models'}/${apiVersion}`;
}

function nameOf(object: Manifest): string {
  return `${object.kind} ${object.metadata.name}`;
}
