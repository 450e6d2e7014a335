import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseDailyRates } from '../src/catalog/feed-rates.ts'
import { ApiError } from '../src/base/errors.ts'
import { decodeBase64, imageTypeOf } from '../src/kinds/images/bytes.ts'
import { foldAnswer } from '../src/kinds/answer/fold.ts'
import { CandidateParts } from '../src/protocols/gemini/client/writer.ts'
import { MessagesWriter, ContentBlocks } from '../src/protocols/anthropic/client/writer.ts'
import { decodeDetails, encodeDetails } from '../src/kinds/answer/provenance.ts'
import { TextArgument } from '../src/protocols/responses/client/call-item.ts'
import { renderTranscript } from '../src/protocols/openai/client/transcript.ts'
import { parseTranscriptionForm } from '../src/protocols/openai/client/transcription.ts'
import { withoutTrailing } from '../src/base/text.ts'
import { countedReport } from '../src/pay/plan/usage-bounds.ts'
import { PartialArguments } from '../src/protocols/gemini/provider/candidate.ts'
import { sandboxSound } from '../src/protocols/sandbox/sound.ts'
import { failure } from '../src/protocols/ports/attempt-failure.ts'
import { eventFailure, jobFailure, upstreamFailure, withoutSecretsOf } from '../src/protocols/wire/upstream-error.ts'
import { wavFile } from './harness/audio-files.ts'
import { noStall, STALL_MS_MAX } from './harness/patience.ts'

/** A form with an audio file and one more field. */
function formWith(name: string, value: string): Parameters<typeof parseTranscriptionForm>[0] {
  const file = { field: 'file', fileName: 'a.wav', contentType: null, bytes: wavFile(0.1) }
  return {
    fields: [
      ['model', 'a/b'],
      [name, value],
    ],
    files: [file],
  }
}

const asked = await parseTranscriptionForm(formWith('response_format', 'srt'), 'transcribe')

function written(text: string): unknown {
  return renderTranscript(
    asked,
    { text, language: null, segments: [{ start: 0, end: 1, text, figures: {} }], words: [] },
    { seconds: 1, duration: 1, tokens: null, chargedMicro: 1n },
  )
}

/** The text may be refused or read: either way it must take no time. */
function refusedOrRead(work: () => unknown): void {
  const check = (thrown: unknown): void => {
    if (!(thrown instanceof ApiError)) throw thrown
  }
  try {
    const done = work()
    if (done instanceof Promise) done.catch(check)
  } catch (thrown) {
    check(thrown)
  }
}

const MEGABYTE = 1_048_576
const WORD = 'a1_-.'.repeat(200_000)

interface Attack {
  readonly what: string
  readonly work: () => unknown
}

/** The text is made before the clock starts. */
function attack<Text>(what: string, text: Text, read: (text: Text) => unknown): Attack {
  return { what, work: () => read(text) }
}

const OURS = { apiKeys: ['a.b-c@d-secret', 'key-'.repeat(20)], baseUrl: 'https://a.example/v1' }
const failed = (message: string): unknown => withoutSecretsOf(OURS, upstreamFailure(400, { error: { message } }, {}, 0))

const PIECES = 60_000
const CITATIONS = [
  { type: 'text', choice: 0, text: 'x' } as const,
  ...Array.from({ length: PIECES }, () => ({
    type: 'extra' as const,
    choice: 0,
    field: 'annotations' as const,
    value: [{ type: 'url_citation', url_citation: { url: 'https://x.example' } }],
  })),
]
const PROBABILITIES = Array.from({ length: PIECES }, () => ({
  type: 'text' as const,
  choice: 0,
  text: 'x',
  logprobs: { content: [{ token: 'x', logprob: 0 }], refusal: null },
}))
const IDENTITY = { id: 'gen-1', created: 1, model: 'a/b', provider: 'A', requestId: 'req-1' }
const USED = { report: countedReport(1, 1), chargedMicro: 1n }

/** Texts from outside that once took seconds to years, each with its reader. */
const ATTACKS: readonly Attack[] = [
  attack('calls of a message whose arguments never end', '{"a":'.repeat(5_000), (text) => {
    const blocks = new ContentBlocks(() => undefined, false)
    for (let index = 0; index < 200; index += 1) {
      blocks.add({ type: 'tool_call', choice: 0, index, id: 'c', name: 'f' })
      blocks.add({ type: 'tool_arguments', choice: 0, index, text })
    }
  }),
  attack('sources of an answer, one by one', CITATIONS, foldAnswer),
  attack('the same for a client of Messages', CITATIONS, (events) =>
    new MessagesWriter(IDENTITY, false, 1).whole(foldAnswer([]), USED, events),
  ),
  attack('the same for a client of Gemini', CITATIONS, (events) => {
    const parts = new CandidateParts(false)
    for (const event of events) parts.add(event)
  }),
  attack('probabilities of tokens, one by one', PROBABILITIES, foldAnswer),
  attack('the text of a custom tool in pieces of one escape', '\\\\'.repeat(100_000), (text) => {
    const argument = new TextArgument()
    argument.add('{"input":"')
    for (const letter of text) argument.add(letter)
    argument.end()
  }),
  attack(
    'details of a thought that are a bomb',
    encodeDetails([]) + Buffer.from(`[${'[],'.repeat(2_000_000)}[]]`).toString('base64'),
    (text) => decodeDetails(text.replace(/W10=/, '')),
  ),
  attack('a picture that begins with comments', Buffer.from('<!---->'.repeat(36)), imageTypeOf),
  attack('a picture that begins with comments which do not end', Buffer.from('<?xml><!---->'.repeat(36)), imageTypeOf),
  attack('base64 of nothing but padding', '='.repeat(MEGABYTE), decodeBase64),
  attack('a temperature of many digits', '1'.repeat(250_000), (text) =>
    refusedOrRead(() => parseTranscriptionForm(formWith('temperature', text), 'transcribe')),
  ),
  attack('a temperature of many blanks', `1${' '.repeat(250_000)}x`, (text) =>
    refusedOrRead(() => parseTranscriptionForm(formWith('temperature', text), 'transcribe')),
  ),
  attack('a transcript of blanks', `a${' '.repeat(MEGABYTE)}b`, written),
  attack('a transcript of blank lines', `a${' \n'.repeat(MEGABYTE / 2)}b`, written),
  attack('a path that does not close', [{ jsonPath: `$${"['".repeat(MEGABYTE)}`, stringValue: '' }], (pieces) =>
    new PartialArguments().add(pieces),
  ),
  attack('a path of many steps', [{ jsonPath: `$${'.a'.repeat(MEGABYTE)}`, stringValue: '' }], (pieces) =>
    new PartialArguments().add(pieces),
  ),
  attack(
    'many long paths',
    Array.from({ length: 500 }, () => ({ jsonPath: `$['${"'x".repeat(1_000)}']`, stringValue: '' })),
    (pieces) => new PartialArguments().add(pieces),
  ),
  attack('an error that repeats the prompt', 'a.b-c '.repeat(20_000), failed),
  attack('an error of one long word', WORD, failed),
  attack('an error of 30 MB', Buffer.alloc(30 * MEGABYTE, 'key-').toString(), failed),
  attack('an error of many blanks', `project${' '.repeat(MEGABYTE)}`, failed),
  attack('an error of many addresses', 'a'.repeat(MEGABYTE), failed),
  attack(
    'an error event with a million values',
    Array.from({ length: 1_000_000 }, () => ({ a: 'b' })),
    (raw) => withoutSecretsOf(OURS, eventFailure(raw)),
  ),
  attack('a job that failed with a long word', { code: 'moderation', message: WORD }, (raw) =>
    withoutSecretsOf(OURS, jobFailure(raw)),
  ),
  attack(
    "Gemini's count of tokens, again and again",
    { error: { message: 'input token count '.repeat(60_000) } },
    (body) => withoutSecretsOf(OURS, upstreamFailure(400, body, {}, 0)),
  ),
  attack('blanks to be spoken', `a${' '.repeat(100_000)}b`, (text) =>
    sandboxSound({ text, words: null, voice: 'v', speed: 1, format: 'mp3' }),
  ),
  attack(
    'rates of the day that do not close',
    `<ValCurs>${'<Valute><Value> '.repeat(60_000)}</ValCurs>`,
    parseDailyRates,
  ),
  attack(
    'rates of the day with blanks',
    `<ValCurs><Valute><Value>${' '.repeat(MEGABYTE)}</Valute></ValCurs>`,
    parseDailyRates,
  ),
  attack('an address of slashes', `${'/'.repeat(MEGABYTE)}x`, (text) => withoutTrailing(text, '/')),
]

for (const { what, work } of ATTACKS) {
  test(`at most ${STALL_MS_MAX} ms of CPU: ${what}`, () => {
    noStall(what, work)
  })
}

test('the message of an upstream refusal is shown without secrets, however long it is, and no part of a cut secret is shown', () => {
  const provider = { apiKeys: ['Zq81-own-word-of-ours'], baseUrl: 'https://upstream.example/v1' }
  const told = (message: string): string =>
    withoutSecretsOf(provider, upstreamFailure(400, { error: { message } }, {}, 0)).publicMessage ?? ''
  assert.equal(told('The key sk-abcdefgh1234 of a.b@c.example is wrong'), 'The key [redacted] of [redacted] is wrong')
  for (let length = 400; length <= 520; length += 1)
    assert.doesNotMatch(
      told(`${'x '.repeat(length / 2)}Zq81-own-word-of-ours ${'y '.repeat(200)}`),
      /Zq81|own-w/,
      String(length),
    )
  // Removed text makes room, so that later text comes into the shown part.
  for (let length = 1_980; length <= 2_020; length += 1)
    assert.doesNotMatch(
      told(`sk-${'a'.repeat(1_900)} ${'x'.repeat(length - 1_904)} Zq81-own-word-of-ours ${'y '.repeat(200)}`),
      /Zq81|own-w/,
      String(length),
    )
  assert.equal(told('слово '.repeat(200)).length, 500)
  assert.equal(told('字'.repeat(5_000)), '字'.repeat(500))
  assert.equal(upstreamFailure(400, { error: { message: 'Z'.repeat(3_000) } }, {}, 0).publicMessage, null)
})

test("an operator's key, whatever its characters, is removed whole from the client's message and from the log", () => {
  const keys = [
    'abc-key-xyz123',
    'own:AKIAABCDEFGHIJKLMNOP:eu-west-1',
    'mail.user@host.example-secret',
    'a-key-longer-than-the-next',
    'a-key-longer-than-the-next-one',
    'tail/https://x.example/y',
    'with+plus/and=sign',
    '192.168.17.254-own',
    'nine-123456789012-more',
    'слово-ключ-sk-0123456789',
  ]
  for (const key of keys) {
    for (const spelled of new Set([key, encodeURIComponent(key)])) {
      const found = upstreamFailure(400, { error: { message: `Not for <${spelled}>, try another` } }, {}, 0)
      const { publicMessage, said } = withoutSecretsOf({ apiKeys: keys, baseUrl: 'https://upstream.example/v1' }, found)
      assert.deepEqual(
        [publicMessage, said],
        Array.from({ length: 2 }, () => 'Not for <[redacted]>, try another'),
        spelled,
      )
      assert.equal(
        withoutSecretsOf({ apiKeys: keys, baseUrl: '' }, eventFailure({ message: `<${spelled}>` })).said,
        '<[redacted]>',
        spelled,
      )
      assert.equal(
        withoutSecretsOf({ apiKeys: keys, baseUrl: '' }, jobFailure({ code: 'moderation', message: `<${spelled}>` }))
          .publicMessage,
        '<[redacted]>',
        spelled,
      )
    }
  }
  // Our own words, such as an address that the client sent, are not the upstream's.
  const ours = 'messages[0]: https://a.example/b is no picture'
  assert.equal(
    withoutSecretsOf({ apiKeys: keys, baseUrl: '' }, { ...failure('unsendable', 400, ours), publicMessage: ours })
      .publicMessage,
    ours,
  )
})
