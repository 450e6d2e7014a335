import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { jsonParts } from '../../base/json-text.ts'
import { GEMINI_LOGPROBS, logprobsOf as geminiLogprobsOf } from '../gemini/provider/logprobs.ts'
import { liftLogprobs, logprobsOf, type LogprobsAnswer } from './lifted-logprobs.ts'

const token = fc.record({
  token: fc.string({ unit: 'binary' }),
  logprob: fc.double({ noNaN: true, noDefaultInfinity: true }),
  bytes: fc.array(fc.nat(255), { maxLength: 4 }),
})
const logprobs = fc.oneof(
  fc.record({ content: fc.array(token, { maxLength: 5 }), refusal: fc.constant(null) }),
  fc.record({
    tokens: fc.array(fc.string()),
    token_logprobs: fc.array(fc.double({ noNaN: true })),
    top_logprobs: fc.array(fc.dictionary(fc.string(), fc.double({ noNaN: true })), { maxLength: 3 }),
  }),
  fc.constant(null),
)

/** The client's text, with the lifted parts back in their places. */
function told({ json, logprobs: lifted }: LogprobsAnswer): unknown {
  // The tests below make objects of this form.
  const { choices, ...rest } = json as { readonly choices: readonly { readonly logprobs?: unknown }[] }
  const written = {
    ...rest,
    choices: choices.map((choice) => ({ ...choice, logprobs: logprobsOf(choice.logprobs, lifted) })),
  }
  return JSON.parse(Buffer.concat(jsonParts(written, lifted)).toString())
}

test('an answer is what JSON.parse makes of it, though the probabilities in it are passed on as they came', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(logprobs, { maxLength: 4 }),
      fc.string({ unit: 'binary' }),
      fc.constantFrom(0, 2),
      async (lists, text, space) => {
        const body = {
          id: text,
          note: '"logprobs":{',
          'logprobs\\': '\\"logprobs":{"',
          choices: lists.map((list, index) => ({ index, message: { content: `${text}logprobs` }, logprobs: list })),
        }
        const bytes = Buffer.from(JSON.stringify(body, null, space))
        const lifted = await liftLogprobs(bytes)
        assert.equal(lifted.logprobs.length, lists.filter((list) => list !== null).length)
        assert.deepEqual(told(lifted), JSON.parse(JSON.stringify(body)))
      },
    ),
    { numRuns: 200 },
  )
})

/** A text large enough to be checked in several pieces. */
function large(entry: string, entries = 12_000): string {
  return `{"content":[${Array.from({ length: entries }, () => entry).join(',')}],"refusal":[${entry},${entry}]}`
}

const ENTRY = '{"token":"слово \\"в\\" [,]{}","logprob":-1.5e-3,"bytes":[1,2],"top_logprobs":[{"token":"x"},{}]}'
const around = (value: string): Buffer =>
  Buffer.from(`{"choices":[{"index":0,"logprobs":${value},"message":{"content":"x"}}]}`)

test('in pieces it is the same', async () => {
  const bytes = around(large(ENTRY))
  assert.ok(bytes.length > 4 * 262_144)
  const lifted = await liftLogprobs(bytes)
  assert.equal(lifted.logprobs.length, 1)
  assert.deepEqual(told(lifted), JSON.parse(bytes.toString()))
})

test('a body that is not JSON is no answer, wherever it is broken: no unparsable bytes are passed on', async () => {
  const small = around(large(ENTRY, 2))
  for (let end = 0; end < small.length; end += 1)
    assert.equal((await liftLogprobs(small.subarray(0, end))).json, undefined, String(end))
  const whole = large(ENTRY)
  for (const place of [1, 300_000, 600_000, whole.length - 3]) {
    const cut = whole.indexOf('},{"token"', place) + 1 || whole.lastIndexOf(',')
    for (const wrong of [',', '}', ']', '{', '[', '"', 'x', '01', '\n"', ':', ',,'])
      assert.equal(
        (await liftLogprobs(around(whole.slice(0, cut) + wrong + whole.slice(cut)))).json,
        undefined,
        `${wrong} at ${cut}`,
      )
  }
  const broken = around(whole)
  broken[broken.length - 100] = 0xff
  assert.equal((await liftLogprobs(broken)).json, undefined, 'no UTF-8')
  for (const odd of [`{"x":${'['.repeat(100)}${']'.repeat(100)}}`, `{"x":"${'y'.repeat(1_100_000)}","z":1}`])
    assert.equal((await liftLogprobs(around(odd))).json, undefined)
})

test('the name elsewhere in an answer is not lifted', async () => {
  const body = {
    choices: [{ logprobs: { content: [] }, message: { audio: { logprobs: { a: 1 } } } }],
    logprobs: { b: [2] },
  }
  const { json, logprobs: lifted } = await liftLogprobs(Buffer.from(JSON.stringify(body)))
  assert.deepEqual([json, lifted], [body, []])
})

const geminiToken = fc.record({
  token: fc.string({ unit: 'binary' }),
  logProbability: fc.double({ noNaN: true, noDefaultInfinity: true, max: -0.001 }),
  tokenId: fc.nat(),
})
const geminiResult = fc.record({
  topCandidates: fc.array(fc.record({ candidates: fc.array(geminiToken, { maxLength: 3 }) }), { maxLength: 5 }),
  chosenCandidates: fc.array(geminiToken, { maxLength: 5 }),
  logProbabilitySum: fc.constant(-1.5),
})

/** The client's text of each candidate, from the lifted parts. */
async function geminiTold(body: Buffer): Promise<readonly unknown[]> {
  const { json, logprobs: lifted } = await liftLogprobs(body, GEMINI_LOGPROBS)
  // The tests below make objects of this form.
  return (json as { readonly candidates: readonly { readonly logprobsResult?: unknown }[] }).candidates.map(
    ({ logprobsResult }) => {
      const told = { logprobs: geminiLogprobsOf(logprobsResult, lifted) }
      return JSON.parse(Buffer.concat(jsonParts(told, lifted)).toString()).logprobs
    },
  )
}

function geminiExpected(results: readonly unknown[]): readonly unknown[] {
  return JSON.parse(JSON.stringify(results.map((result) => geminiLogprobsOf(result, [])))) as readonly unknown[]
}

test("Gemini's probabilities that are lifted are written as those that are not, whichever list comes first", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.option(geminiResult), { maxLength: 3 }), fc.boolean(), async (results, turned) => {
      const turn = (result: (typeof results)[number]): unknown =>
        result === null || !turned ? result : Object.fromEntries(Object.entries(result).toReversed())
      const body = Buffer.from(
        JSON.stringify({ candidates: results.map((result) => ({ content: {}, logprobsResult: turn(result) })) }),
      )
      assert.deepEqual(await geminiTold(body), geminiExpected(results))
    }),
    { numRuns: 200 },
  )
})

test("Gemini's probabilities are the same in pieces", async () => {
  const token = (index: number): unknown => ({
    token: `сл ${index} "[,]{}`,
    logProbability: -index / 7,
    tokenId: index,
  })
  const result = {
    topCandidates: Array.from({ length: 3_000 }, (_value, index) => ({ candidates: [token(index), token(index + 1)] })),
    chosenCandidates: Array.from({ length: 3_000 }, (_value, index) => token(index)),
  }
  for (const told of [result, { chosenCandidates: result.chosenCandidates, topCandidates: result.topCandidates }]) {
    const body = Buffer.from(JSON.stringify({ candidates: [{ logprobsResult: told }] }))
    assert.ok(body.length > 2 * 262_144)
    assert.deepEqual(await geminiTold(body), geminiExpected([result]))
  }
})
