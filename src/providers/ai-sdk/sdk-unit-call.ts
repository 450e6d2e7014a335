import type { AttemptFailure, ResultSink, RunningCall, UnitCall } from '../adapter.ts'
import type { SdkCallPorts } from './sdk-call.ts'
import { refusal, thrownFailure } from './sdk-error.ts'
import { SdkFetch } from './sdk-fetch.ts'
import type { SdkSettings } from './sdk-packages.ts'

/** One call of a kind that is answered at once, through a package: a single request, without the package's retries. */
export class SdkUnitCall<Result extends object> implements RunningCall {
  readonly #sink: ResultSink<Result>
  readonly #fetch: SdkFetch
  #over = false

  constructor(
    ports: SdkCallPorts,
    { endpoint, apiKey }: Pick<UnitCall<unknown>, 'endpoint' | 'apiKey'>,
    sink: ResultSink<Result>,
    ask: (settings: SdkSettings) => Promise<Result | AttemptFailure>,
    bytesMax?: number,
    takesBytes = false,
  ) {
    this.#sink = sink
    this.#fetch = new SdkFetch(
      ports,
      { endpoint, streaming: false, takesBytes, ...(bytesMax === undefined ? {} : { bytesMax }) },
      {
        headers: () => {
          if (!this.#over) sink.headers()
        },
        failed: (found) => this.#fail(found),
      },
    )
    // Every failure of it goes to the sink.
    void this.#run(() => ask({ apiKey: apiKey ?? '', baseURL: endpoint.provider.baseUrl, fetch: this.#fetch.fetch }))
  }

  cancel(): void {
    this.#over = true
    this.#fetch.cancel()
  }

  /** There is nothing to pause. */
  resume(): void {
    return undefined
  }

  async #run(ask: () => Promise<Result | AttemptFailure>): Promise<void> {
    try {
      const result = await ask()
      if (this.#over) return
      if ('reason' in result) return this.#fail(result)
      this.#over = true
      this.#sink.result(result)
    } catch (thrown) {
      const found = (this.#fetch.started ? null : refusal(thrown)) ?? thrownFailure(thrown, this.#fetch.started)
      this.#fetch.cancel()
      this.#fail(found)
    }
  }

  #fail(found: AttemptFailure): void {
    if (this.#over) return
    this.#over = true
    this.#sink.fail(found)
  }
}
