import { parseSpeech } from '../kinds/speech/parse.ts'
import { parseTranscription, parseTranscriptionForm } from '../kinds/transcription/parse.ts'
import type { TranscriptionRequest } from '../kinds/transcription/request.ts'
import type { AdapterTable } from '../providers/ports/adapter.ts'
import { withSession, type RequestReader } from './paid-kind.ts'
import { speechOperations } from './speech.ts'
import { transcriptionKind } from './transcription-kind.ts'
import { unitOperation } from './unit.ts'

/** Requests of the types for speech and transcription. */
export function audioReaders(
  adapters: AdapterTable,
): Readonly<Record<'tts' | 'transcription' | 'translation', RequestReader>> {
  const speak = speechOperations(adapters)
  return {
    tts: { body: 'json', read: ({ json, sessionId }) => speak(withSession(parseSpeech(json), sessionId)) },
    transcription: transcriptions('transcribe', adapters),
    translation: transcriptions('translate', adapters),
  }
}

function transcriptions(task: TranscriptionRequest['task'], adapters: AdapterTable): RequestReader {
  const kind = transcriptionKind(task, adapters)
  return {
    body: 'json-or-multipart',
    read: ({ json, form, sessionId }) =>
      unitOperation(
        withSession(form === null ? parseTranscription(json, task) : parseTranscriptionForm(form, task), sessionId),
        kind,
      ),
  }
}
