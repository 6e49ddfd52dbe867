import type { AlternativeOutline, Change, Serialization, Step } from '../change.ts';

const mostValues = 5;

/** "response 200 field `drinks[].price`"; empty for a route as a whole. Without a change: the path to it alone. */
export function subjectOf(steps: readonly Step[], change?: Change): string {
  const words: string[] = [];
  let field = '';
  const flush = (): void => {
    if (field !== '') words.push(field === '[]' ? 'item' : `field \`${field}\``);
    field = '';
  };
  for (const step of change ? [...steps, ...ownStep(change)] : steps) {
    if (step.kind === 'part') {
      flush();
      words.push(step.text);
    } else {
      field += step.kind === 'field' && field !== '' ? `.${step.text}` : step.text;
    }
  }
  flush();
  return words.join(' ');
}

/** What the change is about, where the steps do not include it: a field that only one contract has, for example. */
function ownStep(change: Change): Step[] {
  const { kind, effect, name } = change;
  if (kind === 'body' && effect !== 'required' && effect !== 'optional')
    return [{ kind: 'part', text: 'request body' }];
  if (kind === 'type' && name === 'items') return [{ kind: 'items', text: '[]' }];
  if (kind === 'type' && name === 'additionalProperties') return [{ kind: 'field', text: '*' }];
  if (name === '') return [];
  if (kind === 'field' || kind === 'presence') return [{ kind: 'field', text: labelOf(change) }];
  if (kind === 'header') return [{ kind: 'part', text: `header \`${name}\`` }];
  if (kind === 'status' || kind === 'error_status') return [{ kind: 'part', text: `response ${name}` }];
  if (kind === 'media_type') return [{ kind: 'part', text: `media type \`${name}\`` }];
  return kind === 'parameter' ? [{ kind: 'part', text: labelOf(change) }] : [];
}

/** The name of what changed, or its details in words: "query parameter `limit`", "`a`, `b` and 3 more". */
export function labelOf({ name, detail }: Change): string {
  switch (detail?.is) {
    case 'parameter':
      return `${detail.in} parameter \`${name}\``;
    case 'values':
      return valuesInWords(detail.values);
    case 'keywords':
      return detail.keywords.join(', ');
    case 'mapping':
      return `mapping of \`${detail.value}\``;
    case 'status':
      return `status ${detail.status}`;
    case 'names':
      return `${detail.old.join(', ')} → ${detail.new.join(', ')}`;
    case 'base paths':
      return `${pathsInWords(detail.old)} → ${pathsInWords(detail.new)}`;
    case 'serialization':
      return `${serializationInWords(detail.old)} → ${serializationInWords(detail.new)}`;
    case 'alternatives':
      return detail.alternatives.map(outlineInWords).join('` or `');
    default:
      return name;
  }
}

function valuesInWords(values: readonly string[]): string {
  const shown = values.slice(0, mostValues).map((json) => `\`${withoutQuotes(json)}\``);
  const more = values.length - mostValues;
  return more > 0 ? `${shown.join(', ')} and ${more} more` : shown.join(', ');
}

function withoutQuotes(json: string): string {
  return json.startsWith('"') ? (JSON.parse(json) as string) : json;
}

function pathsInWords(paths: readonly string[]): string {
  return paths.map((path) => `\`${path}\``).join(', ');
}

function serializationInWords(serialization: Serialization): string {
  if (serialization === 'none') return '';
  if (typeof serialization === 'string') return serialization;
  return `style ${serialization.style}${serialization.isExploded ? ', exploded' : ''}`;
}

function outlineInWords({ values, types, fields }: AlternativeOutline): string {
  if (values) return values.join(', ');
  const type = types ? types.join(' or ') : 'any value';
  return fields.length === 0 ? type : `${type} with ${fields.join(', ')}`;
}
