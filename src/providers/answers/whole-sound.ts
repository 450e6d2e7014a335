import type { UsageReport } from '../../kinds/chat/answer.ts'
import type { ResultSink, RunningCall } from '../../protocols/ports/call.ts'
import type { SpeechSink } from '../ports/audio-protocol.ts'

/** Speech that a provider returned whole. */
export interface Sound {
  readonly audio: Buffer
  readonly usage: UsageReport | null
  readonly upstreamId: string | null
}

/** Asks for speech that comes whole, and passes it on at once: the client's connection sends it in pieces and counts it. */
export function wholeSound(sink: SpeechSink, ask: (sink: ResultSink<Sound>) => RunningCall): RunningCall {
  return ask({
    // Nothing is billed before the answer is there; its id comes with it.
    headers: () => sink.headers(null),
    result: ({ audio, usage, upstreamId }) => {
      if (upstreamId !== null) sink.headers(upstreamId)
      if (usage !== null) sink.usage(usage)
      if (audio.length > 0) sink.push(audio)
      sink.end()
    },
    fail: (found) => sink.fail(found),
  })
}
