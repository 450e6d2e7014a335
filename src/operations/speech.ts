import type { Endpoint, Model } from '../catalog/catalog.ts'
import { ApiError } from '../base/errors.ts'
import { invalidInput, quoted } from '../kinds/fields/json-fields.ts'
import { CONTENT_TYPES, SPEECH_FORMATS, SPEECH_VOICES, type SpeechFormat } from '../kinds/speech.ts'
import type { SpeechRequest } from '../kinds/speech/request.ts'
import type { Usage } from '../tables/meters.ts'
import type { PlanInput } from '../plan/plan.ts'
import { planUnits } from '../pay/plan/unit-plan.ts'
import type { AdapterTable } from '../protocols/ports/adapter.ts'
import type { Operation } from '../pay/relay/operation.ts'
import { countsTokens, outputMax } from '../pay/operations/audio-usage.ts'
import { SpeechAttempt } from './speech-attempt.ts'

const FIRST_VOICE = 'alloy'

/** Speech requests on the paid path: bytes are sent as they arrive, and the input is charged. */
export function speechOperations(adapters: AdapterTable): (request: SpeechRequest) => Operation {
  const made = madeBy(adapters)
  return (request) => {
    const able = (endpoint: Endpoint): boolean => sentFormat(made(endpoint) ?? [], request.format) !== null
    const sent = [
      ...(request.speed === null ? [] : ['speed']),
      ...(request.instructions === null ? [] : ['instructions']),
    ]
    return {
      type: 'tts',
      delivery: 'bytes',
      contentType: CONTENT_TYPES[request.format],
      sessionId: request.sessionId,
      fitsFunds: false,
      plan: (input: PlanInput) =>
        planUnits({
          ...input,
          request,
          type: 'tts',
          sent,
          able,
          check: (model) => check(request, model, made),
          worstUsage: (model, endpoint) => worstUsage(request, model, endpoint),
        }),
      recounted: () => null,
      begin: (start, sink) => {
        const { adapter, candidate } = start
        const format = sentFormat(made(candidate.endpoint) ?? [], request.format)
        if (adapter.speech === undefined || format === null)
          throw new Error(
            `Adapter '${adapter.name}' cannot speak ${request.format}: the plan lets only those through that can.`,
          )
        return new SpeechAttempt({
          request,
          format,
          voice: voiceOf(request, candidate.model),
          speech: adapter.speech,
          start,
          sink,
        })
      },
    }
  }
}

type FormatsOf = (endpoint: Endpoint) => readonly SpeechFormat[] | null

function madeBy(adapters: AdapterTable): FormatsOf {
  return (endpoint) => adapters.get(endpoint.provider.adapter)?.speech?.formats(endpoint) ?? null
}

/** The formats that a model offers: those on its list that one of its providers has, or that can be made from one. */
export function speechFormats(model: Model, adapters: AdapterTable): readonly SpeechFormat[] {
  return offered(model, madeBy(adapters))
}

function offered({ endpoints, supportedFormats }: Model, made: FormatsOf): readonly SpeechFormat[] {
  const byProviders = endpoints.flatMap((endpoint) => made(endpoint) ?? [])
  const listed =
    supportedFormats === null ? SPEECH_FORMATS : SPEECH_FORMATS.filter((format) => supportedFormats.includes(format))
  return SPEECH_FORMATS.filter(
    (format) => sentFormat(byProviders, format) !== null && sentFormat(listed, format) !== null,
  )
}

/** The format to request from a provider; null = none that the client's can be made from. */
function sentFormat(formats: readonly SpeechFormat[], format: SpeechFormat): SpeechFormat | null {
  if (formats.includes(format)) return format
  return format === 'wav' && formats.includes('pcm') ? 'pcm' : null
}

function check(request: SpeechRequest, model: Model, made: FormatsOf): void {
  const voices = model.supportedVoices ?? SPEECH_VOICES
  if (request.voice !== null && !voices.includes(request.voice))
    throw invalidInput(
      'voice',
      `must be one of ${voices.join(', ')} for model '${model.id}', got '${quoted(request.voice)}'`,
    )
  // A model whose providers have no speech cannot be sold; the message is that of any such model.
  if (!model.endpoints.some((endpoint) => made(endpoint) !== null)) return
  const formats = offered(model, made)
  if (!formats.includes(request.format))
    throw new ApiError(
      'invalid_response_format',
      `Invalid response_format: model '${model.id}' speaks ${formats.join(', ')}, got '${request.format}'`,
    )
}

function voiceOf(request: SpeechRequest, model: Model): string | null {
  if (request.voice !== null || model.supportedVoices === null) return request.voice
  return model.supportedVoices.includes(FIRST_VOICE) ? FIRST_VOICE : (model.supportedVoices[0] ?? null)
}

/** The characters are known; tokens are at most the bytes, and sound at most the model's maximum. */
function worstUsage({ input, instructions, characters }: SpeechRequest, model: Model, endpoint: Endpoint): Usage {
  if (!countsTokens(endpoint)) return { characters }
  return {
    characters,
    input: Buffer.byteLength(input) + Buffer.byteLength(instructions ?? ''),
    audio_output: outputMax(model, endpoint),
  }
}
