const FILES = 'Files are not kept here: put a file into the request itself, in base64'
const ASSISTANTS = 'There are no assistants and threads here: use /v1/responses or /v1/chat/completions, with tools'
const TRAINING = 'Models are not trained or graded here'

/** Parts of OpenAI's API that its clients try and that are not here, by the first segment behind `/v1/`. */
const NOT_OFFERED: ReadonlyMap<string, string> = new Map([
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

/** What to use instead of a part of the API that is not offered; null = the path is of none. */
export function offeredInstead(path: string): string | null {
  const [first = '', second = ''] = path.split('/', 3).slice(1)
  return NOT_OFFERED.get(first === 'v1' ? second : first) ?? null
}
