import { isDeepStrictEqual } from 'node:util'
import { withBundled } from './bundled.ts'
import { CatalogFaults, soundnessProblems } from './catalog-check.ts'
import { effectiveDocument, type CatalogState } from './catalog-state.ts'
import { successorOf } from './document-edits.ts'
import type { CatalogDocument, ModelEntry } from './document.ts'
import { priceFaults } from './price-doubts.ts'
import type { Fault } from './problem.ts'

/** The operator's document after a change of it to `document`. Throws CatalogFaults. */
export function checkedSuccessor(
  state: CatalogState,
  document: CatalogDocument,
  {
    at,
    release,
    after,
  }: {
    readonly at: string
    readonly release: readonly ModelEntry[]
    readonly after: (own: CatalogDocument) => CatalogState
  },
): CatalogDocument {
  const problems: Fault[] = []
  const next = successorOf(withBundled(state.own, state.base), document, at, problems)
  const changed = after(next)
  // Faults that were there before do not refuse this change.
  const before = new Map(state.own.models.map((model) => [model.id, model]))
  const kept = new Set(
    next.models.flatMap((model, index) => (isDeepStrictEqual(before.get(model.id), model) ? [index] : [])),
  )
  const isNew = (path: string): boolean => !kept.has(Number(/\d+/.exec(path)?.[0]))
  const rates = effectiveDocument(changed).settings.rates ?? {}
  const faults = priceFaults(next.models, release, rates).filter(({ path }) => isNew(path))
  problems.push(...soundnessProblems(next, changed.base), ...faults)
  if (problems.length > 0) throw new CatalogFaults(problems)
  return next
}
