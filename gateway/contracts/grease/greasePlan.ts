import { pathOfVersion, segmentOf } from '../../config/api.ts';
import { byPlace, type Fault } from '../../config/fault.ts';
import { type Version, withVersions } from '../../config/snapshot.ts';
import { faultAt } from '../../config/source.ts';
import type { ConfigResult } from '../../config/validate.ts';
import { openContract } from '../../contract/document/open.ts';
import { CompareError, catchingStackOverflow } from '../../contract/failure.ts';
import { routesOf } from '../../contract/routes.ts';
import type { NamedSchemas, SubSchema } from '../../contract/schema/jsonSchema.ts';
import { JsonSchemas } from '../../contract/schema/jsonSchema.ts';
import { schemaPolicies } from '../../contract/schema/policies.ts';
import { isJsonType, type PlainPart, responsesOf } from '../adapters/proof/plainParts.ts';
import { NodeTable } from './nodeTable.ts';
import { type GreasePlan, noNode, type StatusPlan } from './splice.ts';

/** Adds the plans of the versions with `grease`, and a warning for each contract from which no plan can be made. */
export async function withGreasePlans(result: ConfigResult): Promise<ConfigResult> {
  const { snapshot, source } = result;
  if (!snapshot || !source) return result;
  const warnings: Fault[] = [];
  const plannedVersions = new Map<string, Version>();
  for (const version of snapshot.sortedVersions) {
    const { name, contract, grease } = version;
    if (!grease || !contract) continue;
    try {
      plannedVersions.set(name, { ...version, grease: { plan: await greasePlanText(contract.file, segmentOf(name)) } });
    } catch (error) {
      if (!(error instanceof CompareError)) throw error;
      const message = `Responses of /${name} never contain unknown members: ${error.message}`;
      warnings.push(
        faultAt(source, [...pathOfVersion(name), 'grease'], message, 'Correct the contract, or remove grease.'),
      );
    }
  }
  const allWarnings = [...result.warnings, ...warnings].sort(byPlace);
  return { ...result, snapshot: withVersions(snapshot, plannedVersions), warnings: allWarnings };
}

/** The `GreasePlan` of a contract as JSON. `version`: `v1`. @throws CompareError */
export async function greasePlanText(file: string, version: string): Promise<string> {
  const documents = await openContract(file, { cwd: '.', stdin: () => '', allowRemote: false });
  const schemas = new JsonSchemas(documents, schemaPolicies.description);
  return catchingStackOverflow(documents.root.place.file.name, () => {
    const routes = [...routesOf(documents, version).values()].filter(
      ({ kind, method }) => kind === 'route' && method === 'GET',
    );
    const responses = routes.map((route) => [route.path, responsesOf(route, schemas)] as const);
    return JSON.stringify(greasePlanOf(responses, schemas.named));
  });
}

type Responses = ReadonlyMap<string, PlainPart>;

/** `routes`: path templates with their responses by status. */
export function greasePlanOf(
  routes: readonly (readonly [template: string, responses: Responses])[],
  named: NamedSchemas,
): GreasePlan {
  const nodes = new NodeTable(named);
  const rows = routes.map(([template, responses]) => {
    const statuses = [...responses].filter(([status]) => /^(?:2|default$)/.test(status));
    const byStatus = statuses.map(([status, { content }]): StatusPlan => {
      const types = Object.entries((content ?? {}) as Readonly<Record<string, { readonly schema?: SubSchema }>>);
      const bodies = types.flatMap(([type, { schema }]): [string, number][] => {
        const bareType = (type.split(';', 1)[0] ?? '').trim().toLowerCase();
        const canBeSpliced = isJsonType(bareType) && bareType !== 'application/problem+json' && schema !== undefined;
        return [[bareType, canBeSpliced ? nodes.idForSchema(schema) : noNode]];
      });
      return [status, bodies];
    });
    return [template, byStatus] as const;
  });
  nodes.buildNodes();
  const takenNames = JSON.stringify([named, routes.map(([, responses]) => [...responses])]).match(
    /x_grease_[0-9a-f]{4}/g,
  );
  return {
    takenNames: [...new Set(takenNames)],
    nodes: nodes.planNodes(),
    routes: rows.map(([template, byStatus]) => [
      template,
      byStatus.map(([status, types]) => [status, types.map(([type, id]) => [type, nodes.planIndexOf(id)])]),
    ]),
  };
}
