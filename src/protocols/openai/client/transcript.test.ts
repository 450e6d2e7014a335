import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lastSecond, segmentsOf, type Transcript } from '../../../kinds/transcription/transcript.ts'
import { renderTranscript } from './transcript.ts'
import type { TranscriptionRequest } from '../../../kinds/transcription/request.ts'

const NONE: Transcript = { text: '', language: null, segments: [], words: [] }

function said(...words: readonly (readonly [string, number, number])[]): Transcript {
  return {
    ...NONE,
    text: words.map(([word]) => word).join(' '),
    words: words.map(([word, start, end]) => ({ word, start, end })),
  }
}

function written(format: TranscriptionRequest['format'], transcript: Transcript, duration = 10): unknown {
  const request: TranscriptionRequest = {
    model: 'a/b',
    fallbackModels: [],
    n: 1,
    sessionId: null,
    task: 'transcribe',
    stream: false,
    language: null,
    format,
    temperature: null,
    prompt: null,
    granularities: ['segment'],
    speakers: { names: [], references: [], heldSeconds: 0, secondsMax: 0 },
    chunking: null,
    logprobs: false,
    provider: {
      order: [],
      ignore: [],
      only: null,
      sort: null,
      allowFallbacks: true,
      requireParameters: false,
      maxPrice: {},
    },
    audio: {
      bytes: Buffer.alloc(0),
      format: 'wav',
      contentType: 'audio/wav',
      seconds: duration,
      heldSeconds: duration,
      secondsMax: duration,
    },
  }
  return renderTranscript(request, transcript, { seconds: duration, duration, tokens: null, chargedMicro: 1n })
}

test('segments of words end at sentences, at pauses, and before they are too long to read', () => {
  const texts = (transcript: Transcript): string[] => segmentsOf(transcript, 100).map(({ text }) => text)
  assert.deepEqual(
    texts(
      said(
        ['It', 0, 0.2],
        ['works.', 0.2, 0.5],
        ['Does', 0.6, 0.8],
        ['it?”', 0.8, 1],
        ['Да!', 1, 1.2],
        ['и', 1.2, 1.3],
      ),
    ),
    ['It works.', 'Does it?”', 'Да!', 'и'],
  )
  assert.deepEqual(texts(said(['one', 0, 1], ['two', 2.3, 3], ['three', 4, 5])), ['one', 'two three'])
  assert.deepEqual(
    segmentsOf(
      said(...Array.from({ length: 20 }, (_value, at): [string, number, number] => [`w${at}`, at, at + 1])),
      20,
    ).map(({ start, end }) => [start, end]),
    [
      [0, 8],
      [8, 16],
      [16, 20],
    ],
  )
})

test('a transcript without times is one segment of the whole sound, silence is none', () => {
  assert.deepEqual(segmentsOf({ ...NONE, text: 'all of it' }, 4.5), [
    { start: 0, end: 4.5, text: 'all of it', figures: {} },
  ])
  assert.deepEqual(segmentsOf({ ...NONE, text: ' \n' }, 4.5), [])
  assert.equal(lastSecond({ ...said(['a', 0, 1]), segments: [{ start: 0, end: 3, text: 'a', figures: {} }] }), 3)
})

test('cues: hours, carries, a blank line and marks inside a text', () => {
  const segments = [
    { start: 3_599.9996, end: 86_400.0004, text: ' a\n\n <b> & c --> d ', figures: {} },
    { start: 5, end: 4, text: 'back', figures: {} },
  ]
  assert.equal(
    written('srt', { ...NONE, text: 'x', segments }),
    '1\n01:00:00,000 --> 24:00:00,000\na\n<b> & c --> d\n\n2\n00:00:05,000 --> 00:00:05,000\nback\n\n',
  )
  assert.equal(
    written('vtt', { ...NONE, text: 'x', segments }),
    'WEBVTT\n\n01:00:00.000 --> 24:00:00.000\na\n&lt;b&gt; &amp; c --&gt; d\n\n00:00:05.000 --> 00:00:05.000\nback\n\n',
  )
})

test('verbose_json: every figure that clients ask for, and no language where the provider names none', () => {
  const body = written('verbose_json', { ...NONE, text: 'hm' }, 2)
  assert.deepEqual(body, {
    task: 'transcribe',
    duration: 2,
    text: 'hm',
    segments: [
      {
        id: 0,
        seek: 0,
        start: 0,
        end: 2,
        text: 'hm',
        tokens: [],
        temperature: 0,
        avg_logprob: 0,
        compression_ratio: 0,
        no_speech_prob: 0,
      },
    ],
    usage: { type: 'duration', seconds: 2, cost: 0.000001, currency: 'RUB' },
  })
})
