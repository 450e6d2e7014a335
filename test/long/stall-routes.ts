import type { Route } from '../../src/http/edge.ts'
import { wavFile } from '../harness/audio-files.ts'

/** The parts of a route's hostile requests. */
export interface RouteRow {
  /** Members of its JSON that are read. */
  readonly fields: readonly string[]
}

const row = (...fields: readonly string[]): RouteRow => ({ fields })
const NOTHING = row()
const PROOF = row('password', 'code')
const KEY = row('name', 'limit', 'limit_reset', 'expires_at', 'allowed_models', 'disabled')
const PAID: Readonly<Record<string, RouteRow>> = {
  'chat/completions': row(
    'model',
    'models',
    'messages',
    'tools',
    'stop',
    'response_format',
    'provider',
    'user',
    'metadata',
    'logit_bias',
  ),
  responses: row('model', 'input', 'instructions', 'tools', 'text', 'include', 'metadata'),
  completions: row('model', 'prompt', 'stop', 'suffix', 'user'),
  embeddings: row('model', 'input', 'user'),
  rerank: row('model', 'query', 'documents'),
  moderations: row('model', 'input'),
  'images/generations': row('model', 'prompt', 'image', 'size'),
  images: row('model', 'prompt', 'image', 'size'),
  'images/edits': row('model', 'prompt', 'image', 'mask'),
  'images/variations': row('model', 'image', 'size'),
  'audio/speech': row('model', 'input', 'voice', 'instructions'),
  'audio/transcriptions': row('model', 'input_audio', 'language', 'prompt', 'timestamp_granularities'),
  'audio/translations': row('model', 'input_audio', 'prompt', 'response_format'),
  videos: row('model', 'prompt', 'frame_images', 'input_references', 'size'),
}

const CONTENTS = row('contents', 'systemInstruction', 'tools', 'toolConfig', 'generationConfig', 'safetySettings')
const GEMINI: Readonly<Record<string, RouteRow>> = {
  generateContent: CONTENTS,
  streamGenerateContent: CONTENTS,
  countTokens: row('contents', 'generateContentRequest', 'tools'),
  embedContent: row('content', 'taskType'),
  batchEmbedContents: row('requests'),
}
const MESSAGES = row('model', 'messages', 'system', 'tools', 'tool_choice', 'stop_sequences', 'metadata', 'thinking')

/**
 * The members of every body that a route of the server reads. A route without a row fails the table's test, and so does
 * a row without a route.
 */
export const ROUTE_ROWS: ReadonlyMap<string, RouteRow> = new Map(
  Object.entries({
    ...Object.fromEntries(
      Object.entries(PAID).flatMap(([path, fields]) => [
        [`POST /v1/${path}`, fields],
        [`POST /cabinet/v1/playground/${path}`, fields],
      ]),
    ),
    'POST /v1/messages': MESSAGES,
    ...Object.fromEntries(
      ['v1beta', 'v1', 'v1alpha'].flatMap((version) =>
        Object.entries(GEMINI).map(([word, fields]) => [`POST /${version}/models/*model:${word}`, fields]),
      ),
    ),
    'POST /v2/chat': row('model', 'messages', 'tools', 'stop_sequences', 'response_format', 'thinking', 'documents'),
    'POST /v2/embed': row('model', 'texts', 'inputs', 'embedding_types'),
    'POST /api/chat': row('model', 'messages', 'tools', 'format', 'options', 'think'),
    'POST /api/embed': row('model', 'input'),
    'POST /v2/rerank': row('model', 'query', 'documents'),
    'POST /v1/messages/count_tokens': MESSAGES,
    'POST /setup': row('token', 'email', 'password'),
    'POST /cabinet/v1/sign-up': row('email', 'password', 'name', 'language'),
    'POST /cabinet/v1/password-reset': row('email', 'language'),
    'POST /cabinet/v1/sign-up/link': row('email', 'language'),
    'POST /cabinet/v1/sign-in': row('email', 'password', 'code'),
    'POST /cabinet/v1/sign-in/code': row('ticket', 'code'),
    'POST /cabinet/v1/setup/check': row('token'),
    'POST /cabinet/v1/setup': row('token', 'email', 'password', 'code'),
    'POST /cabinet/v1/sign-out': NOTHING,
    'POST /cabinet/v1/identities/link': PROOF,
    'POST /cabinet/v1/identities/:id/unlink': PROOF,
    'PATCH /cabinet/v1/profile': row('name', 'default_model', 'timezone', 'language', 'theme'),
    'POST /cabinet/v1/password': row('current_password', 'code', 'new_password'),
    'POST /cabinet/v1/sessions/revoke-others': NOTHING,
    'POST /cabinet/v1/totp': PROOF,
    'POST /cabinet/v1/totp/confirm': row('code'),
    'POST /cabinet/v1/totp/recovery-codes': row('code'),
    'POST /cabinet/v1/totp/disable': row('code'),
    'POST /v1/keys': KEY,
    'PATCH /v1/keys/:hash': KEY,
    'POST /cabinet/v1/management-keys': row('name', 'expires_at'),
    'POST /cabinet/v1/keys': KEY,
    'PATCH /cabinet/v1/keys/:id': KEY,
    'POST /cabinet/v1/keys/:id/rotate': row('grace_seconds'),
    'PATCH /cabinet/v1/notices': row('low_balance'),
    'POST /cabinet/v1/notices/channels': row('type', 'target', 'kinds', 'language'),
    'PATCH /cabinet/v1/notices/channels/:id': row('kinds', 'language', 'enabled'),
    'POST /cabinet/v1/notices/channels/:id/code': NOTHING,
    'POST /cabinet/v1/notices/channels/:id/confirm': row('code'),
    'POST /cabinet/v1/notices/channels/:id/test': NOTHING,
    'POST /cabinet/v1/notices/deliveries/:id/replay': NOTHING,
    'PATCH /cabinet/v1/members/:id': row('role', 'monthly_limit', 'password', 'code'),
    'POST /cabinet/v1/members/:id/remove': row('disable_keys'),
    'POST /cabinet/v1/members/leave': NOTHING,
    'POST /cabinet/v1/invitations': row('role', 'email', 'monthly_limit', 'password', 'code'),
    'POST /cabinet/v1/invitations/check': row('token'),
    'POST /cabinet/v1/invitations/join': row('token', 'email', 'password', 'name', 'language'),
    'POST /cabinet/v1/account': row('account'),
    'POST /cabinet/v1/codes/redeem': row('code'),
    'POST /cabinet/v1/payments': row('method', 'amount'),
    'POST /cabinet/v1/payments/:id/check': NOTHING,
    'POST /admin/v1/accounts': row(
      'name',
      'email',
      'default_model',
      'rate_limit',
      'group',
      'markup',
      'limit',
      'limit_reset',
    ),
    'PATCH /admin/v1/accounts/:id': row(
      'external_id',
      'name',
      'status',
      'default_model',
      'rate_limit',
      'allowed_models',
      'exact_holds',
      'group',
      'markup',
      'limit',
      'limit_reset',
    ),
    'POST /admin/v1/account-groups': row('name', 'markup'),
    'PATCH /admin/v1/account-groups/:id': row('name', 'markup'),
    'PUT /admin/v1/account-groups/:id': row('name', 'markup'),
    'PUT /admin/v1/accounts/:id': row(
      'name',
      'email',
      'status',
      'default_model',
      'rate_limit',
      'allowed_models',
      'exact_holds',
      'group',
      'markup',
      'limit',
      'limit_reset',
    ),
    'PUT /admin/v1/accounts/:id/topups/:reference': row('amount', 'reason'),
    'PUT /admin/v1/keys/:id': row('account', ...KEY.fields),
    'PUT /admin/v1/notices/channels/:id': row('type', 'target', 'kinds', 'language', 'enabled'),
    'POST /admin/v1/accounts/:id/ledger': row('kind', 'amount', 'reason', 'reference'),
    'PATCH /admin/v1/accounts/:id/members/:member': row('role', 'monthly_limit', 'password', 'code'),
    'POST /admin/v1/accounts/:id/members/:member/remove': row('disable_keys'),
    'POST /admin/v1/accounts/:id/invitations': row('role', 'email', 'monthly_limit', 'password', 'code'),
    'POST /admin/v1/accounts/:id/notes': row('text'),
    'POST /admin/v1/accounts/:id/keys': KEY,
    'PATCH /admin/v1/accounts/:id/notices': row('low_balance'),
    'POST /admin/v1/accounts/:id/notices/channels': row('type', 'target', 'kinds', 'language'),
    'PATCH /admin/v1/accounts/:id/notices/channels/:channel': row('kinds', 'language', 'enabled'),
    'POST /admin/v1/accounts/:id/notices/channels/:channel/test': NOTHING,
    'PATCH /admin/v1/keys/:id': KEY,
    'POST /admin/v1/keys/:id/rotate': row('grace_seconds'),
    'PUT /admin/v1/catalog': row('providers', 'models', 'rates', 'timezone', 'maintenance'),
    'POST /admin/v1/catalog/update': NOTHING,
    'POST /admin/v1/providers/try': row('slug', 'provider'),
    'POST /admin/v1/providers': row('slug', 'provider', 'models'),
    'POST /admin/v1/coming-prices': row('from', 'markup', 'providers', 'models'),
    'POST /admin/v1/price-changes/fetch': NOTHING,
    'POST /admin/v1/price-changes/decide': row('ids', 'decision'),
    'POST /admin/v1/price-changes/:id/approve': NOTHING,
    'POST /admin/v1/price-changes/:id/reject': NOTHING,
    'PUT /admin/v1/providers/:slug': row('name', 'adapter', 'base_url', 'api_key', 'timeouts'),
    'PUT /admin/v1/models/*id': row('name', 'type', 'endpoints', 'description', 'tokenizer'),
    'PATCH /admin/v1/settings': row('maintenance', 'timezone', 'rates', 'markup', 'rate_limit'),
    'POST /admin/v1/administrators': row('email', 'role'),
    'POST /admin/v1/tokens': row('name', 'scopes', 'role', 'expires_at'),
    'PUT /admin/v1/tokens/:id': row('name', 'scopes', 'role', 'expires_at'),
    'PATCH /admin/v1/tokens/:id': row('scopes', 'expires_at'),
    'POST /admin/v1/reconciliations': row('provider', 'csv', 'tolerance_percent'),
    'POST /admin/v1/videos/:id/resolve': row('upstream_id'),
    'PATCH /admin/v1/users/:id': row('role', 'disabled'),
    'POST /admin/v1/users/:id/password-link': row('clear_totp'),
    'POST /admin/v1/notices/channels': row('type', 'target', 'kinds', 'language'),
    'PATCH /admin/v1/notices/channels/:id': row('kinds', 'language', 'enabled'),
    'POST /admin/v1/notices/channels/:id/test': NOTHING,
    'POST /admin/v1/notices/deliveries/:id/replay': NOTHING,
    'POST /admin/v1/codes': row('amount', 'count', 'uses_max', 'expires_at', 'note'),
    'PUT /admin/v1/codes/:id': row('amount', 'uses_max', 'expires_at', 'note'),
    'PATCH /admin/v1/codes/:id': row('disabled', 'note'),
  }),
)

/** Routes that are not tested, each with the reason. */
export const EXEMPT_ROUTES: ReadonlyMap<string, string> = new Map([
  ['POST /cabinet/v1/sign-out', 'it would end the session that the others are asked with; its body has no members'],
])

export function nameOf({ method, path }: Route<unknown>): string {
  return `${method} ${path}`
}

/** The most that each plane accepts, less the rest of the body. */
export const LARGE_CHARS = 10_485_000
export const SMALL_CHARS = 15_000

export function charsOf({ plane }: Route<unknown>): number {
  return plane === 'key' || plane === 'playground' || plane === 'admin' ? LARGE_CHARS : SMALL_CHARS
}

const repeated = (piece: string, chars: number): string => piece.repeat(Math.max(1, Math.floor(chars / piece.length)))

/**
 * Values of the members, of about so many characters of JSON; with `charsMax` for all of them together a body stays
 * within the limits of its kind.
 */
const MADE: readonly (readonly [what: string, charsMax: number, made: (chars: number) => string])[] = [
  ['a text', Infinity, (chars) => `"${repeated('a.', chars)}"`],
  ['blanks', Infinity, (chars) => `"x${repeated(' ', chars)}x"`],
  ['escapes', Infinity, (chars) => `"${repeated('\\"', chars)}"`],
  ['a list of texts', 2_500_000, (chars) => `[${repeated('"a",', chars)}"b"]`],
  ['a list of objects', 230_000, (chars) => `[${repeated('{"a":1},', chars)}{}]`],
  [
    'an object of many members',
    440_000,
    (chars) => `{${Array.from({ length: Math.floor(chars / 16) }, (_value, index) => `"key-${index}":{}`).join(',')}}`,
  ],
]

export const FILLINGS = MADE.length

/** Hostile JSON for a route: each filling, in all of its members together. */
export function hostileBodies(
  chars: number,
  { fields } = NOTHING,
): readonly (() => readonly [what: string, body: Buffer])[] {
  const names = fields.length === 0 ? ['nobody-reads-this'] : fields
  return MADE.map(([what, charsMax, made]) => () => {
    const each = Math.floor(Math.min(chars, charsMax) / names.length) - 60
    return [what, Buffer.from(`{${names.map((name) => `"${name}":${made(each)}`).join(',')}}`)]
  })
}

/** Hostile forms, with the content type of each. */
export function hostileForms(): readonly (readonly [what: string, type: string, body: Buffer])[] {
  const part = (head: string, content: string): string =>
    `--b\r\nContent-Disposition: form-data; ${head}\r\n\r\n${content}\r\n`
  const wav = wavFile(0.1).toString('latin1')
  const whole = (parts: string): Buffer => Buffer.from(`${parts}--b--\r\n`, 'latin1')
  const simple = 'multipart/form-data; boundary=b'
  const long = 'b'.repeat(70)
  return [
    ['many parts', simple, whole(part('name="model"', 'x').repeat(100_000))],
    [
      'many fields of one name',
      simple,
      whole(
        part('name="model"', 'sandbox/transcription') +
          part('name="timestamp_granularities[]"', 'word').repeat(17) +
          part('name="file"; filename="a.wav"', wav),
      ),
    ],
    [
      'a long field',
      simple,
      whole(
        part('name="model"', 'sandbox/transcription') +
          part('name="prompt"', 'слово '.repeat(40_000)) +
          part('name="file"; filename="a.wav"', wav),
      ),
    ],
    [
      'a field of digits',
      simple,
      whole(
        part('name="model"', 'sandbox/transcription') +
          part('name="temperature"', '1'.repeat(250_000)) +
          part('name="file"; filename="a.wav"', wav),
      ),
    ],
    [
      'what looks like a boundary',
      simple,
      whole(
        part('name="model"', 'sandbox/transcription') +
          part('name="file"; filename="a.wav"', '\r\n--'.repeat(2_600_000)),
      ),
    ],
    [
      'long boundaries that are none',
      `multipart/form-data; boundary=${long}`,
      Buffer.from(
        `--${long}\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\n${`\r\n--${long.slice(0, -1)}c`.repeat(140_000)}\r\n--${long}--\r\n`,
      ),
    ],
    ['boundaries that go on', simple, whole(part('name="file"; filename="a.wav"', '\r\n--bb'.repeat(1_700_000)))],
    ['a long head', simple, whole(part(`name="${'\\"'.repeat(5_000_000)}"`, 'x'))],
    ['heads of half-open quotes', simple, whole(part(`name="a"${';x="'.repeat(2_000)}`, 'x').repeat(19))],
    [
      'a type of half-open quotes',
      `multipart/form-data; ${'a="'.repeat(4_000)}; boundary=b`,
      whole(part('name="model"', 'x')),
    ],
    ['no end', simple, Buffer.from(part('name="file"; filename="a.wav"', 'x'.repeat(10_000_000)))],
    [
      'a large file',
      simple,
      whole(
        part('name="model"', 'sandbox/transcription') +
          part('name="file"; filename="a.wav"', wavFile(312).toString('latin1')),
      ),
    ],
  ]
}
