const FILES = 'Files are not kept here: put a file into the request itself, in base64'
const ASSISTANTS = 'There are no assistants and threads here: use /v1/responses or /v1/chat/completions, with tools'
const TRAINING = 'Models are not trained or graded here'

/** Parts of the vendors' APIs that clients try but we do not offer, by the first segment after the version. */
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
  ['conversations', 'Conversations are not kept here: continue an answer of /v1/responses by previous_response_id'],
  ['cachedContents', 'Nothing is cached by a name here: send the whole contents, repeated ones are cached as they are'],
  ['fine_tuning', TRAINING],
  ['evals', TRAINING],
])

/** Parts that are not offered below a path that we do offer, by a word of the path that no route of ours has. */
export const WORDS_NOT_OFFERED: ReadonlyMap<string, string> = new Map([
  [
    'responses/compact',
    'Conversations are not compacted here: ask /v1/responses for a summary, and begin another conversation with it',
  ],
  ['responses/input_tokens', 'Tokens are counted by /v1/messages/count_tokens, from a body of Anthropic’s Messages'],
])

const VERSIONS: ReadonlySet<string> = new Set(['v1', 'v1beta', 'v1alpha'])

/** The replacement for a part of the API that is not offered; null = another path. */
export function offeredInstead(path: string): string | null {
  const words = path.split('/', 4).slice(1)
  const [first = '', second = ''] = VERSIONS.has(words[0] ?? '') ? words.slice(1) : words
  // Anthropic's batches are below its path `messages`.
  const part = NOT_OFFERED.get(first === 'messages' ? second : first)
  return part ?? WORDS_NOT_OFFERED.get(`${first}/${second}`) ?? null
}
