import type { AnswerEvent } from '../../src/kinds/answer/event.ts'
import type { UsageReport } from '../../src/kinds/chat/answer.ts'
import type { AttemptFailure } from '../../src/protocols/ports/attempt-failure.ts'
import type { Random } from './random.ts'

/** The possible behaviours of a provider (guarantees.md 3.5), and their frequencies. */
const OUTCOMES = [
  ['complete', 34],
  ['usage_missing', 6],
  ['usage_zero', 5],
  ['usage_huge', 5],
  ['usage_negative', 3],
  ['usage_beyond_hold', 4],
  ['no_tokens_stop', 4],
  ['empty', 6],
  ['refused', 6],
  ['unreachable', 5],
  ['bad_request', 2],
  ['cut', 10],
  ['cut_after_headers', 3],
  ['usage_then_error', 4],
  ['stall', 5],
  ['endless', 2],
] as const
export type Outcome = (typeof OUTCOMES)[number][0]
const WEIGHTS = OUTCOMES.reduce((sum, [, weight]) => sum + weight, 0)
const WORDS = ['north', 'river', 'winter', 'garden', 'stone', 'quiet', 'copper', 'morning'] as const
const STALL_MS = 60_000

export type Step = { readonly waitMs: number } & (
  | { readonly does: 'headers' }
  | { readonly does: 'push'; readonly events: readonly AnswerEvent[] }
  | { readonly does: 'end' }
  | { readonly does: 'fail'; readonly failure: AttemptFailure }
)

/** `empties`: every other answer is empty. */
export function draw(random: Random, empties = false): Outcome {
  if (empties && random.chance(0.5)) return 'empty'
  let left = random.below(WEIGHTS)
  for (const [outcome, weight] of OUTCOMES) {
    left -= weight
    if (left < 0) return outcome
  }
  return 'complete'
}

/** The parts of one call to a provider. */
export interface Wish {
  readonly stream: boolean
  /** Choices in its answer. */
  readonly choices: number
  /** Answers that it writes and bills. */
  readonly written: number
  readonly maxTokens: number | null
  /** That it is asked for. */
  readonly serviceTier: string | null
}

export function script(outcome: Outcome, wish: Wish, random: Random): Step[] {
  const gapMs = random.chance(0.05) ? 15_000 : random.chance(0.2) ? 2_000 : random.chance(0.5) ? 120 : 8
  const wait = (): number => random.between(0, gapMs)
  const failed = (reason: AttemptFailure['reason'], status: number | null = null): Step => ({
    waitMs: wait(),
    does: 'fail',
    failure: failure(reason, status),
  })
  const headers: Step = { waitMs: wait(), does: 'headers' }
  const end: Step = { waitMs: wait(), does: 'end' }
  const pushed = (...events: AnswerEvent[]): Step => ({ waitMs: wait(), does: 'push', events })
  const finish = (native: string | null): AnswerEvent[] =>
    Array.from({ length: wish.choices }, (_, choice) => ({ type: 'finish', choice, native }))
  const usage = (report: UsageReport): AnswerEvent => ({ type: 'usage', usage: report })
  const input = 8 + random.below(8)
  const words = 1 + random.below(12)
  const content = contentSteps(words, wish, wait, random)
  const rest = (last: readonly AnswerEvent[], before = content): Step[] => [
    headers,
    ...spread(before, last, wish.stream, wait),
    end,
  ]
  switch (outcome) {
    case 'complete':
      return rest([...finish('stop'), usage(report(input, words))])
    case 'usage_missing':
      return rest(finish('stop'))
    case 'usage_zero':
      return rest([...finish('stop'), usage(report(0, 0))])
    case 'usage_huge':
      return rest([...finish('stop'), usage(report(input + (random.chance(0.5) ? 5_000_000 : 0), 900_000))])
    case 'usage_negative':
      return rest([
        ...finish('stop'),
        usage({ ...report(input, 0), usage: { input }, implausible: true, missing: ['output'] }),
      ])
    case 'usage_beyond_hold':
      // The largest possible usage, more than a hold by the count of a short input.
      return rest([...finish('length'), usage(report(900, (wish.maxTokens ?? 10) * wish.written))])
    case 'no_tokens_stop':
      return rest([...finish('stop'), usage(report(input, 0))], [])
    case 'empty':
      return rest(random.chance(0.5) ? [] : [...finish(null), usage(report(input, 0))], [])
    case 'refused':
      return [failed('status', random.pick([500, 429, 503, 401]))]
    case 'unreachable':
      return [failed(random.pick(['connect', 'timeout']))]
    case 'bad_request':
      return [failed('status', 400)]
    case 'cut':
      return [headers, ...content.slice(0, 1 + random.below(content.length)), failed('cut')]
    case 'cut_after_headers':
      return [headers, failed('cut')]
    case 'usage_then_error':
      return [headers, pushed(usage(report(input, 3))), failed('error_event', 502)]
    case 'endless':
      return [
        headers,
        ...Array.from({ length: 25 }, (): Step => ({
          waitMs: random.between(4_000, 9_000),
          does: 'push',
          events: [{ type: 'text', choice: 0, text: `${random.pick(WORDS)} ` }],
        })),
        pushed(...finish('stop'), usage(report(input, 25))),
        end,
      ]
    case 'stall':
      return [
        ...(random.chance(0.6) ? [headers, ...(random.chance(0.5) ? content.slice(0, 1) : [])] : []),
        { waitMs: STALL_MS, does: 'fail', failure: failure('stall', null) },
      ]
  }
}

function contentSteps(words: number, { stream, choices }: Wish, wait: () => number, random: Random): Step[] {
  const events = Array.from({ length: words }, (_, index): AnswerEvent => ({
    type: 'text',
    choice: index % choices,
    text: `${random.pick(WORDS)} `,
  }))
  if (!stream) return [{ waitMs: wait(), does: 'push', events }]
  const steps: Step[] = []
  for (let from = 0; from < events.length;) {
    const size = 1 + random.below(4)
    steps.push({ waitMs: wait(), does: 'push', events: events.slice(from, from + size) })
    from += size
  }
  return steps
}

/** A plain answer comes in one piece. */
function spread(before: readonly Step[], last: readonly AnswerEvent[], streamed: boolean, wait: () => number): Step[] {
  if (last.length === 0) return [...before]
  const [only] = before
  if (!streamed && only?.does === 'push') return [{ ...only, events: [...only.events, ...last] }]
  return [...before, { waitMs: wait(), does: 'push', events: last }]
}

function report(inputTokens: number, outputTokens: number): UsageReport {
  return {
    usage: { input: inputTokens, output: outputTokens },
    inputTokens,
    outputTokens,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    implausible: false,
  }
}

function failure(reason: AttemptFailure['reason'], status: number | null): AttemptFailure {
  return {
    reason,
    status,
    publicMessage: null,
    said: null,
    refusal: status === 401 ? 'credentials' : null,
    retryAfterSeconds: null,
    detail: reason,
  }
}
