import type { EndpointHealth } from '../../../../src/api/admin/report-contract.ts'
import type { Tone } from '../../parts/cells.tsx'
import { t } from '../../parts/words.ts'

/** From this share of failed requests on, an endpoint that is still asked is not called healthy. */
const FAILING = 0.5

/** How an endpoint is, by its state and its errors of the last half hour; null = it was not asked. */
export function healthWord(state: EndpointHealth['state'], errors: number | null): readonly [Tone, string] {
  if (state === 'cooling_down') return ['warn', t('health.cooling_down')]
  if (errors === null) return ['quiet', t('health.unused')]
  return errors >= FAILING ? ['bad', t('health.failing')] : ['good', t('health.healthy')]
}
