import { Forwarding } from '../forwarding/http.ts';
import type { Target } from '../upstream/target.ts';
import type { OpenRequest } from '../usage/counting/collector.ts';
import type { CountedExchange } from '../usage/counting/countedExchange.ts';
import type { Exchange } from './exchange.ts';
import type { InFlight as Listed } from './inFlight.ts';
import { soFar, statusSoFar } from './record.ts';

/** An exchange on its way to a target, and what carries it. */
export class ForwardedExchange implements Listed {
  readonly exchange: Exchange;
  readonly forwarding: Forwarding;
  counted: OpenRequest | undefined = undefined;

  constructor(exchange: Exchange) {
    this.exchange = exchange;
    this.forwarding = new Forwarding(exchange);
  }

  get version(): string {
    return this.exchange.activeVersion?.version.name ?? '';
  }

  get target(): Target {
    return this.exchange.target;
  }

  get status(): number {
    return statusSoFar(this.exchange);
  }

  soFar(): CountedExchange {
    return soFar(this.exchange);
  }

  goAway(): void {
    this.forwarding.goAway();
  }

  cut(): void {
    this.forwarding.cut();
  }
}
