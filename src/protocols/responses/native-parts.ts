import { copyObject, field, invalidInput, isObject, quoted, type RawObject } from '../../kinds/fields/body-fields.ts'
import { realMedia, type Medium } from '../../kinds/fields/media.ts'

/** Keys whose value is a JSON schema: names in it are no references of the request. */
const SCHEMAS: ReadonlySet<string> = new Set(['parameters', 'input_schema', 'schema'])
const MEDIA_TYPES: ReadonlyMap<unknown, Medium> = new Map([
  ['input_image', 'image'],
  ['input_file', 'file'],
  ['input_audio', 'audio'],
  ['input_video', 'video'],
  ['computer_screenshot', 'image'],
])
const PLACES = ['image_url', 'file_data', 'file_url', 'video_url']
/** Tools that the client runs itself, and groups of them. */
const OWN_TOOLS: ReadonlySet<unknown> = new Set(['function', 'custom', 'namespace', undefined])

/**
 * A copy of a tool or item that only providers of the protocol know. Hidden parts are refused: a file id, because files
 * at the provider belong to the operator; a file that is not what its part says; and, in a group of tools or in search
 * results, a tool that the provider runs and bills. Such tools belong in `tools`, where they have a price.
 */
export function nativeCopy(raw: RawObject, path: string): RawObject {
  const value = copyObject(raw, path)
  for (const object of objectsIn(value)) {
    const type = field(object, 'type')
    const medium = MEDIA_TYPES.get(type)
    if (medium !== undefined) typeFile(object, medium, path)
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
  return value
}

/** Adds the real type of a file to its part. */
function typeFile(part: RawObject, medium: Medium, path: string): void {
  if (field(part, 'file_id') !== undefined)
    throw invalidInput(`${path}.file_id`, 'files are not stored here, send the data or a URL instead')
  for (const name of PLACES) {
    const given = field(part, name)
    const url = isObject(given) ? field(given, 'url') : given
    if (typeof url !== 'string') continue
    const real = realMedia({ url, as: medium }, `${path}.${name}`)
    if (real.medium !== medium) throw invalidInput(`${path}.${name}`, `must be what '${quoted(part['type'])}' says`)
    Object.assign(isObject(given) ? given : part, { [isObject(given) ? 'url' : name]: real.url })
  }
}

/** Whether it contains pictures, sound or files, which the count of its text does not include. */
export function holdsMedia(value: RawObject): boolean {
  for (const { type } of objectsIn(value)) if (MEDIA_TYPES.has(type)) return true
  return false
}

/** The object and all objects in it; the body's limit bounds the depth. */
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
