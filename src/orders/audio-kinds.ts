import { parseSpeech } from '../kinds/speech-parse.ts'
import { parseTranscription, parseTranscriptionForm } from '../kinds/transcription-parse.ts'
import type { TranscriptionRequest } from '../kinds/transcription-request.ts'
import type { AdapterTable } from '../providers/adapter.ts'
import { withSession, type PaidKind } from './paid-kind.ts'
import { speechOrders } from './speech-order.ts'
import { transcriptionKind } from './transcription-kind.ts'
import { unitOrder } from './unit-order.ts'

/** The kinds that speak and hear. */
export function audioKinds(adapters: AdapterTable): readonly PaidKind[] {
  const speak = speechOrders(adapters)
  return [
    {
      paths: ['/v1/audio/speech'],
      endpointName: 'audio/speech',
      modelType: 'tts',
      body: 'json',
      read: ({ json, sessionId }) => speak(withSession(parseSpeech(json), sessionId)),
    },
    transcriptions('transcribe', '/v1/audio/transcriptions', adapters),
    transcriptions('translate', '/v1/audio/translations', adapters),
  ]
}

function transcriptions(task: TranscriptionRequest['task'], path: string, adapters: AdapterTable): PaidKind {
  const kind = transcriptionKind(task, adapters)
  return {
    paths: [path],
    endpointName: kind.endpointName,
    modelType: kind.modelType,
    body: 'json-or-multipart',
    read: ({ json, form, sessionId }) =>
      unitOrder(
        withSession(form === null ? parseTranscription(json, task) : parseTranscriptionForm(form, task), sessionId),
        kind,
      ),
  }
}
