import { isUtf8 } from 'node:buffer';

/** Which objects in the responses of a version get an unknown member. Plain data, which threads and processes get as JSON text. */
export interface GreasePlan {
  /** The names in the contract that look like those of unknown members. */
  readonly takenNames: readonly string[];
  readonly nodes: readonly PlanNode[];
  /** The GET routes. For each path template, by status (`200`, `2XX`, `default`) and media type: the node of the body. */
  readonly routes: readonly (readonly [template: string, byStatus: readonly StatusPlan[]])[];
}

export type StatusPlan = readonly [status: string, byType: readonly (readonly [type: string, node: number])[]];

/** In place of the index of a node: nothing changes in the value. */
export const noNode = -1;

/** What is done with values at one place of a body. Numbers are indexes of `GreasePlan.nodes`, or `noNode`. */
export interface PlanNode {
  /** Whether an object at this place gets a member. */
  readonly getsMember: boolean;
  readonly members: readonly (readonly [name: string, node: number])[];
  /** The node of the members that `members` does not name. */
  readonly others: number;
  /** The node of the items of an array. */
  readonly items: number;
}

/** A node with the nodes below it, instead of their indexes. Undefined: nothing below changes. */
export interface LinkedNode {
  readonly getsMember: boolean;
  /** Key: the UTF-8 bytes of the name of a member, as latin1 text. Value: the node of the member. */
  readonly members: ReadonlyMap<string, LinkedNode | undefined>;
  others: LinkedNode | undefined;
  items: LinkedNode | undefined;
}

export function linkedNodes({ nodes }: GreasePlan): readonly LinkedNode[] {
  const linked = nodes.map(({ getsMember }) => {
    const members = new Map<string, LinkedNode | undefined>();
    return {
      getsMember,
      members,
      others: undefined as LinkedNode | undefined,
      items: undefined as LinkedNode | undefined,
    };
  });
  for (const [index, { members, others, items }] of nodes.entries()) {
    const node = linked[index];
    if (node === undefined) continue;
    for (const [name, child] of members) node.members.set(asBytes(name), linked[child]);
    node.others = linked[others];
    node.items = linked[items];
  }
  return linked;
}

function asBytes(text: string): string {
  return Buffer.from(text).toString('latin1');
}

const memberPrefix = 'x_grease_';
// A name ends with four hexadecimal digits.
const nameCount = 0x10000;

/**
 * The body with one unknown member in each object that `root` selects. All other bytes stay as they are. Undefined: the body is
 * not JSON in UTF-8, or has no such object. `taken`: names that an unknown member must not have.
 */
export function withUnknownMembers(body: Buffer, root: LinkedNode, taken: readonly string[]): Buffer | undefined {
  if (!isJsonText(body)) return undefined;
  const text = body.toString('latin1');
  const { places, names } = scanBody(text, root);
  const name = places.length === 0 ? undefined : freeName(new Set([...taken, ...names]));
  if (name === undefined) return undefined;
  let result = '';
  let from = 0;
  for (const place of places) {
    // A place in an empty object is negative: no comma precedes the member.
    const at = Math.abs(place);
    result += `${text.slice(from, at)}${place < 0 ? '' : ','}"${name}":true`;
    from = at;
  }
  return Buffer.from(result + text.slice(from), 'latin1');
}

function isJsonText(body: Buffer): boolean {
  if (!isUtf8(body)) return false;
  try {
    JSON.parse(body.toString());
    return true;
  } catch {
    return false;
  }
}

/** A random name, so that clients cannot rely on it. Undefined: all names are taken. */
function freeName(taken: ReadonlySet<string>): string | undefined {
  const first = Math.floor(Math.random() * nameCount);
  for (let step = 0; step < nameCount; step += 1) {
    const name = memberPrefix + ((first + step) % nameCount).toString(16).padStart(4, '0');
    if (!taken.has(name)) return name;
  }
  return undefined;
}

interface ScannedBody {
  /** Where members are inserted, in the order of the text; negative in an empty object. */
  readonly places: readonly number[];
  /** The names in the body that look like those of unknown members. */
  readonly names: readonly string[];
}

const [quote, comma, openBrace, openBracket, closeBrace, closeBracket] = [0x22, 0x2c, 0x7b, 0x5b, 0x7d, 0x5d];

/**
 * Finds the places for members. Not recursive, because a recursive schema allows any depth. `text`: valid JSON, its UTF-8 bytes
 * as latin1.
 */
function scanBody(text: string, root: LinkedNode): ScannedBody {
  const places: number[] = [];
  const names: string[] = [];
  /** The objects and arrays around `at`, the innermost last. */
  const openNodes: LinkedNode[] = [];
  /** For each of `openNodes`: whether it is an object. */
  const openObjectFlags: boolean[] = [];
  let node: LinkedNode | undefined = root;
  let at = 0;

  /** Moves to the value of the member or item at `at`. */
  const enter = (parent: LinkedNode, isObject: boolean): void => {
    node = parent.items;
    if (!isObject) return;
    const end = endOfString(text, at);
    const name = nameOf(text.slice(at + 1, end - 1));
    if (name.startsWith(memberPrefix)) names.push(name);
    node = parent.members.has(name) ? parent.members.get(name) : parent.others;
    at = afterBlanks(text, end) + 1;
  };

  for (;;) {
    at = afterBlanks(text, at);
    const code = text.charCodeAt(at);
    // The index of the end of an empty object or array; -1: there is none here.
    let emptyAt = -1;
    if (node !== undefined && (code === openBrace || code === openBracket)) {
      const isObject = code === openBrace;
      openNodes.push(node);
      openObjectFlags.push(isObject);
      at = afterBlanks(text, at + 1);
      if (!isClosing(text.charCodeAt(at))) {
        enter(node, isObject);
        continue;
      }
      emptyAt = at;
    } else {
      at = afterValue(text, at);
    }
    for (;;) {
      const parent = openNodes.at(-1);
      if (parent === undefined) return { places, names };
      at = afterBlanks(text, at);
      const isObject = openObjectFlags.at(-1) === true;
      if (text.charCodeAt(at) === comma) {
        at = afterBlanks(text, at + 1);
        enter(parent, isObject);
        break;
      }
      if (isObject && parent.getsMember) places.push(at === emptyAt ? -at : at);
      openNodes.pop();
      openObjectFlags.pop();
      at += 1;
    }
  }
}

function isClosing(code: number): boolean {
  return code === closeBrace || code === closeBracket;
}

function afterBlanks(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) <= 0x20) at += 1;
  return at;
}

/** The index after the value that begins at `from`. */
function afterValue(text: string, from: number): number {
  let at = from;
  let depth = 0;
  for (; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      at = endOfString(text, at) - 1;
      if (depth === 0) return at + 1;
    } else if (code === openBrace || code === openBracket) depth += 1;
    else if (isClosing(code)) {
      // A number or a literal ends where its container ends.
      if (depth === 0) return at;
      depth -= 1;
      if (depth === 0) return at + 1;
    } else if (depth === 0 && (code === comma || code <= 0x20)) return at;
  }
  return at;
}

/** The index after the closing quote of the string that begins at `from`. */
function endOfString(text: string, from: number): number {
  for (let end = text.indexOf('"', from + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    // A quote after an odd number of backslashes is escaped.
    let firstBackslash = end;
    while (text.charCodeAt(firstBackslash - 1) === 0x5c) firstBackslash -= 1;
    if ((end - firstBackslash) % 2 === 0) return end + 1;
  }
  return text.length;
}

/** The name of a member without escapes, as UTF-8 bytes in latin1. */
function nameOf(written: string): string {
  if (!written.includes('\\')) return written;
  return asBytes(JSON.parse(`"${Buffer.from(written, 'latin1').toString()}"`) as string);
}
