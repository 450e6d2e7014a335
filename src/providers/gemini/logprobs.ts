import { listOf, objectOf, textOf, type RawJson } from '../raw-json.ts'

/** `logprobsResult` in the shape of OpenAI's `logprobs`; null when there is none. */
export function logprobsOf(raw: unknown): Readonly<Record<string, unknown>> | null {
  const result = objectOf(raw)
  if (result === null) return null
  const tops = listOf(result['topCandidates'])
  const content = listOf(result['chosenCandidates']).map((chosen, index) => ({
    ...tokenOf(objectOf(chosen) ?? {}),
    top_logprobs: listOf(objectOf(tops[index])?.['candidates']).map((top) => tokenOf(objectOf(top) ?? {})),
  }))
  return content.length === 0 ? null : { content, refusal: null }
}

function tokenOf(raw: RawJson): {
  readonly token: string
  readonly logprob: number
  readonly bytes: readonly number[]
} {
  const token = textOf(raw['token']) ?? ''
  const { logProbability } = raw
  return { token, logprob: typeof logProbability === 'number' ? logProbability : 0, bytes: [...Buffer.from(token)] }
}
