import { field, invalidInput, isObject, quoted, type RawObject } from '../json-fields.ts'

/** What stands in a tool or an item of the provider's own that is not the request's: the words of a schema. */
const SCHEMAS: ReadonlySet<string> = new Set(['parameters', 'input_schema', 'schema'])
const MEDIA_TYPES: ReadonlySet<string> = new Set([
  'input_image',
  'input_file',
  'input_audio',
  'input_video',
  'computer_screenshot',
])
/** Tools that the client runs itself, and what groups them. */
const OWN_TOOLS: ReadonlySet<unknown> = new Set(['function', 'custom', 'namespace', undefined])

/**
 * Refuses what a tool or an item that is only copied may not hide: an id of a file, which is the operator's at the
 * provider, and within a group of tools, or among those that were found, one that the provider runs and bills. Those
 * stand in `tools`, where they are priced.
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
      throw invalidInput(
        `${path}.tools`,
        `'${quoted(String(hosted))}' cannot stand here. Allowed: function, custom, namespace`,
      )
  }
}

/** Whether it holds pictures, sound or files, of which its text says nothing. */
export function holdsMedia(value: RawObject): boolean {
  for (const { type } of objectsIn(value)) if (typeof type === 'string' && MEDIA_TYPES.has(type)) return true
  return false
}

/** The object and all in it; how deep that goes is bounded with the body. */
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
