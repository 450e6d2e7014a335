import type { CatalogDocument } from './document.ts'

/** Readable lines of what changes from one document to the other; credentials are never shown. */
export function difference(before: CatalogDocument, after: CatalogDocument): readonly string[] {
  return [
    ...(before.bundled === after.bundled ? [] : [`~ bundled ${before.bundled} → ${after.bundled}`]),
    ...fieldLines('settings', before.settings, after.settings),
    ...entryLines('provider', new Map(Object.entries(before.providers)), new Map(Object.entries(after.providers))),
    ...entryLines('model', new Map(before.models.map((model) => [model.id, model])), new Map(after.models.map((model) => [model.id, model]))),
  ]
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
    const was = JSON.stringify(old.get(field)) ?? 'absent'
    const is = JSON.stringify(now.get(field)) ?? 'absent'
    if (was === is) continue
    lines.push(field === 'api_key' ? `~ ${title}: api_key changed` : `~ ${title}: ${field} ${was} → ${is}`)
  }
  return lines
}
