import assert from 'node:assert/strict'
import { test } from 'node:test'
import { appIdentity, PLAYGROUND } from './app-identity.ts'

/** A header's UTF-8 bytes in the form in which Node passes them on. */
function raw(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}

test('D-11.1: the URL is cut to its origin, and one that is not http is ignored', () => {
  assert.equal(appIdentity({ 'http-referer': 'https://app.example:8443/path?q=1' }).appUrl, 'https://app.example:8443')
  assert.equal(
    appIdentity({ 'http-referer': 'https://a.example', referer: 'https://b.example' }).appUrl,
    'https://a.example',
  )
  assert.equal(appIdentity({ referer: 'https://user:pass@b.example/x' }).appUrl, 'https://b.example')
  for (const url of ['ftp://a.example', 'javascript:alert(1)', 'app', `https://${'a'.repeat(250)}.example`])
    assert.equal(appIdentity({ referer: url }).appUrl, null, url)
  assert.deepEqual(appIdentity({}), { appUrl: null, appTitle: null })
})

test('D-11.1: titles by precedence, in UTF-8, latin-1 or percent-encoding, without control characters, 64 characters at most', () => {
  assert.equal(appIdentity({ 'x-title': 'c', 'x-openrouter-title': 'b', 'x-tollgate-title': 'a' }).appTitle, 'a')
  assert.equal(appIdentity({ 'x-title': 'c', 'x-openrouter-title': 'b' }).appTitle, 'b')
  const table: [string, string | null][] = [
    [raw('Мой бот'), 'Мой бот'],
    ['caf\u00e9', 'café'],
    ['%D0%9C%D0%BE%D0%B9', 'Мой'],
    ['100% sure', '100% sure'],
    ['%ff', '%ff'],
    ['a%0d%0aSet-Cookie: x', 'aSet-Cookie: x'],
    ['%E2%80%AEevil', 'evil'],
    ['%00', null],
    ['   ', null],
    [raw('я'.repeat(70)), 'я'.repeat(64)],
    [raw('😀'.repeat(70)), '😀'.repeat(64)],
  ]
  for (const [header, title] of table) assert.equal(appIdentity({ 'x-title': header }).appTitle, title, header)
})

test('the playground is one app by its name, whatever its page sends', () => {
  const headers = { referer: 'https://gate.example/playground', 'x-title': 'Notes' }
  assert.deepEqual(appIdentity(headers, '/cabinet/v1/playground/chat/completions'), PLAYGROUND)
  assert.deepEqual(appIdentity(headers, '/v1/chat/completions'), { appUrl: 'https://gate.example', appTitle: 'Notes' })
})
