import { ApiError } from '../base/errors.ts'
import { attemptsOf, storyOf } from '../api/records/request-story.ts'
import { viewOf } from '../ledger/row-view.ts'
import type { RequestStory } from '../api/cabinet/log-contract.ts'
import { logRow } from './log.ts'
import type { CabinetPorts, Visit } from './ports.ts'

/** Everything about one request: endpoints tried, usage and prices, amounts held and charged, times. */
export async function requestStory(ports: CabinetPorts, { call, accountId }: Visit): Promise<RequestStory> {
  const id = (call.params['id'] ?? '').replace(/^resp-/, 'gen-')
  const row = await ports.store.generations.get(id)
  if (row === null || row.accountId !== accountId)
    throw new ApiError('generation_not_found', `Generation '${id.slice(0, 80)}' not found`)
  const hold = await ports.store.log.hold(row.generationId)
  return {
    ...logRow(row),
    ...viewOf(row, 'request'),
    // Without the provider's words.
    attempts: attemptsOf(row).map(({ provider, outcome, reason, status }) => ({ provider, outcome, reason, status })),
    attempt_count: row.attempts,
    ...storyOf(row, await ports.catalog.pricesOf(row), hold),
  }
}
