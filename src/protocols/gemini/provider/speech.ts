import { failure, garbage, type AttemptFailure } from '../../ports/attempt-failure.ts'
import { askWhole } from '../../upstream/ask.ts'
import type { UpstreamRequest } from '../../ports/upstream-request.ts'
import { type SpeechCall, type SpeechProtocol, wholeSound, type Sound } from '../../upstream/audio.ts'
import { spoken } from '../../openai/provider/speech.ts'
import { listOf, objectOf, parseJson, textOf } from '../../wire/raw-json.ts'
import type { Transport } from '../../wire/transport.ts'
import { geminiErrorEvent, isErrorBody } from './error.ts'
import { geminiCredentials, geminiPath, geminiResource } from './request.ts'
import { geminiUsage } from './usage.ts'

const VOICE = 'Kore'
/** Bare samples, as in `pcm`; any other rate would play at another speed. */
const SAMPLES = /^audio\/(?:l16|pcm)\b(?!.*rate=(?!24000\b))/i

/** Speech through `generateContent`, which returns it whole. */
export function geminiSpeech(transport: Transport): SpeechProtocol {
  return {
    formats: () => ['pcm'],
    ask: (call, sink) =>
      wholeSound(sink, (whole) =>
        askWhole(transport, call, { request: () => requestOf(call), answer: readSound }, whole),
      ),
  }
}

/** The model follows a style written before the text. It has no parameter for speed. */
function requestOf({ endpoint, apiKey, request, voice }: SpeechCall): UpstreamRequest {
  const text = request.instructions === null ? request.input : `${request.instructions}:\n${request.input}`
  const body = {
    contents: [{ role: 'user', parts: [{ text }] }],
    generationConfig: {
      responseModalities: ['AUDIO'],
      speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: voice ?? VOICE } } },
    },
  }
  return {
    path: `${geminiPath(geminiResource(endpoint.upstreamModel))}:generateContent`,
    body,
    headers: geminiCredentials(apiKey),
  }
}

function readSound(bytes: Buffer): Sound | AttemptFailure {
  const parsed = parseJson(bytes)
  if (isErrorBody(parsed)) return geminiErrorEvent(parsed)
  const body = objectOf(parsed)
  const candidate = objectOf(listOf(body?.['candidates'])[0])
  if (body === null) return garbage('no sound', bytes)
  const audio: Buffer[] = []
  for (const part of listOf(objectOf(candidate?.['content'])?.['parts'])) {
    const inline = objectOf(objectOf(part)?.['inlineData'])
    const type = textOf(inline?.['mimeType'])
    if (type !== null && !SAMPLES.test(type)) return failure('garbage', null, `a sound of type ${type.slice(0, 100)}`)
    audio.push(Buffer.from(textOf(inline?.['data']) ?? '', 'base64'))
  }
  return {
    audio: Buffer.concat(audio),
    usage: spoken(geminiUsage(body['usageMetadata'])),
    upstreamId: textOf(body['responseId']),
  }
}
