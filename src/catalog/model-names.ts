import type { Model } from './catalog.ts'

type Models = ReadonlyMap<string, Model>

/**
 * The names of a model besides its id. Aliases go first, then the last segment of an id that only one model has, then
 * the operator's stand-ins for missing models (clients.md D-14.5).
 */
export function modelNames(models: Models, fallbacks: Readonly<Record<string, string>>): Map<string, string> {
  const names = new Map<string, string>()
  for (const { id, aliases } of models.values()) for (const alias of aliases) names.set(alias, id)
  for (const [bare, ids] of byBareName(models)) {
    const [id] = ids
    if (ids.length === 1 && id !== undefined && !names.has(bare)) names.set(bare, id)
  }
  const known = new Map(names)
  for (const [name, wanted] of Object.entries(fallbacks)) {
    const id = models.has(wanted) ? wanted : known.get(wanted)
    if (id !== undefined && !models.has(name) && !known.has(name)) names.set(name, id)
  }
  return names
}

/** Last segments of ids that several models share and that no alias or stand-in assigns. */
export function sharedNames(
  models: Models,
  names: ReadonlyMap<string, string>,
): readonly { readonly name: string; readonly ids: readonly string[] }[] {
  return [...byBareName(models)].flatMap(([name, ids]) => (ids.length > 1 && !names.has(name) ? [{ name, ids }] : []))
}

function byBareName(models: Models): ReadonlyMap<string, readonly string[]> {
  return Map.groupBy(models.keys(), (id) => id.slice(id.lastIndexOf('/') + 1))
}
