import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../src/base/errors.ts'
import { parseChat } from '../../src/protocols/openai/client/chat/call.ts'
import type { ChatRequest } from '../../src/kinds/chat/request.ts'
import { mediumOf, type Medium } from '../../src/kinds/fields/media.ts'
import { nativeBody as geminiBody } from '../../src/protocols/gemini/client/calls.ts'
import { parseGenerateContent, type GenerateContentTarget } from '../../src/protocols/gemini/client/parse.ts'
import { nativeBody as messagesBody } from '../../src/protocols/anthropic/client/calls.ts'
import { parseMessages } from '../../src/protocols/anthropic/client/parse.ts'
import { parseOllamaChat } from '../../src/protocols/ollama/client/calls.ts'
import { parseResponses } from '../../src/protocols/responses/client/parse.ts'
import { parseImageEdit, parseImageVariation } from '../../src/protocols/openai/client/images.ts'
import { parseImages } from '../../src/protocols/openai/client/images.ts'
import { parseModeration } from '../../src/protocols/openai/client/moderations.ts'
import { parseVideo } from '../../src/protocols/videos/client.ts'
import { isObject } from '../../src/kinds/fields/body-fields.ts'
import { mediaBound } from '../../src/pay/plan/media-tokens.ts'
import { sdkPrompt } from '../../src/protocols/ai-sdk/call-options.ts'
import { anthropicProtocol } from '../../src/protocols/anthropic/provider/anthropic.ts'
import { bedrockProtocol } from '../../src/protocols/bedrock/bedrock.ts'
import { cohereProtocol } from '../../src/protocols/cohere/provider/cohere.ts'
import { geminiProtocol } from '../../src/protocols/gemini/provider/gemini.ts'
import { ollamaProtocol } from '../../src/protocols/ollama/provider/ollama.ts'
import { openaiBody } from '../../src/protocols/openai/provider/openai.ts'
import { responsesRequest } from '../../src/protocols/responses/provider/responses.ts'
import { type ChatCall, UnsendableError } from '../../src/protocols/ports/call.ts'
import { endpoint } from '../harness/plan-fixture.ts'
import { callOf } from '../harness/protocol-read.ts'

const latin = (text: string): Buffer => Buffer.from(text.padEnd(600, '\0'), 'latin1')
/** Files by their first bytes, with what they are; null = nothing tells. */
const FILES: Readonly<Record<string, readonly [bytes: Buffer, medium: Medium | null]>> = {
  png: [latin('\x89PNG\r\n\x1a\n'), 'image'],
  jpeg: [latin('\xff\xd8\xff\xe0'), 'image'],
  gif: [latin('GIF89a'), 'image'],
  webp: [latin('RIFF\0\0\0\0WEBP'), 'image'],
  heic: [latin('\0\0\0\x18ftypheic'), 'image'],
  tiff: [latin('II*\0'), 'image'],
  svg: [Buffer.from('<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>'), 'image'],
  pdf: [latin('%PDF-1.7'), 'file'],
  latePdf: [latin(`${'\n'.repeat(500)}%PDF-1.7`), 'file'],
  zip: [latin('PK\x03\x04'), 'file'],
  doc: [latin('\xd0\xcf\x11\xe0'), 'file'],
  mp4: [latin('\0\0\0\x20ftypisom'), 'video'],
  mov: [latin('\0\0\0\x08wide'), 'video'],
  webm: [latin('\x1aE\xdf\xa3'), 'video'],
  avi: [latin('RIFF\0\0\0\0AVI '), 'video'],
  mpeg: [latin('\0\0\x01\xba'), 'video'],
  wmv: [latin('0&\xb2u\x8ef\xcf\x11'), 'video'],
  flv: [latin('FLV\x01'), 'video'],
  mp3: [latin('ID3\x04'), 'audio'],
  wav: [latin('RIFF\0\0\0\0WAVE'), 'audio'],
  flac: [latin('fLaC\0'), 'audio'],
  text: [Buffer.from('BM, PK and ID3 are how a text may begin, and "%PDF" stands in it'), null],
}
const DECLARED = [
  'image/png',
  'IMAGE/JPG;name=a',
  'image/heic',
  'image/svg+xml',
  'application/pdf',
  'Application/PDF',
  'application/zip',
  'video/mp4',
  'audio/wav',
  'text/plain',
  'application/octet-stream',
  '',
]
/** Addresses, with what leaves us for each; null = what the part says. */
const ADDRESSES: readonly (readonly [url: string, medium: Medium | null])[] = [
  ['https://a.test/i.png', 'image'],
  ['https://a.test/i.JPEG?x=.mp4#y.pdf', 'image'],
  ['https://a.test/img?id=3', null],
  ['https://a.test/v1.2/3f9c', null],
  ['https://a.test/photo.php', null],
  ['https://a.test/a.pdf#x.png', 'file'],
  ['HTTPS://A.TEST/A.PDF?X-Amz-Signature=1', 'file'],
  ['https://a.test/a.p%64f', 'file'],
  ['https://a.test/a.p\tdf', 'file'],
  ['https://a.test/a.pdf;v=1/', 'file'],
  ['https://a.test/a.docx', 'file'],
  ['https://a.test/a.txt', 'file'],
  ['https://a.test/a.mp4?x=.png', 'video'],
  ['gs://bucket/a.MOV', 'video'],
  ['https://www.youtube.com/watch?v=1', 'video'],
  ['https://youtu.be/1.png', 'video'],
  ['https://M.YouTube.com./shorts/1', 'video'],
  ['https://a.test/a.mp3', 'audio'],
  ['gs://bucket/a.heic', 'image'],
]
/** Parts by which a client says what it sends. */
const SAID = ['image', 'file', 'video'] as const
type Said = (typeof SAID)[number]

interface Given {
  readonly url: string
  /** Of a data URL. */
  readonly declared: string
  readonly base64: string | null
}

interface Read {
  readonly request: ChatRequest
  /** Bodies that go to a provider of the door's own protocol. */
  readonly native: readonly (() => unknown)[]
}

const CALL: GenerateContentTarget = { model: 'a/b', stream: false, framing: 'sse' }
const user = (part: unknown): Record<string, unknown> => ({ role: 'user', content: [part] })
const CHAT_PARTS: Readonly<Record<Said, (url: string) => unknown>> = {
  image: (url) => ({ type: 'image_url', image_url: { url } }),
  file: (url) => ({ type: 'file', file: { file_data: url } }),
  video: (url) => ({ type: 'video_url', video_url: { url } }),
}
const RESPONSE_PARTS: Readonly<Record<Said, (url: string) => unknown>> = {
  image: (url) => ({ type: 'input_image', image_url: url }),
  file: (url) =>
    url.startsWith('data:') ? { type: 'input_file', file_data: url } : { type: 'input_file', file_url: url },
  video: (url) => ({ type: 'input_video', video_url: url }),
}

function responses(item: unknown): Read {
  const read = parseResponses({ input: [item] })
  return { request: read.chat, native: [() => responsesRequest({ ...callOf(), request: read }).body] }
}

function messages(block: unknown): Read {
  const body = { max_tokens: 5, messages: [user(block)] }
  const read = parseMessages(body, { headers: {}, bytes: Buffer.byteLength(JSON.stringify(body)) })
  const terms = { model: 'm', maxTokens: 5, cacheMarks: 'all', echoesThoughts: false, signer: null } as const
  return { request: read.chat, native: read.isMistyped ? [] : [() => messagesBody(read, terms)] }
}

function claudeBlock(said: Said, { url, declared, base64 }: Given): unknown {
  const source =
    base64 === null ? { type: 'url', url } : { type: 'base64', media_type: declared || 'image/png', data: base64 }
  return { type: said === 'image' ? 'image' : 'document', source }
}

function geminiPart({ url, declared, base64 }: Given): Record<string, unknown> {
  return base64 === null
    ? { fileData: { fileUri: url, mimeType: 'image/jpeg' } }
    : { inlineData: { mimeType: declared.split(';')[0] || 'image/png', data: base64 } }
}

function gemini(part: unknown): Read {
  const read = parseGenerateContent({ contents: [{ parts: [part] }] }, CALL)
  const terms = { maxTokens: 5, searches: false, modalities: null, signer: 'up' }
  return { request: read.chat, native: read.isMistyped ? [] : [() => geminiBody(read, terms)] }
}

const DOORS: Readonly<Record<string, (said: Said, given: Given) => Read>> = {
  chat: (said, { url }) => ({ request: parseChat({ messages: [user(CHAT_PARTS[said](url))] }), native: [] }),
  'chat, a tool': (said, { url }) => ({
    request: parseChat({ messages: [{ role: 'tool', tool_call_id: 'c', content: [CHAT_PARTS[said](url)] }] }),
    native: [],
  }),
  ollama: (_said, { url }) => ({
    request: parseOllamaChat({ messages: [{ role: 'user', content: 'x', images: [url] }] }).chat,
    native: [],
  }),
  responses: (said, { url }) => responses({ role: 'user', content: [RESPONSE_PARTS[said](url)] }),
  'responses, a function': (said, { url }) =>
    responses({ type: 'function_call_output', call_id: 'c', output: [RESPONSE_PARTS[said](url)] }),
  'responses, a tool': (said, { url }) =>
    responses({ type: 'custom_tool_call_output', call_id: 'c', output: [RESPONSE_PARTS[said](url)] }),
  messages: (said, given) => messages(claudeBlock(said, given)),
  'messages, a tool': (said, given) =>
    messages({ type: 'tool_result', tool_use_id: 't', content: [claudeBlock(said, given)] }),
  gemini: (_said, given) => gemini(geminiPart(given)),
  'gemini, a function': (_said, given) =>
    gemini({ functionResponse: { id: 'c', name: 'f', response: { a: 1 }, parts: [geminiPart(given)] } }),
}

const ADAPTERS: Readonly<Record<string, (call: ChatCall) => unknown>> = {
  openai: openaiBody,
  anthropic: (call) => anthropicProtocol.request(call).body,
  bedrock: (call) => bedrockProtocol(() => 0).request(call).body,
  gemini: (call) => geminiProtocol.request(call).body,
  cohere: (call) => cohereProtocol.request(call).body,
  ollama: (call) => ollamaProtocol.request(call).body,
  'ai-sdk': ({ request }) => sdkPrompt(request.messages, { urls: { '*/*': [/./] }, reasoning: false }),
}

const NAMED: ReadonlyMap<unknown, Medium> = new Map<unknown, Medium>([
  ['image_url', 'image'],
  ['input_image', 'image'],
  ['image', 'image'],
  ['video_url', 'video'],
  ['input_video', 'video'],
  ['input_audio', 'audio'],
  ['audio_url', 'audio'],
  ['file', 'file'],
  ['input_file', 'file'],
  ['document', 'file'],
])

/** The media of a body that leaves us: by the words of each protocol, and by every media type that stands in it. */
function* sentIn(value: unknown): Generator<Medium> {
  if (Array.isArray(value)) for (const item of value) yield* sentIn(item)
  if (!isObject(value)) return
  const named = NAMED.get(value['type'])
  if (named !== undefined && value['mediaType'] === undefined) yield named
  for (const [name, inner] of Object.entries(value)) {
    if (/^(?:mimeType|mediaType|media_type)$/.test(name)) yield mediumOf(String(inner).toLowerCase())
    else if (typeof inner === 'string') {
      const type = /^data:([^;,]+)/i.exec(inner)?.[1]
      if (type !== undefined) yield mediumOf(type.toLowerCase())
    } else if (name === 'images') yield 'image'
    else if (isObject(inner) && 'format' in inner && name in { image: 1, video: 1, document: 1 })
      yield NAMED.get(name) ?? 'video'
    yield* sentIn(inner)
  }
}

const FIGURES = { image: 2_000, audio: 30_000, video: 400_000, file: 5_000_000 }

/** The one medium that a request is held for; null = it is text. */
function heldAs({ messages, inputModalities }: ChatRequest): Medium {
  const [medium, ...others] = inputModalities
  assert.ok(medium !== undefined && others.length === 0)
  const { tokens, unmeasured } = mediaBound(messages, endpoint('e', { mediaTokens: FIGURES }))
  assert.equal(unmeasured.size, 0)
  // A text has no more tokens than bytes.
  if (medium !== 'file' || tokens >= 2_000) assert.equal(tokens, FIGURES[medium])
  return medium
}

/** How a file is held for at a door, once it was seen that it leaves as just that; null = it is refused. */
function heldAndSent(door: string, said: Said, given: Given): Medium | null {
  const what = `${door}, as ${said}: ${given.url.slice(0, 60)} (${given.base64?.slice(0, 12) ?? ''})`
  let read: Read
  try {
    read = DOORS[door]?.(said, given) ?? assert.fail()
  } catch (thrown) {
    assert.ok(thrown instanceof ApiError, what)
    return null
  }
  const held = heldAs(read.request)
  const call = callOf({}, { sendMaxTokens: 5, model: 'us.amazon.nova-pro-v1:0' })
  const bodies = Object.values(ADAPTERS).map((body) => () => body({ ...call, request: read.request }))
  for (const body of [...bodies, ...read.native]) {
    try {
      assert.deepEqual([...new Set(sentIn(body()))], [held], what)
    } catch (thrown) {
      if (!(thrown instanceof UnsendableError)) throw thrown
    }
  }
  return held
}

test('a file with bytes leaves every adapter, from every door, as what it is held for, whatever its part and type say', () => {
  for (const door of Object.keys(DOORS))
    for (const said of SAID)
      for (const declared of DECLARED)
        for (const [bytes, medium] of Object.values(FILES)) {
          const base64 = bytes.toString('base64')
          const held = heldAndSent(door, said, { url: `data:${declared};base64,${base64}`, declared, base64 })
          if (said !== 'image' || held === null) continue
          const type = mediumOf(declared.toLowerCase())
          // A type that says nothing leaves it to the part, which Gemini's protocol does not have.
          const isPart = !door.startsWith('gemini') && declared === 'application/octet-stream'
          const isPicture = type === 'image' || declared === '' || isPart
          const name = `${door}: ${declared} ${base64.slice(0, 12)}`
          if (isPicture) assert.equal(held, medium ?? 'image', name)
          else if (declared !== 'application/octet-stream') assert.notEqual(held, 'image', name)
        }
})

test('an address leaves every adapter, from every door, as what its extension says, else as its part does', () => {
  for (const door of Object.keys(DOORS))
    for (const said of SAID)
      for (const [url, medium] of ADDRESSES) {
        if (door === 'ollama') continue
        const held = heldAndSent(door, said, { url, declared: '', base64: null })
        const part = door.startsWith('gemini')
          ? 'image'
          : door.startsWith('messages') && said === 'video'
            ? 'file'
            : said
        if (held !== null) assert.equal(held, medium ?? part, `${door}, as ${said}: ${url}`)
      }
})

test('whatever else stands in a native body, its files are held for or refused', () => {
  const film = { fileData: { fileUri: 'https://youtu.be/1', mimeType: 'video/mp4' } }
  for (const part of [
    { text: 'x', ...film },
    { thought: true, ...film },
    { functionCall: { name: 'f' }, ...film },
  ])
    for (const role of ['user', 'model']) {
      const { chat } = parseGenerateContent({ contents: [{ role, parts: [part] }] }, CALL)
      assert.deepEqual([...chat.inputModalities], ['video'], JSON.stringify({ role, part }))
    }
  const ask = { role: 'user', parts: [{ text: 'x' }] }
  for (const [role, part] of [
    ['model', { functionResponse: { name: 'f', response: {}, parts: [film] } }],
    ['model', { thought: true, function_response: { name: 'f', parts: [film] } }],
    ['model', { functionCall: { name: 'f', args: {}, parts: [film] } }],
    ['user', { functionCall: { name: 'f', args: {}, parts: [film] } }],
    ['user', { text: 'x', toolResponse: { parts: [{ of: [film] }] } }],
    [
      'user',
      { functionResponse: { id: 'c', name: 'f', response: {}, parts: [{ functionResponse: { parts: [film] } }] } },
    ],
  ] as const) {
    const { chat } = parseGenerateContent({ contents: [ask, { role, parts: [part] }] }, CALL)
    assert.deepEqual([...chat.inputModalities], ['video'], JSON.stringify({ role, part }))
  }
  // Text that only a provider of the protocol reads, and functions that only it is told of, are held for by their bytes.
  const long = 'x'.repeat(100_000)
  const small = { name: 'f' }
  for (const body of [
    { contents: [ask, { role: 'model', parts: [{ functionResponse: { name: 'f', response: { long } } }] }] },
    { contents: [{ role: 'user', parts: [{ functionCall: { name: 'f', args: { long } } }] }] },
    { contents: [{ role: 'user', parts: [{ text: 'x', toolResponse: { response: { long } } }] }] },
    {
      contents: [ask],
      tools: [{ functionDeclarations: [small, { name: 'g', description: long }] }],
      toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f', 'f'] } },
    },
    { contents: [ask], tools: [{ functionDeclarations: [{ ...small, response: { description: long } }] }] },
  ])
    assert.ok(parseGenerateContent(body, CALL).chat.textBytes >= 100_000, JSON.stringify(body).slice(0, 120))
  const functionOf = (name: string, description = ''): unknown => ({
    type: 'function',
    name,
    description,
    parameters: {},
  })
  const allowed = { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'f' }] }
  const search = { type: 'tool_search_output', call_id: 'c', tools: [functionOf('g', ''), functionOf('g', long)] }
  for (const body of [
    { input: 'x', tools: [functionOf('f'), functionOf('g', long)], tool_choice: allowed },
    { input: [search], tools: [functionOf('f')], tool_choice: allowed },
    { input: [search] },
    { input: [{ type: 'mcp_call', output: long }] },
  ]) {
    const { textBytes, unreadBytes = 0 } = parseResponses(body).chat
    assert.ok(textBytes >= 100_000 && unreadBytes >= 100_000, JSON.stringify(body).slice(0, 120))
  }
  const args = { fileData: { fileUri: 'https://youtu.be/1' } }
  const own = { role: 'model', parts: [{ functionCall: { name: 'f', args } }] }
  assert.equal(parseGenerateContent({ contents: [ask, own] }, CALL).chat.inputModalities.size, 0, 'own JSON')
  assert.throws(
    () => parseGenerateContent({ systemInstruction: { parts: [film] }, contents: [] }, CALL),
    /must be text/,
  )
  const untyped = (fileUri: string): unknown => ({ contents: [{ parts: [{ fileData: { fileUri } }] }] })
  assert.equal(parseGenerateContent(untyped('https://youtu.be/1'), CALL).isMistyped, false)
  assert.equal(
    parseGenerateContent(untyped('https://a.test/a.png'), CALL).isMistyped,
    true,
    'Google would fetch and look',
  )
  const said = (content: unknown): unknown => ({
    max_tokens: 5,
    messages: [user({ type: 'text', text: 'x' }), { role: 'assistant', content: [content] }],
  })
  const hosted = (source: unknown): unknown =>
    parseMessages(said({ type: 'web_fetch_tool_result', content: { content: { type: 'document', source } } }), {
      headers: {},
      bytes: 0,
    }).serverTools
  assert.deepEqual(hosted({ type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' }), {
    callsMax: 0,
    searchesMax: 0,
    types: [],
  })
  assert.equal(hosted({ type: 'text', media_type: 'text/plain', data: 'x' }), null)
  const mixed = {
    type: 'computer_call_output',
    call_id: 'c',
    output: { type: 'computer_screenshot', image_url: 'https://a.test/a.mp4' },
  }
  assert.throws(() => parseResponses({ input: [mixed] }), /must be what 'computer_screenshot' says/)
})

test('an ordinary picture leaves as it came; a data URL cannot hide behind blanks or other alphabets', () => {
  const read = (url: string): unknown => parseChat({ messages: [user(CHAT_PARTS.image(url))] }).messages[0]?.content
  const png = FILES['png']?.[0].toString('base64') ?? ''
  for (const url of [
    `data:image/png;base64,${png}`,
    'https://a.test/img?id=3',
    'https://a.test/my picture.png?X-Amz-Signature=a%2Fb',
    'oss://bucket/picture',
    'file:///srv/picture.png',
    'data:image/svg+xml,<svg/>',
    png,
  ])
    assert.deepEqual(read(url), [CHAT_PARTS.image(url)])
  const pdf = FILES['pdf']?.[0].toString('base64') ?? ''
  const file = [{ type: 'file', file: { file_data: `data:application/pdf;base64,${pdf}` } }]
  for (const url of [
    pdf,
    pdf.replaceAll(/.{64}/g, '$&\n'),
    ` DATA:image/png;Base64,${pdf}`,
    `data:image/png;a="b";base64,\r\n${pdf}`,
    `data:image/png;base64,${pdf.replaceAll(/.{4}/g, '$&\r\n')}`,
  ])
    assert.equal(Object(read(url))[0].type, 'file', url.slice(0, 40))
  assert.deepEqual(read(`data:;base64,${pdf}`), file)
  assert.deepEqual(read('data:application/pdf,%25PDF-'), [
    { type: 'file', file: { file_data: 'data:application/pdf,%25PDF-' } },
  ])
  for (const url of [
    `da\tta:application/pdf;base64,${pdf}`,
    `\u0001data:application/pdf;base64,${pdf}`,
    'data:image/png',
    `data:image/png;base64,=${pdf}`,
    `data:image/png;base64,!${pdf}`,
    `data:image/png;base64,${' '.repeat(5_000)}${pdf}`,
  ])
    assert.throws(() => read(url), ApiError, url.slice(0, 30))
})

test('where only a picture can stand, nothing else is taken', () => {
  const doors: readonly ((url: string) => unknown)[] = [
    (image) => parseImages({ model: 'm', prompt: 'x', image }),
    (image) => parseImageEdit({ json: { model: 'm', prompt: 'x', image: 'https://a.test/a.png', mask: image } }),
    (image) => parseImageVariation({ json: { model: 'm', image } }),
    (url) => parseVideo({ model: 'm', prompt: 'x', input_reference: url }),
    (url) => parseVideo({ model: 'm', prompt: 'x', frame_images: [{ image_url: { url } }] }),
    (url) => parseModeration({ input: [{ type: 'image_url', image_url: { url } }] }),
  ]
  for (const [index, door] of doors.entries()) {
    for (const [bytes, medium] of Object.values(FILES)) {
      const url = `data:image/png;base64,${bytes.toString('base64')}`
      if (medium === 'image' || medium === null) door(url)
      else assert.throws(() => door(url), /is not of an image/, `${index}: ${bytes.toString('latin1', 0, 12)}`)
    }
    for (const [url, medium] of ADDRESSES) {
      if (!/^https?:/i.test(url)) continue
      if (medium === 'image' || medium === null) door(url)
      else assert.throws(() => door(url), /is not of an image/, `${index}: ${url}`)
    }
  }
})
