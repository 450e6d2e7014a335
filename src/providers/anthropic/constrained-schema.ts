import { objectOf, type RawJson } from '../../protocols/wire/raw-json.ts'

const TYPES: ReadonlySet<unknown> = new Set(['object', 'array', 'string', 'integer', 'number', 'boolean', 'null'])
const FORMATS: ReadonlySet<unknown> = new Set([
  'date-time',
  'time',
  'date',
  'duration',
  'email',
  'hostname',
  'uri',
  'ipv4',
  'ipv6',
  'uuid',
])
const LABELS: ReadonlySet<string> = new Set(['title', 'description', 'default', 'const', 'required'])

/**
 * The schema in the form that constrained decoding accepts: every object closed, which only narrows the answer. null
 * where it holds a keyword that the decoder refuses (bounds, patterns, open maps, references within definitions).
 */
export function constrainedSchema(schema: RawJson): Record<string, unknown> | null {
  return schema['type'] === 'object' ? nodeOf(schema, true) : null
}

function nodeOf(node: RawJson, refers: boolean): Record<string, unknown> | null {
  const rebuilt: Record<string, unknown> = {}
  for (const [keyword, value] of Object.entries(node)) {
    if (keyword === '$schema') continue
    const kept = keywordOf(keyword, value, refers)
    if (kept === undefined) return null
    rebuilt[keyword] = kept
  }
  const { type } = node
  const isObject = type === 'object' || (Array.isArray(type) && type.includes('object'))
  // An object without properties would be empty if closed: it was meant as an open map.
  if (isObject && node['properties'] === undefined) return null
  if (isObject || node['properties'] !== undefined) rebuilt['additionalProperties'] = false
  return rebuilt
}

/** undefined = refused. `refers` is false within definitions, so that no schema is recursive. */
function keywordOf(keyword: string, value: unknown, refers: boolean): unknown {
  if (LABELS.has(keyword)) return value
  switch (keyword) {
    case 'type':
      return (Array.isArray(value) ? value : [value]).every((type) => TYPES.has(type)) ? value : undefined
    case 'enum':
      return Array.isArray(value) && value.every((item) => typeof item !== 'object' || item === null)
        ? value
        : undefined
    case 'format':
      return FORMATS.has(value) ? value : undefined
    case 'additionalProperties':
      return value === false ? value : undefined
    case '$ref':
      return refers && typeof value === 'string' && /^#\/(\$defs|definitions)\/[^/]+$/.test(value) ? value : undefined
    case 'items':
      return childOf(value, refers)
    case 'anyOf':
      return Array.isArray(value) ? listOrRefused(value.map((child) => childOf(child, refers))) : undefined
    case 'properties':
      return childrenOf(value, refers)
    case '$defs':
    case 'definitions':
      return childrenOf(value, false)
    default:
      return undefined
  }
}

function childOf(value: unknown, refers: boolean): unknown {
  const child = objectOf(value)
  return child === null ? undefined : (nodeOf(child, refers) ?? undefined)
}

function childrenOf(value: unknown, refers: boolean): unknown {
  const children = objectOf(value)
  if (children === null) return undefined
  const rebuilt: Record<string, unknown> = {}
  for (const [name, child] of Object.entries(children)) {
    const kept = childOf(child, refers)
    if (kept === undefined) return undefined
    rebuilt[name] = kept
  }
  return rebuilt
}

function listOrRefused(list: readonly unknown[]): readonly unknown[] | undefined {
  return list.includes(undefined) ? undefined : list
}
