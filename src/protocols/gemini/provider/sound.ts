import type { TranscriptionRequest } from '../../../kinds/transcription/request.ts'
import { failure, garbage, type AttemptFailure } from '../../ports/attempt-failure.ts'
import type { UnitCall, UpstreamRequest } from '../../ports/call.ts'
import { textOnly, askTranscript } from '../../upstream/transcripts.ts'
import {
  type TranscriptionProtocol,
  type TranscriptionResult,
  type SpeechCall,
  type SpeechProtocol,
  wholeSound,
  type Sound,
} from '../../upstream/audio.ts'
import { listOf, objectOf, parseJson, textOf, type RawJson } from '../../wire/raw-json.ts'
import type { Transport } from '../../wire/transport.ts'
import { geminiErrorEvent, isErrorBody, geminiUsage } from './usage.ts'
import { traitsOf } from '../../models/gemini-traits.ts'
import { generatePath, geminiCredentials } from './request.ts'
import { askWhole } from '../../upstream/ask.ts'
import { spoken } from '../../openai/provider/sound.ts'

const BLOCKED: ReadonlySet<string> = new Set(['SAFETY', 'BLOCKLIST', 'PROHIBITED_CONTENT', 'SPII', 'RECITATION'])
const TRANSCRIBE = 'Write down what is said in this recording, word for word, in the language it is said in.'
const TRANSLATE = 'Write down what is said in this recording, translated into English.'
const ALONE =
  'Answer with that text alone: no comments, no times, no names of speakers, no markup. If nothing is said, answer with nothing.'

/**
 * Transcripts through `generateContent`: the request holds the sound and an instruction to write it down. The model
 * gives no times.
 */
export function geminiTranscription(transport: Transport): TranscriptionProtocol {
  return askTranscript(transport, {
    translates: () => true,
    request: transcriptRequest,
    reads: { answer: readTranscript },
  })
}

function transcriptRequest({ endpoint, apiKey, request }: UnitCall<TranscriptionRequest>): UpstreamRequest {
  const { audio, temperature } = request
  const traits = traitsOf(endpoint.upstreamModel)
  const generationConfig = {
    ...(temperature === null || !traits.samples ? {} : { temperature }),
    ...(endpoint.maxCompletionTokens === null ? {} : { maxOutputTokens: endpoint.maxCompletionTokens }),
    // Transcription needs no thinking, which would cost money.
    ...(traits.canStopThinking ? { thinkingConfig: { thinkingBudget: 0 } } : {}),
  }
  const body = {
    systemInstruction: { parts: [{ text: instructionOf(request) }] },
    contents: [
      { role: 'user', parts: [{ inlineData: { mimeType: audio.contentType, data: audio.bytes.toString('base64') } }] },
    ],
    generationConfig,
  }
  return { path: generatePath(endpoint.upstreamModel, false), body, headers: geminiCredentials(apiKey) }
}

function instructionOf({ task, language, prompt }: TranscriptionRequest): string {
  const lines = [task === 'translate' ? TRANSLATE : TRANSCRIBE, ALONE]
  if (language !== null) lines.push(`The language of the recording is ${JSON.stringify(language)}.`)
  if (prompt !== null) lines.push(`Names and words that may occur, or what was said before: ${JSON.stringify(prompt)}.`)
  return lines.join('\n')
}

function readTranscript(bytes: Buffer): TranscriptionResult | AttemptFailure {
  const parsed = parseJson(bytes)
  if (isErrorBody(parsed)) return geminiErrorEvent(parsed)
  const body = objectOf(parsed)
  const candidate = objectOf(listOf(body?.['candidates'])[0])
  const reason = textOf(candidate?.['finishReason'])
  if (body === null || (candidate === null && body['promptFeedback'] === undefined))
    return garbage('no transcript', bytes)
  if (candidate === null || (reason !== null && BLOCKED.has(reason)))
    return {
      ...failure('status', 400, 'the provider refused the recording'),
      publicMessage: 'The provider refused the recording',
      refusal: 'moderation',
    }
  if (reason === 'MAX_TOKENS') return failure('cut', null, 'the transcript is longer than the model may answer')
  return textOnly(textIn(candidate), {
    usage: geminiUsage(body['usageMetadata']),
    upstreamId: textOf(body['responseId']),
  })
}

function textIn(candidate: RawJson): string {
  return listOf(objectOf(candidate['content'])?.['parts'])
    .map((part) => (objectOf(part)?.['thought'] === true ? '' : (textOf(objectOf(part)?.['text']) ?? '')))
    .join('')
    .trim()
}

const VOICE = 'Kore'
/** Bare samples as in `pcm`; those of any other rate would play at another speed. */
const SAMPLES = /^audio\/(?:l16|pcm)\b(?!.*rate=(?!24000\b))/i

/** Speech through `generateContent`, which returns it whole. */
export function geminiSpeech(transport: Transport): SpeechProtocol {
  return {
    formats: () => ['pcm'],
    ask: (call, sink) =>
      wholeSound(sink, (whole) =>
        askWhole(transport, call, { request: () => speechRequest(call), answer: readSound }, whole),
      ),
  }
}

/** The request: the model follows a style written before the text, and has no parameter for speed. */
function speechRequest({ endpoint, apiKey, request, voice }: SpeechCall): UpstreamRequest {
  const text = request.instructions === null ? request.input : `${request.instructions}:\n${request.input}`
  const body = {
    contents: [{ role: 'user', parts: [{ text }] }],
    generationConfig: {
      responseModalities: ['AUDIO'],
      speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: voice ?? VOICE } } },
    },
  }
  return { path: generatePath(endpoint.upstreamModel, false), body, headers: geminiCredentials(apiKey) }
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
