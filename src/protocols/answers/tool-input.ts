import { UnsendableError } from '../ports/upstream-request.ts'
import { objectOf, type RawJson } from '../wire/raw-json.ts'

/** The same limits as for a whole body: arguments are a string there, which the body's scan does not look into. */
const DEPTH_MAX = 64
const SEPARATORS_MAX = 100_000

/**
 * The arguments of a tool call as the object that the protocol requires; some models send null for a tool without
 * parameters. Invalid JSON, as of a call that was cut, is kept as one value.
 */
export function toolInput(text: string, path: string): RawJson {
  if (['', 'null'].includes(text.trim())) return {}
  if (!isHarmless(text)) throw new UnsendableError(`${path}: is nested too deep or holds too many values`)
  return objectOf(parsed(text)) ?? { arguments: text }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isHarmless(text: string): boolean {
  let depth = 0
  let separators = 0
  let inString = false
  for (let index = 0; index < text.length; index += 1) {
    const char = text.charCodeAt(index)
    if (inString) {
      if (char === 0x5c) index += 1
      else if (char === 0x22) inString = false
    } else if (char === 0x22) inString = true
    else if (char === 0x7b || char === 0x5b) depth += 1
    else if (char === 0x7d || char === 0x5d) depth -= 1
    else if (char === 0x2c || char === 0x3a) separators += 1
    if (depth > DEPTH_MAX || separators > SEPARATORS_MAX) return false
  }
  return true
}
