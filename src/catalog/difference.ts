import { endpointId, type CatalogDocument, type ModelEntry } from './document.ts'

/** Fields whose values are secret: a line only says that they changed. */
const SECRETS: ReadonlySet<string> = new Set(['api_key', 'headers', 'auth'])

/** The changes from one document to the other as readable lines; credentials are never shown. */
export function difference(before: CatalogDocument, after: CatalogDocument): readonly string[] {
  return [
    ...(before.bundled === after.bundled ? [] : [`~ bundled: ${before.bundled} → ${after.bundled}`]),
    ...fieldLines('bundled', { except: before.bundled_except }, { except: after.bundled_except }),
    ...fieldLines('settings', before.settings, after.settings),
    ...entryLines('provider', new Map(Object.entries(before.providers)), new Map(Object.entries(after.providers))),
    ...entryLines('model', modelsById(before), modelsById(after)),
  ]
}

/** Endpoints become fields with names, so that a changed price is one line instead of two lists. */
function modelsById({ models }: CatalogDocument): ReadonlyMap<string, object> {
  return new Map(
    models.map((model: ModelEntry) => {
      const { endpoints, ...fields } = model
      return [
        model.id,
        {
          ...fields,
          ...Object.fromEntries(endpoints.map((endpoint) => [`endpoint ${endpointId(endpoint)}`, endpoint])),
        },
      ]
    }),
  )
}

function entryLines(kind: string, before: ReadonlyMap<string, object>, after: ReadonlyMap<string, object>): string[] {
  const lines: string[] = []
  for (const id of new Set([...before.keys(), ...after.keys()])) {
    const old = before.get(id)
    const now = after.get(id)
    if (old === undefined) lines.push(`+ ${kind} ${id}`)
    else if (now === undefined) lines.push(`- ${kind} ${id}`)
    else lines.push(...fieldLines(`${kind} ${id}`, old, now))
  }
  return lines
}

function fieldLines(title: string, before: object, after: object): string[] {
  const old = new Map<string, unknown>(Object.entries(before))
  const now = new Map<string, unknown>(Object.entries(after))
  const lines: string[] = []
  for (const field of new Set([...old.keys(), ...now.keys()])) {
    const was = old.get(field)
    const is = now.get(field)
    if (field === 'dialect') lines.push(...fieldLines(`${title}: ${field}`, was ?? {}, is ?? {}))
    else if (isMap(was) && isMap(is) && !SECRETS.has(field)) lines.push(...fieldLines(`${title}: ${field}`, was, is))
    else if (isMap(is) && field.startsWith('endpoint ')) lines.push(`+ ${title}: ${field}`)
    else if (isMap(was) && field.startsWith('endpoint ')) lines.push(`- ${title}: ${field}`)
    else if (shown(was) === shown(is)) continue
    else
      lines.push(
        SECRETS.has(field) ? `~ ${title}: ${field} changed` : `~ ${title}: ${field} ${shown(was)} → ${shown(is)}`,
      )
  }
  return lines
}

function isMap(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Decimals are texts in the document; they are shown without quotes, as in the file. */
function shown(value: unknown): string {
  if (value === undefined) return 'absent'
  return typeof value === 'string' && /^\d+(\.\d+)?$/.test(value) ? value : JSON.stringify(value)
}
