import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { signature } from '../src/notices/webhook.ts'

const PAGE = readFileSync(join(import.meta.dirname, '../docs/notifications.md'), 'utf8')
const BODY = '{"id":"ntc_1","data":{"balance":0.5,"имя":"я"}}'
const SECRET = 'whsec_test'

/** The example of the page in a language. */
function example(language: string): string {
  const found = new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(PAGE)?.[1]
  assert.ok(found !== undefined, language)
  return found
}

/** A timestamp, and the signature over it and a body. */
function signed(secret: string, ageSeconds: number): readonly [string, string] {
  const timestamp = String(Math.floor(Date.now() / 1_000) - ageSeconds)
  return [timestamp, signature(secret, timestamp, BODY)]
}

/** Headers of a message, and whether the examples must take it. */
const CASES: readonly (readonly [headers: readonly [string, string], right: boolean])[] = [
  [signed(SECRET, 0), true],
  [signed('whsec_other', 0), false],
  [signed(SECRET, 400), false],
  [[signed(SECRET, 0)[0], ''], false],
]

test('the check of a signature in JavaScript takes what is sent, and nothing else', async () => {
  // The page says what it exports.
  const { isGenuine } = (await import(`data:text/javascript,${encodeURIComponent(example('js'))}`)) as {
    readonly isGenuine: (secret: string, headers: object, body: string) => boolean
  }
  for (const [[timestamp, given], right] of CASES)
    assert.equal(
      isGenuine(SECRET, { 'x-tollgate-timestamp': timestamp, 'x-tollgate-signature': given }, BODY),
      right,
      given,
    )
})

test('and so does the one in Python', () => {
  const asked = CASES.map(([[timestamp, given]]) => ({
    'X-Tollgate-Timestamp': timestamp,
    'X-Tollgate-Signature': given,
  }))
  const script = `${example('python')}
import json, sys
given = json.load(sys.stdin)
print(json.dumps([is_genuine(given["secret"], headers, given["body"].encode()) for headers in given["asked"]]))`
  const { stdout, stderr } = spawnSync('python3', ['-c', script], {
    input: JSON.stringify({ secret: SECRET, body: BODY, asked }),
    encoding: 'utf8',
  })
  assert.equal(stderr, '')
  assert.deepEqual(
    JSON.parse(stdout),
    CASES.map(([, right]) => right),
  )
})
