import assert from 'node:assert/strict'
import { ApiError } from '../../src/base/errors.ts'
import type { JsonSchema } from '../../src/base/schema.ts'
import { faultsOf } from '../harness/contract-check.ts'

export type Body = Readonly<Record<string, unknown>>

/** Values of every type, and near the bounds of rules. */
const VALUES: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1,
  1.5,
  2,
  5,
  1e15,
  -1e15,
  1e300,
  0.5,
  '',
  ' ',
  'x',
  '7',
  'auto',
  'none',
  [],
  [''],
  ['x'],
  [1],
  [null],
  [[]],
  [{}],
  [true],
  ['a', 'b', 'c', 'd'],
  ['a', 'b', 'c', 'd', 'e'],
  ['a', 'b', 'c', 'd', 'e', 'f'],
  {},
  { a: 1 },
  { a: null },
  { id: 'x' },
  { text: 'x' },
  { url: 'x' },
  { type: 'text' },
  { type: 'x' },
  { by: 'price' },
]

/** The values at the bounds of a rule. */
function edgesOf(schema: JsonSchema): readonly unknown[] {
  const { minimum, maximum, exclusiveMinimum, minLength, maxLength, maxItems, items } = schema
  const numbers = [minimum, maximum, exclusiveMinimum].flatMap((bound) =>
    bound === undefined ? [] : [bound, bound - 1, bound + 1, bound - 1e-6, bound + 1e-6],
  )
  const texts = [minLength, maxLength].flatMap((bound) =>
    bound === undefined
      ? []
      : [bound - 1, bound, bound + 1].filter((size) => size >= 0).map((size) => 'y'.repeat(size)),
  )
  const [sample] = items === undefined ? [] : edgesOf(items).filter((value) => faultsOf(items, value).length === 0)
  const one = sample ?? 'y'
  const lists =
    maxItems === undefined ? [] : [maxItems, maxItems + 1].map((size) => Array.from({ length: size }, () => one))
  return [
    ...numbers,
    ...texts,
    ...lists,
    ...(schema.enum ?? []),
    ...('const' in schema ? [schema.const] : []),
    ...(schema.anyOf ?? []).flatMap(edgesOf),
    ...(items === undefined ? [] : edgesOf(items).map((value) => [value])),
  ]
}

/** Every body that differs from a valid one in one field, or in one field of an object in it. */
export function* variants(schema: JsonSchema, right: Body): Generator<Body> {
  yield right
  for (const name of new Set([...Object.keys(schema.properties ?? {}), ...Object.keys(right)])) {
    const { [name]: held, ...without } = right
    yield without
    const field = schema.properties?.[name] ?? {}
    for (const value of [...VALUES, ...edgesOf(field)]) yield { ...without, [name]: value }
    const inner = [field, ...(field.anyOf ?? [])].find(({ properties }) => properties !== undefined)
    if (inner !== undefined) {
      const base: Body = typeof held === 'object' && held !== null && !Array.isArray(held) ? { ...held } : {}
      for (const changed of variants(inner, base)) yield { ...without, [name]: changed }
    }
  }
}

/** Whether a reader accepts a body; it refuses only with API errors. */
export async function isRead(read: (body: unknown) => unknown, body: unknown): Promise<boolean> {
  try {
    await read(body)
    return true
  } catch (thrown) {
    assert.ok(thrown instanceof ApiError, String(thrown))
    return false
  }
}
