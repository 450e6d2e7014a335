import type { AttemptFailure } from '../ports/attempt-failure.ts'
import type { AnswerSink, ResultSink, RunningCall, UnitCall } from '../ports/call.ts'
import { refusal, thrownFailure } from './sdk-error.ts'
import { SdkFetch, type SdkFetchCall, type SdkFetchPorts } from './sdk-fetch.ts'
import type { SdkPackages, SdkSettings } from './sdk-packages.ts'

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
