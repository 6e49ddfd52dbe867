import { dateTime } from '../../config/schema/units.ts';
import type { ApiHandlers } from './apiRouter.ts';
import type { AdminContext } from './operations.ts';
import { isLine, maxNameLength } from './operatorRoutes.ts';

const maxReasonLength = 300;
const noFleet = {
  problem: 'NO_FLEET',
  detail: 'This gateway is on its own. Set fleet.store in routes.yaml to run several gateways as one.',
} as const;

export function fleetRoutes({ operations: { live } }: AdminContext): Partial<ApiHandlers> {
  const { fleet } = live;
  return {
    'GET /api/fleet': () => (fleet ? { answer: fleet.status() } : noFleet),

    'POST /api/fleet/forget': async ({ body: { name, reason, ended_at: ended } }) => {
      const badRequest = (detail: string) => ({ problem: 'BAD_REQUEST', detail }) as const;
      if (!fleet) return noFleet;
      if (!isLine(name, maxNameLength) || name === '')
        return badRequest('`name` must be the name of a gateway, as `GET /api/fleet` lists it.');
      if (!isLine(reason, maxReasonLength) || reason.trim() === '')
        return badRequest(
          `\`reason\` must say why the gateway does not exist any more, in one line of at most ${maxReasonLength} characters.`,
        );
      const endedAt = typeof ended === 'string' ? dateTime.safeParse(ended).data : undefined;
      if (ended !== undefined && endedAt === undefined)
        return badRequest('`ended_at` must be the time at which the gateway ended, such as 2026-11-23T21:10:00Z.');
      const outcome = await fleet.forget(name, reason, endedAt);
      if ('failure' in outcome)
        return { problem: 'STORE_UNANSWERED', detail: `The shared store does not answer: ${outcome.failure}.` };
      return 'refused' in outcome ? { problem: 'NOT_FORGOTTEN', detail: outcome.refused } : { answer: outcome };
    },
  };
}
