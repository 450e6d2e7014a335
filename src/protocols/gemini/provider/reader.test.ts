import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { INPUT_METERS, OUTPUT_METERS, sumOf } from '../../../tables/meters.ts'
import { geminiUsage } from './usage.ts'
import { foldAtEveryCut } from '../../../../test/harness/protocol-read.ts'
import { randomOf, recordedCase, recordedCases, type RecordedCase } from '../../../../test/harness/recording.ts'
import { CHAT_FOLDS } from '../../../../test/recordings/chat-fold.ts'
import { documentsOf } from '../../../../test/recordings/documents.ts'
import { PROTOCOL, callOf, read, readChunks, foldWhole, parts, STOP } from '../../../../test/harness/gemini-reads.ts'

/** Builds, from its stream, the answer that the provider would have sent whole. */
function wholeAnswer(body: Buffer): Record<string, unknown> {
  const all: unknown[] = []
  let answer: Record<string, unknown> = {}
  let finishReason: unknown
  for (const line of body.toString('utf8').split('\n')) {
    if (!line.startsWith('data: ')) continue
    const chunk = JSON.parse(line.slice(6))
    answer = { ...answer, ...chunk }
    for (const candidate of chunk.candidates ?? []) {
      all.push(...(candidate.content?.parts ?? []))
      finishReason = candidate.finishReason ?? finishReason
    }
  }
  return answer['candidates'] === undefined
    ? answer
    : { ...answer, candidates: [{ content: { role: 'model', parts: all }, finishReason, index: 0 }] }
}

const recordings: readonly RecordedCase[] = recordedCases(
  ({ protocol, framing }) => protocol === 'gemini-generate' && framing === 'sse',
)

describe('every recorded stream', () => {
  assert.ok(recordings.length >= 17, `${recordings.length} streams`)
  for (const recorded of recordings) {
    test(`${recorded.name} folds to one answer at every random cut`, () => {
      foldAtEveryCut(PROTOCOL, recorded.body)
    })
    // This recording is no answer.
    if (recorded.name.endsWith('invalid-json')) continue
    test(`${recorded.name} folds to what the whole answer would be`, () => {
      const body = recorded.body
      assert.deepEqual(read([body]).answer, foldWhole(wholeAnswer(body)))
    })
  }
})

test('thoughts are reasoning; a signature is a detail of its call or of the text', () => {
  const { answer, failure } = readChunks([
    { responseId: 'r1', ...parts({ text: 'Hm', thought: true }) },
    {
      responseId: 'r1',
      ...parts(
        { text: 'Let me look', thoughtSignature: 'dGV4dA==' },
        { functionCall: { name: 'f', args: { a: [1] } }, thoughtSignature: 'Y2FsbA==' },
        { functionCall: { name: 'g', id: 'own' } },
      ),
    },
    STOP,
  ])
  assert.equal(failure, null)
  assert.equal(answer.upstreamId, 'r1')
  const [choice] = answer.choices
  assert.deepEqual([choice?.finish, choice?.native], ['tool_calls', 'STOP'])
  assert.deepEqual(choice?.message, {
    role: 'assistant',
    content: 'Let me look',
    refusal: null,
    reasoning: 'Hm',
    reasoning_details: [
      { type: 'reasoning.encrypted', data: 'dGV4dA==', format: 'google-gemini-v1', index: 0 },
      { type: 'reasoning.encrypted', data: 'Y2FsbA==', id: 'call_abc_0_0', format: 'google-gemini-v1', index: 1 },
    ],
    tool_calls: [
      { id: 'call_abc_0_0', type: 'function', function: { name: 'f', arguments: '{"a":[1]}' } },
      { id: 'own', type: 'function', function: { name: 'g', arguments: '{}' } },
    ],
  })
})

test('the answer of one turn is understood in the next: ids and signatures find their parts', () => {
  const { answer } = readChunks([
    parts({ functionCall: { name: 'f', args: { a: 1 } }, thoughtSignature: 'Y2FsbA==' }),
    STOP,
  ])
  const messages = [
    { role: 'user', content: 'x' },
    answer.choices[0]?.message,
    { role: 'tool', tool_call_id: 'call_abc_0_0', content: 'ok' },
  ]
  assert.deepEqual(PROTOCOL.request(callOf({ messages })).body['contents'], [
    { role: 'user', parts: [{ text: 'x' }] },
    {
      role: 'model',
      parts: [{ functionCall: { id: 'call_abc_0_0', name: 'f', args: { a: 1 } }, thoughtSignature: 'Y2FsbA==' }],
    },
    { role: 'user', parts: [{ functionResponse: { id: 'call_abc_0_0', name: 'f', response: { output: 'ok' } } }] },
  ])
})

test('excluded reasoning is not shown, but counts as progress', () => {
  const call = callOf({ reasoning: { effort: 'high', exclude: true } })
  assert.deepEqual(
    readChunks([parts({ text: 'Hm', thought: true }), parts({ text: 'Hi' }), STOP], call).answer.choices[0]?.message,
    { role: 'assistant', content: 'Hi', refusal: null },
  )
  assert.notDeepEqual(
    PROTOCOL.reader(call).message(Buffer.from(JSON.stringify(parts({ text: 'Hm', thought: true })))),
    [],
  )
})

test('calls whose arguments come in pieces are two calls, not eight', () => {
  const recorded = recordedCase('gemini/chat/v-google-stream-tool-call-arguments')
  const { answer, failure } = read([recorded.body])
  assert.equal(failure, null)
  const calls = CHAT_FOLDS['gemini-generate']?.(documentsOf(recorded)).get(0)?.calls ?? []
  assert.equal(calls.length, 2)
  assert.deepEqual(
    answer.choices[0]?.message['tool_calls'],
    calls.map(({ name, arguments: text }, index) => ({
      id: `call_abc_0_${index}`,
      type: 'function',
      function: { name, arguments: JSON.stringify(text) },
    })),
  )
})

test('pieces of arguments: every kind of value at every kind of path', () => {
  const piece = (partialArgs: readonly unknown[], willContinue = true): unknown =>
    parts({ functionCall: { partialArgs, willContinue } })
  const { answer } = readChunks([
    parts({ functionCall: { name: 'f', willContinue: true } }),
    piece([
      { jsonPath: '$.a.b[0]', numberValue: 1.5 },
      { jsonPath: '$.a.b[1].c', boolValue: false },
      { jsonPath: "$['x y']", nullValue: 'NULL_VALUE' },
    ]),
    piece([{ jsonPath: '$.__proto__', stringValue: 'p"' }]),
    piece([{ jsonPath: '$.__proto__', stringValue: 'q' }]),
    parts({ functionCall: {} }),
    STOP,
  ])
  assert.deepEqual(
    Object(answer.choices[0]?.message['tool_calls'])[0].function.arguments,
    '{"a":{"b":[1.5,{"c":false}]},"x y":null,"__proto__":"p\\"q"}',
  )
  for (const jsonPath of ['$', 'a', '$.a[', '$.a[999999]', '']) {
    assert.equal(
      readChunks([
        parts({ functionCall: { name: 'f', willContinue: true } }),
        piece([{ jsonPath, stringValue: 'x' }]),
        STOP,
      ]).failure?.reason,
      'garbage',
      jsonPath,
    )
  }
})

test('a signature that comes late belongs to the call it came with', () => {
  const { answer } = readChunks([
    parts({ functionCall: { name: 'f', id: 'own', willContinue: true } }),
    parts({ functionCall: {}, thoughtSignature: 'Y2FsbA==' }),
    STOP,
  ])
  assert.deepEqual(answer.choices[0]?.message['reasoning_details'], [
    { type: 'reasoning.encrypted', data: 'Y2FsbA==', id: 'own', format: 'google-gemini-v1', index: 0 },
  ])
})

test('a call that is left open ends with its candidate', () => {
  const { answer } = readChunks([
    parts({ functionCall: { name: 'f', willContinue: true } }),
    parts({ functionCall: { partialArgs: [{ jsonPath: '$.a', numberValue: 1 }], willContinue: true } }),
    STOP,
  ])
  assert.deepEqual(Object(answer.choices[0]?.message['tool_calls'])[0].function, { name: 'f', arguments: '{"a":1}' })
})

test('images are data URLs; those of thoughts are drafts and not shown', () => {
  const inlineData = { mimeType: 'image/png', data: 'QUJD' }
  const { answer } = readChunks([parts({ inlineData, thought: true }), parts({ inlineData }), STOP])
  assert.deepEqual(answer.choices[0]?.message['images'], [
    { type: 'image_url', image_url: { url: 'data:image/png;base64,QUJD' } },
  ])
})

test('pieces of sound add up to its bytes, wherever they are cut', () => {
  const bytes = Buffer.from(Array.from({ length: 20 }, (_, index) => index * 12))
  const piece = (start: number, end: number): unknown =>
    parts({ inlineData: { mimeType: 'audio/L16;rate=24000', data: bytes.subarray(start, end).toString('base64') } })
  const { answer } = readChunks([piece(0, 4), piece(4, 5), piece(5, 13), piece(13, 20), STOP])
  assert.deepEqual(answer.choices[0]?.message['audio'], {
    id: 'audio_abc_0',
    format: 'audio/L16;rate=24000',
    data: bytes.toString('base64'),
  })
})

test('code that ran and what it printed are text', () => {
  const { answer } = readChunks([
    parts(
      { executableCode: { language: 'PYTHON', code: 'print(1)' } },
      { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1\n' } },
    ),
    STOP,
  ])
  assert.equal(answer.choices[0]?.message['content'], '\n```python\nprint(1)\n```\n\n```\n1\n```\n')
})

test('sources of the web are annotations, each once', () => {
  const groundingMetadata = {
    groundingChunks: [{ web: { uri: 'https://x.test/a', title: 'A' } }, { retrievedContext: {} }],
  }
  const chunk = { candidates: [{ content: { parts: [{ text: 'Hi' }] }, groundingMetadata }] }
  assert.deepEqual(readChunks([chunk, chunk, STOP]).answer.choices[0]?.message['annotations'], [
    { type: 'url_citation', url_citation: { url: 'https://x.test/a', title: 'A', start_index: 0, end_index: 0 } },
  ])
})

test('searches are known when every candidate has ended: each query from generation 3 on', () => {
  const chunk = {
    candidates: [{ groundingMetadata: { webSearchQueries: ['a', 'b'] } }],
    usageMetadata: { promptTokenCount: 5 },
  }
  const searched = (chunks: readonly unknown[], upstreamModel: string): unknown => {
    const call = callOf({ web_search_options: {} })
    const endpoint = { ...call.endpoint, upstreamModel, supportedParameters: ['web_search_options'] }
    return readChunks(chunks, { ...call, endpoint }).answer.usage?.usage.search
  }
  assert.equal(searched([chunk, chunk, STOP], 'gemini-3-pro-preview'), 2)
  assert.equal(searched([chunk, STOP], 'gemini-2.5-pro'), 1)
  assert.equal(searched([STOP], 'gemini-2.5-pro'), 0)
  assert.equal(searched([chunk], 'gemini-3-pro-preview'), undefined, 'cut: one is charged')
  const queried = (...candidates: readonly (readonly string[])[]): unknown => ({
    candidates: candidates.map((webSearchQueries, index) => ({ index, groundingMetadata: { webSearchQueries } })),
    usageMetadata: { promptTokenCount: 5 },
  })
  const stop = {
    candidates: [0, 1].map((index) => ({ index, finishReason: 'STOP' })),
    usageMetadata: { promptTokenCount: 5 },
  }
  for (const [chunks, queries, requests] of [
    [[queried(['', 'best platforms', ' ', 'Wefunder']), STOP], 2, 1],
    [[queried(['']), STOP], 0, 0],
    [[queried(['a', 'b', ' a ']), STOP], 2, 1],
    [[queried(['a']), queried(['b', 'a']), queried([]), STOP], 2, 1],
    [[queried(['a'], ['b', 'a']), stop], 2, 1],
  ] as const) {
    assert.equal(searched(chunks, 'gemini-3-pro-preview'), queries)
    assert.equal(searched(chunks, 'gemini-2.5-pro'), requests)
  }
  assert.equal(readChunks([chunk, STOP]).answer.usage?.usage.search, undefined, 'not asked for')
})

test('logprobs have the shape of OpenAI', () => {
  const logprobsResult = {
    chosenCandidates: [{ token: 'Hi', tokenId: 1, logProbability: -0.5 }],
    topCandidates: [{ candidates: [{ token: 'Ho', logProbability: -1 }] }],
  }
  const { answer } = readChunks([
    { candidates: [{ content: { parts: [{ text: 'Hi' }] }, logprobsResult }] },
    { candidates: [{ content: { parts: [{ text: 'Hi' }] }, logprobsResult }] },
    STOP,
  ])
  const entry = {
    token: 'Hi',
    logprob: -0.5,
    bytes: [72, 105],
    top_logprobs: [{ token: 'Ho', logprob: -1, bytes: [72, 111] }],
  }
  assert.deepEqual(answer.choices[0]?.logprobs, { content: [entry, entry], refusal: null })
  assert.equal(answer.choices[0].message['content'], 'HiHi')
})

test('several candidates are several choices, each with its finish reason', () => {
  const candidate = (index: number, text: string, finishReason?: string): unknown => ({
    index,
    content: { parts: [{ text }] },
    finishReason,
  })
  const first = { candidates: [candidate(0, 'a'), candidate(1, 'b')] }
  const { answer, failure } = readChunks([
    first,
    { candidates: [candidate(1, 'B', 'MAX_TOKENS')] },
    { candidates: [candidate(0, 'A', 'STOP')] },
  ])
  assert.equal(failure, null)
  assert.deepEqual(
    answer.choices.map(({ index, finish, message }) => [index, finish, message['content']]),
    [
      [0, 'stop', 'aA'],
      [1, 'length', 'bB'],
    ],
  )
  assert.equal(readChunks([first, { candidates: [candidate(1, 'B', 'STOP')] }]).failure?.reason, 'cut')
  const plain = foldWhole({
    candidates: [
      { content: { parts: [{ text: 'a' }] } },
      { content: { parts: [{ text: 'b' }] }, finishReason: 'STOP' },
    ],
  })
  assert.deepEqual(
    plain.choices.map(({ finish, native, message }) => [finish, native, message['content']]),
    [
      ['stop', null, 'a'],
      ['stop', 'STOP', 'b'],
    ],
  )
})

test('reasons to finish that only this protocol has', () => {
  const finishOf = (finishReason: string): unknown =>
    foldWhole({ candidates: [{ content: { parts: [{ text: 'x' }, { functionCall: { name: 'f' } }] }, finishReason }] })
      .choices[0]?.finish
  assert.equal(finishOf('MODEL_ARMOR'), 'content_filter')
  assert.equal(finishOf('UNEXPECTED_TOOL_CALL'), 'error')
  assert.equal(finishOf('MAX_TOKENS'), 'length')
  assert.equal(finishOf('FAKE_ENUM'), 'tool_calls')
})

test('meters are disjoint: cached, heard and spoken tokens are taken out of their totals', () => {
  const report = geminiUsage({
    promptTokenCount: 100,
    toolUsePromptTokenCount: 20,
    cachedContentTokenCount: 40,
    candidatesTokenCount: 30,
    thoughtsTokenCount: 7,
    totalTokenCount: 157,
    promptTokensDetails: [
      { modality: 'TEXT', tokenCount: 50 },
      { modality: 'AUDIO', tokenCount: 50 },
    ],
    cacheTokensDetails: [
      { modality: 'AUDIO', tokenCount: 10 },
      { modality: 'TEXT', tokenCount: 30 },
    ],
    candidatesTokensDetails: [
      { modality: 'AUDIO', tokenCount: 25 },
      { modality: 'IMAGE', tokenCount: 5 },
    ],
  })
  assert.deepEqual(report, {
    usage: {
      input: 40,
      output: 0,
      cache_read: 30,
      audio_cache_read: 10,
      audio_input: 40,
      reasoning: 7,
      audio_output: 25,
      image_output_tokens: 5,
    },
    inputTokens: 120,
    outputTokens: 37,
    cachedTokens: 40,
    cacheWriteTokens: 0,
    reasoningTokens: 7,
    implausible: false,
  })
})

test('meters add up to the totals and are never below zero, whatever is reported', () => {
  const random = randomOf(7)
  const values = [0, 1, 5, 1_000, 12.5, -3, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 60, '7', null, undefined, {}, -0]
  const any = (): unknown => values[Math.floor(random() * values.length)]
  const details = (): unknown =>
    random() < 0.3 ? any() : [{ modality: 'AUDIO', tokenCount: any() }, any(), { modality: 'IMAGE', tokenCount: any() }]
  for (let round = 0; round < 3_000; round += 1) {
    const report = geminiUsage({
      promptTokenCount: any(),
      toolUsePromptTokenCount: any(),
      cachedContentTokenCount: any(),
      candidatesTokenCount: any(),
      thoughtsTokenCount: any(),
      promptTokensDetails: details(),
      cacheTokensDetails: details(),
      candidatesTokensDetails: details(),
    })
    if (report === null) continue
    for (const count of Object.values(report.usage)) assert.ok(Number.isSafeInteger(count) && count >= 0)
    assert.equal(sumOf(report.usage, INPUT_METERS), report.inputTokens)
    assert.equal(sumOf(report.usage, OUTPUT_METERS), report.outputTokens)
  }
  assert.equal(geminiUsage({ trafficType: 'ON_DEMAND' }), null)
  assert.equal(geminiUsage({ promptTokenCount: -1 })?.implausible, true)
})
