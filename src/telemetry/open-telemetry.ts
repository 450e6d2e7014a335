import type { RequestListener } from '../http/request-log.ts'
import { GenAiMetrics } from './gen-ai.ts'
import type { SenderOptions } from './telemetry.ts'

type Options = Omit<SenderOptions, 'target'> & { readonly target: SenderOptions['target'] | null }

/** Counts each request, and sends it to a collector if there is one. The modules that send are loaded only then. */
export async function openTelemetry({ target, ...options }: Options): Promise<RequestListener> {
  const genAi = new GenAiMetrics()
  const { metrics } = genAi
  const sender = target === null ? null : (await import('./telemetry.ts')).openSender({ ...options, target })
  return {
    metrics,
    line: (...said) => {
      genAi.line(...said)
      sender?.line(...said)
    },
    start: (read) => sender?.start(read),
    stop: async () => sender?.stop(),
  }
}
