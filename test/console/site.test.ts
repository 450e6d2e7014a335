import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { buildConsole, CONSOLE_DIR, localeTexts } from '../harness/console-world.ts'
import { startTollgate } from '../harness/server.ts'
import { lasting } from '../harness/lasting.ts'

const HTML = { accept: 'text/html' }

buildConsole()
const tollgate = await lasting(startTollgate())

test('a browser gets the console at every path that is no API; programs get the error they read', async () => {
  for (const path of ['/', '/setup', '/keys', '/log/gen-1', '/model/openai/gpt-4.1', '/operator/accounts']) {
    const page = await tollgate.request('GET', path, { headers: HTML })
    assert.equal(page.status, 200, path)
    assert.match(page.headers['content-type'] ?? '', /^text\/html/)
    assert.equal(page.headers['cache-control'], 'no-cache')
  }
  assert.equal((await tollgate.request('GET', '/keys')).status, 404, 'without Accept: text/html')
  for (const path of ['/v1/unknown', '/cabinet/v1/unknown', '/admin/v1/unknown', '/assets/unknown.js', '/v1']) {
    const answer = await tollgate.request('GET', path, { headers: HTML })
    assert.equal(answer.status, 404, path)
    assert.equal(answer.body.error.metadata.error_type, 'endpoint_not_found')
  }
  assert.equal((await tollgate.request('POST', '/keys', { headers: HTML, body: {} })).status, 404)
  assert.equal(
    (await tollgate.request('GET', '/assets/../../package.json', { headers: HTML })).text.includes('"dependencies"'),
    false,
  )
  assert.equal(
    (await tollgate.request('GET', '/assets/%2e%2e/%2e%2e/package.json', { headers: HTML })).text.includes(
      '"dependencies"',
    ),
    false,
  )
})

test('files are compressed, kept for ever under their hash, and revalidated without one', async () => {
  const html = readFileSync(join(CONSOLE_DIR, 'index.html'), 'utf8')
  const script = /src="(\/assets\/[^"]+\.js)"/.exec(html)?.[1] ?? ''
  for (const [accepted, coding] of [
    ['br, gzip', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0', undefined],
    ['', undefined],
  ] as const) {
    const file = await tollgate.request('GET', script, { headers: { 'accept-encoding': accepted } })
    assert.equal(file.headers['content-encoding'], coding)
    assert.equal(file.headers['cache-control'], 'public, max-age=31536000, immutable')
    assert.equal(file.headers['vary'], 'accept-encoding')
  }
  const page = await tollgate.request('GET', '/', { headers: HTML })
  const again = await tollgate.request('GET', '/', {
    headers: { ...HTML, 'if-none-match': page.headers['etag'] ?? '' },
  })
  assert.deepEqual([again.status, again.text], [304, ''])
  assert.equal((await tollgate.request('HEAD', '/', { headers: HTML })).status, 200)
})

test('both languages have the same texts with the same gaps', () => {
  const texts = (language: 'en' | 'ru'): ReadonlyMap<string, string> => new Map(flat(localeTexts(language)))
  const english = texts('en')
  const russian = texts('ru')
  const withoutPlural = (keys: Iterable<string>): string[] =>
    [...new Set([...keys].map((key) => key.replace(/_(?:one|few|many|other)$/, '')))].toSorted()
  assert.deepEqual(withoutPlural(russian.keys()), withoutPlural(english.keys()))
  const gaps = (text: string): string =>
    [...text.matchAll(/\{\{(\w+)\}\}/g)]
      .map(([, name]) => name ?? '')
      .toSorted((a, b) => a.localeCompare(b))
      .join()
  for (const [key, text] of english) assert.equal(gaps(russian.get(key) ?? text), gaps(text), key)
  assert.deepEqual(
    [...russian].filter(
      ([key, text]) => text === '' || (key.endsWith('_few') && !russian.has(key.replace(/_few$/, '_many'))),
    ),
    [],
  )
})

function flat(value: unknown, path = ''): [string, string][] {
  if (typeof value === 'string') return [[path, value]]
  // JSON of texts in objects.
  return Object.entries(value as Readonly<Record<string, unknown>>).flatMap(([name, inner]) =>
    flat(inner, path === '' ? name : `${path}.${name}`),
  )
}
