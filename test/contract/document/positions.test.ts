import { describe, expect, it } from 'vitest';
import { isSeq, isMap as isYamlMap, LineCounter, type Node, parseDocument, stringify, type YAMLMap } from 'yaml';
import { parseFile } from '../../../gateway/contract/document/contractFiles.ts';
import {
  below,
  type ContractFile,
  type ContractPlace,
  isList,
  type Located,
  rootOf,
} from '../../../gateway/contract/document/located.ts';
import { positionsOf } from '../../../gateway/contract/document/positions.ts';
import { isMap } from '../../../gateway/shared/json.ts';
import { randomFrom } from '../../support/random.ts';
import { randomJson } from './randomJson.ts';

function at(file: ContractFile, ...keys: (string | number)[]): string {
  const { place } = keys.reduce<Located>(below, rootOf(file));
  const position = positionsOf(file, [place]).get(place);
  return `${position?.line}:${position?.column}`;
}

describe('a place has the position', () => {
  const json = parseFile(
    'x.json',
    '{\r\n  "a/b": [1, "]}", {"c": {}}],\n  "\\u00e9": -1.5, "d":{"e":null}, "e": ""\n}',
  );
  const yaml = parseFile(
    'x.yaml',
    '# top\r\na/b:\r\n  - 1\r\n  - "]}"\r\n  - c: {}\r\né: -1.5\r\nd: &d {e: null}\r\nf: *d\r\ng:\r\n  <<: *d\r\n  h: 1\r\nj: [*d, {k: 1}]\r\n200: ok\r\nm:\r\n  <<: [*d, {n: 1, e: 2}]\r\n  e: 1\r\n',
  );
  it.each([
    [[], '1:1'],
    [['a/b'], '2:3'],
    [['a/b', 0], '2:11'],
    [['a/b', 1], '2:14'],
    [['a/b', 2], '2:20'],
    [['a/b', 2, 'c'], '2:21'],
    [['é'], '3:3'],
    [['d', 'e'], '3:24'],
    [['e'], '3:35'],
    [['a/b', 7], '2:3'],
    [['d', 'none', 'deeper'], '3:19'],
    [['e', 'none'], '3:35'],
    [['none'], '1:1'],
    [['__proto__'], '1:1'],
  ] as [(string | number)[], string][])('in JSON: %j at %s', (keys, position) => {
    expect(at(json, ...keys)).toBe(position);
  });
  it.each([
    [[], '2:1'],
    [['a/b'], '2:1'],
    [['a/b', 0], '3:5'],
    [['a/b', 2], '5:5'],
    [['a/b', 2, 'c'], '5:5'],
    [['é'], '6:1'],
    [['d', 'e'], '7:8'],
    [['f'], '8:1'],
    [['f', 'e'], '7:8'],
    [['g', 'e'], '7:8'],
    [['g', 'h'], '11:3'],
    [['j', 0], '12:5'],
    [['j', 0, 'e'], '7:8'],
    [['j', 1, 'k'], '12:10'],
    [['200'], '13:1'],
    [['m', 'e'], '16:3'],
    [['m', 'n'], '15:13'],
    [['d', 'none'], '7:1'],
    [['none'], '2:1'],
  ] as [(string | number)[], string][])('in YAML: %j at %s', (keys, position) => {
    expect(at(yaml, ...keys)).toBe(position);
  });

  it('none if its file has no text', () => {
    const file = { name: 'made', root: {} };
    expect(positionsOf(file, [rootOf(file).place]).size).toBe(0);
  });
});

it.each([
  ['JSON', (text: string) => text],
  ['block YAML', (text: string) => stringify(JSON.parse(text))],
  ['block YAML with CRLF', (text: string) => stringify(JSON.parse(text)).replaceAll('\n', '\r\n')],
])('agrees with the ranges of the YAML parser on random documents: %s', (_kind, written) => {
  const random = randomFrom(3);
  let compared = 0;
  for (let round = 0; round < 300; round += 1) {
    const file = parseFile('random', written(randomJson(random)));
    const expected = rangesOf(file);
    const all = [...expected.keys()];
    const asked = round % 2 === 0 ? all : all.filter(() => random() < 0.3);
    const found = positionsOf(file, asked);
    for (const place of asked)
      expect(found.get(place), file.text).toEqual(expect.objectContaining(expected.get(place)));
    compared += asked.length;
  }
  expect(compared).toBeGreaterThan(1000);
});

/** Every place of a file but its root, as the parser of YAML sees it. */
function rangesOf(file: ContractFile): Map<ContractPlace, { line: number; column: number }> {
  const lineCounter = new LineCounter();
  const document = parseDocument(file.text ?? '', { lineCounter });
  expect(document.errors).toEqual([]);
  const found = new Map<ContractPlace, { line: number; column: number }>();
  const note = (place: ContractPlace, node: Node): void => {
    const { line, col } = lineCounter.linePos(node.range?.[0] ?? -1);
    found.set(place, { line, column: col });
  };
  const walk = (located: Located, node: unknown): void => {
    if (isYamlMap(node) && isMap(located.value)) {
      for (const { key, value } of (node as YAMLMap<Node & { value: string }, Node>).items) {
        const inner = below(located, key.value);
        note(inner.place, key);
        walk(inner, value);
      }
    }
    if (isSeq(node) && isList(located.value)) {
      for (const [index, item] of node.items.entries()) {
        const inner = below(located, index);
        note(inner.place, item as Node);
        walk(inner, item);
      }
    }
  };
  walk(rootOf(file), document.contents);
  return found;
}
