import { fetchedJson } from '../../base/http-request.ts'
import { isoDay } from '../../base/time.ts'
import { LimitList } from './data-set-limits.ts'
import { readDataSet } from './data-set.ts'
import { parseModelJson } from '../document-reader.ts'
import type { ModelEntry } from '../document.ts'

const TIMEOUT_MS = 60_000
const BYTES_MAX = 16 * 1_048_576

/** The addresses of the two lists (docs/decisions/0019-catalogue-sources.md). */
export interface DataSetAddresses {
  readonly prices: string
  readonly limits: string
}

/**
 * Fetches the published lists and returns their models as entries that the catalogue's own reader accepts; a row that
 * it refuses is left out. `ids`: the id here of each known endpoint.
 */
export async function fetchDataSet(
  addresses: DataSetAddresses,
  {
    ids,
    nowMs,
    stop,
  }: { readonly ids: ReadonlyMap<string, string>; readonly nowMs: number; readonly stop: AbortSignal },
): Promise<readonly ModelEntry[]> {
  const bounds = { timeoutMs: TIMEOUT_MS, bytesMax: BYTES_MAX, stop }
  const prices = await fetchedJson(addresses.prices, bounds)
  const limits = new LimitList(await fetchedJson(addresses.limits, bounds))
  const set = readDataSet({ prices, limits, day: isoDay(nowMs), ids })
  if (set === null) throw new Error('the answer is no price data set')
  return set.models.flatMap((model) => {
    const endpoints = model.endpoints.map(({ source: _source, isConfirmed: _confirmed, ...endpoint }) => endpoint)
    const { entry, problems } = parseModelJson({ ...model, endpoints })
    return problems.length === 0 ? [entry] : []
  })
}
