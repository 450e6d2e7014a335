import type { ModelType } from '../catalog/catalog.ts'
import type { PlanInput } from '../plan/plan.ts'
import { parametersOf, type AdapterTable } from '../providers/adapter.ts'

/** The parameters that each adapter's calls to models of a type carry, as a plan reads them. */
export function kindParameters(adapters: AdapterTable, type: ModelType): PlanInput['adapters'] {
  return new Map(
    [...adapters.keys()].map((name) => [name, { supportedParameters: parametersOf(adapters, name, type) }]),
  )
}
