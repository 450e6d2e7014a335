import { type AttemptFailure, failure } from '../ports/attempt-failure.ts'
import { type AnswerSink, type ResultSink, type RunningCall, type UnitCall, UnsendableError } from '../ports/call.ts'
import { SdkFetch, type SdkFetchCall, type SdkFetchPorts } from './sdk-fetch.ts'
import type { SdkPackages, SdkSettings } from './sdk-packages.ts'
import { objectOf, textOf } from '../wire/raw-json.ts'
import { eventFailure } from '../wire/upstream-error.ts'

export interface SdkPorts extends SdkFetchPorts {
  readonly packages: SdkPackages
}

/** State of the run that its reader may ask about or wait for. */
export interface SdkProgress {
  /** Nobody waits for the answer any more. */
  isOver(): boolean
  /** The package has made a part of the bytes that came. */
  progressed(): void
  /** Resolves when the client takes more. */
  resumed(): Promise<void>
}

export interface SdkAsked extends Omit<SdkFetchCall, 'endpoint'> {
  readonly call: Pick<UnitCall<unknown>, 'endpoint' | 'apiKey'>
}

/**
 * One call through a package, without the package's retries. The package asks and reads; the limits and the end are
 * ours.
 */
export class SdkRun implements RunningCall {
  readonly #sink: Pick<AnswerSink, 'headers' | 'fail'>
  readonly #fetch: SdkFetch
  #over = false
  #wake: (() => void) | null = null

  /** `work` resolves to a failure, or to a function that ends the answer. */
  constructor(
    ports: SdkPorts,
    { call: { endpoint, apiKey }, ...asked }: SdkAsked,
    sink: Pick<AnswerSink, 'headers' | 'fail'>,
    work: (settings: SdkSettings, progress: SdkProgress) => Promise<AttemptFailure | (() => void)>,
  ) {
    this.#sink = sink
    this.#fetch = new SdkFetch(
      ports,
      { endpoint, ...asked },
      {
        headers: () => {
          if (!this.#over) sink.headers()
        },
        failed: (found) => this.#fail(found),
      },
    )
    const settings = { apiKey: apiKey ?? '', baseURL: endpoint.provider.baseUrl, fetch: this.#fetch.fetch }
    const progress = {
      isOver: () => this.#over,
      progressed: () => this.#fetch.progressed(),
      resumed: () => this.#resumed(),
    }
    // `#run` never rejects: failures go to the sink.
    void this.#run(() => work(settings, progress))
  }

  cancel(): void {
    this.#over = true
    this.#fetch.cancel()
    this.resume()
  }

  resume(): void {
    this.#wake?.()
    this.#wake = null
  }

  async #run(work: () => Promise<AttemptFailure | (() => void)>): Promise<void> {
    try {
      const end = await work()
      if (this.#over) return
      if (typeof end !== 'function') return this.#giveUp(end)
      this.#over = true
      end()
    } catch (thrown) {
      this.#giveUp((this.#fetch.started ? null : refusal(thrown)) ?? thrownFailure(thrown, this.#fetch.started))
    }
  }

  /** The sink may have cancelled during its push. */
  #resumed(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#over) resolve()
      else this.#wake = resolve
    })
  }

  #giveUp(found: AttemptFailure): void {
    this.#fetch.cancel()
    this.#fail(found)
  }

  #fail(found: AttemptFailure): void {
    if (this.#over) return
    this.#over = true
    this.resume()
    this.#sink.fail(found)
  }
}

/** One call that is answered by a single result. */
export function sdkResult<Result extends object>(
  ports: SdkPorts,
  call: Pick<UnitCall<unknown>, 'endpoint' | 'apiKey'>,
  sink: ResultSink<Result>,
  ask: (settings: SdkSettings) => Promise<Result | AttemptFailure>,
  limits: Pick<SdkFetchCall, 'bytesMax' | 'takesBytes' | 'onVectors'> = {},
): RunningCall {
  return new SdkRun(ports, { call, streaming: false, ...limits }, sink, async (settings) => {
    const result = await ask(settings)
    return 'reason' in result ? result : () => sink.result(result)
  })
}

const DETAIL_LENGTH_MAX = 2_000
const CAUSES_MAX = 4
/** Names of the packages' errors about a request that their provider cannot express. */
const UNSENDABLE: ReadonlySet<string> = new Set(['AI_UnsupportedFunctionalityError', 'AI_InvalidPromptError'])

/** The failure of a request that was never sent because the provider cannot express it; null = another failure. */
export function refusal(thrown: unknown): AttemptFailure | null {
  const error = objectOf(thrown)
  const message =
    thrown instanceof UnsendableError
      ? thrown.message
      : UNSENDABLE.has(textOf(error?.['name']) ?? '')
        ? 'This provider does not support a part of the request'
        : null
  return message === null
    ? null
    : { ...failure('unsendable', 400, message), publicMessage: message, detail: messageOf(thrown) }
}

/**
 * The failure for an error that a package threw or put into its stream. `sent` is false when no request left: then the
 * provider is not to blame.
 */
export function thrownFailure(thrown: unknown, sent: boolean): AttemptFailure {
  if (!sent) return failure('connect', null, messageOf(thrown))
  const said = upstreamError(thrown, CAUSES_MAX)
  // Its message may repeat the request or the answer.
  const unread = { ...failure('garbage', null, 'its package could not read the answer'), detail: messageOf(thrown) }
  return said === null ? unread : eventFailure(said)
}

/**
 * The provider's error inside a 200, which a package passes on as it came, or as a value that did not fit its schema.
 */
function upstreamError(thrown: unknown, depth: number): unknown {
  const error = objectOf(thrown)
  if (error === null || depth === 0) return null
  for (const name of ['data', 'value']) {
    const value = objectOf(error[name])
    const said = value?.['error'] ?? (value?.['object'] === 'error' ? value : null)
    if (said !== null) return said
  }
  return upstreamError(error['cause'], depth - 1)
}

/** Only name and message: other fields of a package's error hold the request and its address. */
function messageOf(thrown: unknown): string {
  return (
    thrown instanceof Error
      ? `${thrown.name}: ${thrown.message}`
      : typeof thrown === 'string'
        ? thrown
        : 'the package failed'
  ).slice(0, DETAIL_LENGTH_MAX)
}
