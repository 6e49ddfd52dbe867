import { type ContractPlace, type Located, pointerOf } from '../located.ts';

/** Something that a contract ought not to say, or not to leave out. */
export interface ContractFault {
  readonly place: ContractPlace;
  /** `file#/json/pointer` */
  readonly where: string;
  readonly message: string;
  readonly remedy: string;
}

export function faultAt({ place }: Located, message: string, remedy: string): ContractFault {
  return { place, where: `${place.file.name}#${pointerOf(place)}`, message, remedy };
}
