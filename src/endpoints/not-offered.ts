const FILES = 'Files are not kept here: put a file into the request itself, in base64'
const ASSISTANTS = 'There are no assistants and threads here: use /v1/responses or /v1/chat/completions, with tools'
const TRAINING = 'Models are not trained or graded here'

/** Parts of OpenAI's API that clients try but we do not offer, by the first segment after `/v1/`. */
export const NOT_OFFERED: ReadonlyMap<string, string> = new Map([
  ['files', FILES],
  ['uploads', FILES],
  ['containers', FILES],
  ['batches', 'There are no batches here: send the requests to their own routes, several at a time'],
  ['assistants', ASSISTANTS],
  ['threads', ASSISTANTS],
  ['vector_stores', 'There are no vector stores here: use /v1/embeddings and /v1/rerank'],
  [
    'realtime',
    'There are no realtime sessions here: use /v1/audio/transcriptions, /v1/chat/completions with stream and /v1/audio/speech',
  ],
  ['fine_tuning', TRAINING],
  ['evals', TRAINING],
])

/** The replacement for a part of the API that is not offered; null = another path. */
export function offeredInstead(path: string): string | null {
  const [first = '', second = ''] = path.split('/', 3).slice(1)
  return NOT_OFFERED.get(first === 'v1' ? second : first) ?? null
}
