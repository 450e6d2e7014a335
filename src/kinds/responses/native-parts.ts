import { field, invalidInput, isObject, quoted, type RawObject } from '../fields/json-fields.ts'

/** Keys that hold a JSON schema, whose names are not references of the request. */
const SCHEMAS: ReadonlySet<string> = new Set(['parameters', 'input_schema', 'schema'])
const MEDIA_TYPES: ReadonlySet<string> = new Set([
  'input_image',
  'input_file',
  'input_audio',
  'input_video',
  'computer_screenshot',
])
/** Tools that the client runs itself, and groups of them. */
const OWN_TOOLS: ReadonlySet<unknown> = new Set(['function', 'custom', 'namespace', undefined])

/**
 * Refuses hidden parts of a tool or item that is only copied: a file id, because files are the operator's at the
 * provider; and, in a group of tools or in search results, a tool that the provider runs and bills. Such tools belong
 * in `tools`, where they are priced.
 */
export function checkNative(value: RawObject, path: string): void {
  for (const object of objectsIn(value)) {
    const type = field(object, 'type')
    if (typeof type === 'string' && MEDIA_TYPES.has(type) && field(object, 'file_id') !== undefined)
      throw invalidInput(`${path}.file_id`, 'files are not stored here, send the data or a URL instead')
    const tools = field(object, 'tools')
    const hosted = Array.isArray(tools)
      ? tools
          .filter(isObject)
          .map((tool) => field(tool, 'type'))
          .find((name) => !OWN_TOOLS.has(name))
      : undefined
    if (hosted !== undefined)
      throw invalidInput(`${path}.tools`, `'${quoted(hosted)}' cannot stand here. Allowed: function, custom, namespace`)
  }
}

/** Whether it contains pictures, sound or files, which its text does not count. */
export function holdsMedia(value: RawObject): boolean {
  for (const { type } of objectsIn(value)) if (typeof type === 'string' && MEDIA_TYPES.has(type)) return true
  return false
}

/** The object and everything in it; the body's limit bounds the depth. */
function* objectsIn(value: RawObject): Generator<RawObject> {
  const waiting: unknown[] = [value]
  while (waiting.length > 0) {
    const next = waiting.pop()
    if (Array.isArray(next)) for (const part of next) waiting.push(part)
    if (!isObject(next)) continue
    yield next
    for (const name of Object.keys(next)) if (!SCHEMAS.has(name)) waiting.push(next[name])
  }
}
