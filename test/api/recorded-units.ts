import assert from 'node:assert/strict'
import { gateway, type Answer, type Gateway } from '../harness/gateway.ts'
import { recordedCases, type RecordedCase } from '../harness/recording.ts'
import { type ReplayOptions, startReplayUpstream, type Replay } from '../harness/replay.ts'

export const UPSTREAM_KEY = 'upstream-canary-key'
/** Other forms of the same body. */
export const BODY_VARIANTS = [{}, { split: 'bytes:7' }, { gzip: 1 }, { chunked: 1 }] as const

/** A server with one model for each provider of recorded answers of a kind, behind the adapter that speaks to it. */
export interface UnitsUnderTest {
  readonly tollgate: Gateway
  readonly replay: Replay
  readonly key: string
  /** Asks, with the recorded case as the provider's answer. */
  ask(
    recorded: RecordedCase,
    opts: ReplayOptions,
    path: string,
    body: Readonly<Record<string, unknown>>,
  ): Promise<Answer>
  lastLog(): Promise<Record<string, unknown>>
}

export function recordedUnits(kind: string): readonly RecordedCase[] {
  return recordedCases(({ name }) => name.split('/')[1] === kind)
}

export function providerOf({ name }: RecordedCase): string {
  return name.split('/')[0] ?? ''
}

/** `rows`: the provider's row beside its address and key, by provider; `type` and `price` are the models'. */
export async function startUnits(
  rows: Readonly<Record<string, string>>,
  type: string,
  priceOf: (provider: string) => string,
): Promise<UnitsUnderTest> {
  const replay = await startReplayUpstream()
  const names = Object.keys(rows)
  const tollgate = await gateway({
    catalog: `
markup: 1
rate_limit: { requests: 100000, window: 60 }
providers:
${names.map((name) => `  ${name}: { ${rows[name]}, base_url: ${replay.url}/slot/${name}, api_key: ${UPSTREAM_KEY} }\n`).join('')}models:
${names.map((name) => `  - { id: test/${name}, type: ${type}, endpoints: [{ provider: ${name}, model: upstream-model, price: { currency: RUB, ${priceOf(name)} } }] }\n`).join('')}`,
  })
  const { key } = await tollgate.createAccount({ balance: 1_000 })
  return {
    tollgate,
    replay,
    key,
    ask: async (recorded, opts, path, body) => {
      const provider = providerOf(recorded)
      await replay.slot(provider, [{ case: recorded.name, opts }])
      return tollgate.post(path, key, { model: `test/${provider}`, ...body })
    },
    lastLog: async () => (await tollgate.get('/v1/generation?limit=1', key)).body.logs[0],
  }
}

/** A recorded error: the client's error has the right class, names no data of ours, and is free. */
export function checkRecordedError({ name, status }: RecordedCase, answer: Answer, log: Record<string, unknown>): void {
  const shown = [400, 413, 422].includes(status) ? [400] : [429, 503, 529].includes(status) ? [503] : [502]
  assert.ok(shown.includes(answer.status), `${name}: ${answer.status} ${answer.text}`)
  assert.doesNotMatch(answer.text, /canary|127\.0\.0\.1/)
  assert.deepEqual(
    [log['status'], log['total_cost'], log['generation_id']],
    ['error', 0, answer.headers['x-generation-id']],
    name,
  )
}
