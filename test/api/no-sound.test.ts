import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { mp3Frames } from '../harness/audio-files.ts'
import { answers, first, form, json, key, SAID, serveTranscription, tollgate } from './audio-world.ts'
import { badRequest } from '../harness/refused.ts'

await serveTranscription()

/** Bytes that are no audio, short and long. */
const NO_SOUND: Readonly<Record<string, Buffer>> = {
  text: Buffer.from('what?'),
  'a long text': Buffer.from('The free lunch of a transcription, twenty words a line. '.repeat(4_000)),
  'a text with the name of a box at its place': Buffer.from('Get free hugs, and a free ride.'),
  JSON: Buffer.from(JSON.stringify({ model: 'x', messages: [{ role: 'user', content: 'RIFF WAVE OggS fLaC' }] })),
  HTML: Buffer.from('<!doctype html><html><body>404</body></html>'),
  zeros: Buffer.alloc(20_001),
  ones: Buffer.alloc(20_001, 0xff),
  'random bytes': randomBytes(100_000),
  'few random bytes': randomBytes(40),
  'a zip': Buffer.concat([Buffer.from('PK\u0003\u0004'), Buffer.alloc(1_000)]),
  'a PDF': Buffer.from('%PDF-1.7\n%\u00e2\u00e3\u00cf\u00d3\n1 0 obj', 'latin1'),
  'a picture': Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'),
  'a tag without sound': Buffer.concat([
    Buffer.from('ID3\u0004\u0000\u0000\u0000\u0000\u0000\u0005tagged'),
    Buffer.from('text'),
  ]),
  'a single frame of sound, and text': Buffer.concat([mp3Frames(1), Buffer.from('text'.repeat(500))]),
}
const NAMES: readonly (readonly [name: string, type: string])[] = [
  ['a.mp3', 'audio/mpeg'],
  ['a.wav', 'audio/wav'],
  ['a.m4a', 'audio/mp4'],
  ['a.flac', 'audio/flac'],
  ['a.ogg', 'audio/ogg'],
  ['a.webm', 'audio/webm'],
  ['a.aac', 'audio/aac'],
  ['a.aiff', 'audio/aiff'],
  ['a.amr', 'audio/amr'],
  ['blob', 'application/octet-stream'],
]

for (const path of ['/v1/audio/transcriptions', '/v1/audio/translations'])
  test(`what is no sound is refused before anything is held or sent, whatever it is called: ${path}`, async () => {
    answers(first, SAID)
    const before = first.received.length
    for (const [what, bytes] of Object.entries(NO_SOUND))
      for (const [name, type] of NAMES) {
        const inForm = await form({}, { bytes, name, type }, path)
        assert.equal(inForm.status, 400, `${what} as ${name}`)
        badRequest(
          inForm,
          'file_upload_error',
          /^File upload failed: the file is no sound. Allowed: wav, mp3, aac, flac/,
        )
        const inJson = await json({ input_audio: { data: bytes.toString('base64'), format: type } }, path)
        badRequest(inJson, 'invalid_input', /^input_audio.data: is no sound. Allowed: wav, mp3/)
      }
    assert.equal(first.received.length, before, 'nothing was sent')
    assert.equal((await tollgate.get('/v1/user/balance', key)).body.reserved, 0)
    assert.equal((await tollgate.get('/v1/generation', key)).body.total, 0, 'nothing was held')
  })

test('sound is read whatever it is called, also where it is cut out of a stream', async () => {
  answers(first, SAID)
  for (const [name] of NAMES) assert.equal((await form({}, { bytes: mp3Frames(10), name })).status, 200, name)
  const cut = mp3Frames(20).subarray(200)
  assert.equal((await form({}, { bytes: cut, name: 'a.mp3' })).status, 200)
})
