import type { UsageReport } from '../../kinds/chat/answer.ts'
import type { Clock } from '../../lib/clock.ts'
import type { RunningCall } from '../../protocols/ports/call.ts'
import type { SpeechCall, SpeechProtocol, SpeechSink } from '../ports/audio-protocol.ts'
import { readScript, type SandboxScript } from '../../protocols/sandbox/script.ts'
import { ScriptedCall } from '../../protocols/sandbox/scripted-call.ts'
import { SANDBOX_FORMATS, SandboxSound } from '../../protocols/sandbox/speech.ts'

const VOICE = 'alloy'
const CHARACTERS_PER_TOKEN = 4

/**
 * Speech without a provider: tones that depend only on the request. The text holds the script, whose events are words.
 */
export function sandboxSpeech(clock: Clock): SpeechProtocol {
  return { formats: () => SANDBOX_FORMATS, ask: (call, sink) => speak(call, sink, clock) }
}

function speak(call: SpeechCall, sink: SpeechSink, clock: Clock): RunningCall {
  const { request, voice, format, wantsUsage, endpoint } = call
  const script = readScript(request.input)
  const sound = new SandboxSound({
    text: request.input,
    words: script.empty ? 0 : script.words,
    voice: voice ?? VOICE,
    speed: request.speed ?? 1,
    format,
  })
  return new ScriptedCall(
    {
      begin: () => sink.headers(null),
      eventsBefore: (piece) => piece,
      send: (piece) => (piece === sound.pieces ? null : sink.push(sound.piece(piece))),
      end: () => {
        if (wantsUsage && script.usage !== 'missing') sink.usage(usageOf(script, request.characters))
        sink.end()
      },
      fail: (failure) => sink.fail(failure),
    },
    script,
    endpoint.provider.timeouts.progress,
    clock,
  )
}

function usageOf(script: SandboxScript, characters: number): UsageReport {
  const said = { input: Math.ceil(characters / CHARACTERS_PER_TOKEN), output: characters }
  const { input, output } =
    script.usage === 'zero'
      ? { input: 0, output: 0 }
      : script.usage === 'huge'
        ? { input: 1_000_000_000, output: 1_000_000_000 }
        : typeof script.usage === 'object' && script.usage !== null
          ? script.usage
          : said
  return {
    usage: { input, audio_output: output },
    inputTokens: input,
    outputTokens: output,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    implausible: false,
  }
}
