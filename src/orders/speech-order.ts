import type { Endpoint, Model } from '../catalog/catalog.ts'
import { ApiError } from '../errors.ts'
import { invalidInput, quoted } from '../kinds/json-fields.ts'
import { CONTENT_TYPES, SPEECH_FORMATS, type SpeechFormat } from '../kinds/speech-format.ts'
import type { SpeechRequest } from '../kinds/speech-request.ts'
import type { Usage } from '../meters.ts'
import type { PlanInput } from '../plan/plan.ts'
import { planUnits } from '../plan/unit-plan.ts'
import type { AdapterTable } from '../providers/adapter.ts'
import type { Order } from '../relay/order.ts'
import { countsTokens, outputMax } from './audio-usage.ts'
import { SpeechAttempt } from './speech-attempt.ts'

/** Of models that declare none (api.md 4.9). */
const VOICES = ['alloy', 'echo', 'fable', 'onyx', 'nova', 'shimmer'] as const
const FIRST_VOICE = 'alloy'

/** A request for speech on its way through the paid path: bytes as they arrive, charged by what is said. */
export function speechOrder(request: SpeechRequest, adapters: AdapterTable): Order {
  const made = (endpoint: Endpoint): readonly SpeechFormat[] | null => adapters.get(endpoint.provider.adapter)?.speech?.formats(endpoint) ?? null
  const able = (endpoint: Endpoint): boolean => sentFormat(made(endpoint) ?? [], request.format) !== null
  return {
    type: 'tts',
    delivery: 'bytes',
    contentType: CONTENT_TYPES[request.format],
    sessionId: request.sessionId,
    fitsFunds: false,
    plan: (input: PlanInput) =>
      planUnits({ ...input, request, modelType: 'tts', endpointName: 'audio/speech', sent: [], check: (model) => check(request, model, made), able, worstUsage: (model, endpoint) => worstUsage(request, model, endpoint) }),
    recounted: () => null,
    begin: (start, sink) => {
      const { adapter, candidate } = start
      const format = sentFormat(made(candidate.endpoint) ?? [], request.format)
      if (adapter.speech === undefined || format === null) throw new Error(`Adapter '${adapter.name}' cannot speak ${request.format}: the plan lets only those through that can.`)
      return new SpeechAttempt({ request, format, voice: voiceOf(request, candidate.model), speech: adapter.speech, start, sink })
    },
  }
}

/** What a provider is asked for; null = it has nothing to make the format of. */
function sentFormat(formats: readonly SpeechFormat[], format: SpeechFormat): SpeechFormat | null {
  if (formats.includes(format)) return format
  return format === 'wav' && formats.includes('pcm') ? 'pcm' : null
}

function check(request: SpeechRequest, model: Model, made: (endpoint: Endpoint) => readonly SpeechFormat[] | null): void {
  const voices = model.supportedVoices ?? VOICES
  if (request.voice !== null && !voices.includes(request.voice)) throw invalidInput('voice', `must be one of ${voices.join(', ')} for model '${model.id}', got '${quoted(request.voice)}'`)
  const byProviders = model.endpoints.flatMap((endpoint) => made(endpoint) ?? [])
  // Where no provider speaks at all the model cannot be sold, which is told as of any other.
  if (byProviders.length === 0) return
  const offered = SPEECH_FORMATS.filter((format) => sentFormat(byProviders, format) !== null && (model.supportedFormats === null || sentFormat(formatsIn(model.supportedFormats), format) !== null))
  if (!offered.includes(request.format)) throw new ApiError('invalid_response_format', `Invalid response_format: model '${model.id}' speaks ${offered.join(', ')}, got '${request.format}'`)
}

function formatsIn(names: readonly string[]): readonly SpeechFormat[] {
  return SPEECH_FORMATS.filter((format) => names.includes(format))
}

function voiceOf(request: SpeechRequest, model: Model): string | null {
  if (request.voice !== null || model.supportedVoices === null) return request.voice
  return model.supportedVoices.includes(FIRST_VOICE) ? FIRST_VOICE : (model.supportedVoices[0] ?? null)
}

/** Characters are known; of tokens there are no more than bytes, and no more sound than the model makes. */
function worstUsage({ input, instructions, characters }: SpeechRequest, model: Model, endpoint: Endpoint): Usage {
  if (!countsTokens(endpoint)) return { characters }
  return { characters, input: Buffer.byteLength(input) + Buffer.byteLength(instructions ?? ''), audio_output: outputMax(model, endpoint) }
}
