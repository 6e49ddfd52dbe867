import { type ContractFile, type ContractPlace, pointerOf } from '../document/located.ts';
import { CompareError } from '../failure.ts';

/** Why a file of a contract cannot be had. Whoever asked for it knows where it was asked for. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly remedy: string;

  constructor(message: string, remedy: string) {
    super(message);
    this.remedy = remedy;
  }
}

/** There is no such file, which may be just what was to be found out. */
export class NotThere extends Refusal {}

/** Does what may be refused, and says where what was refused was asked for. @throws CompareError */
export function refusedAt<T>(where: string, ask: () => T): T {
  try {
    return ask();
  } catch (error) {
    throw error instanceof Refusal ? new CompareError(where, error.message, error.remedy, error) : error;
  }
}

/** `openapi.yaml#/paths/~1drinks` */
export function whereOf(file: ContractFile, place: ContractPlace | undefined): string {
  return place === undefined ? file.name : `${file.name}#${pointerOf(place)}`;
}
