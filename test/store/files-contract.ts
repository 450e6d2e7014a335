import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { FileGoneError } from '../../src/store/files/file-store.ts'
import type { Store } from '../../src/store/store.ts'
import { lasting } from '../harness/lasting.ts'

const EXPIRES_AT_MS = 1_000
const FILE = {
  id: 'img-1',
  accountId: 'acc_1',
  mediaType: 'image/png',
  tokenDigest: createHash('sha256').update('token').digest(),
  expiresAtMs: EXPIRES_AT_MS,
}

/** Stored files: their bytes are returned, whole or in part, until they are removed. */
export function filesContract(open: () => Promise<Store>): void {
  const files = (name: string, body: (store: Store) => Promise<void>): void => {
    test(name, async () => {
      const store = await lasting(open())
      await body(store)
    })
  }

  files('a file comes back as it was put, its bytes in any range, also across chunks', async ({ files: stored }) => {
    const content = noise(2_621_441)
    const before = Date.now()
    const put = await stored.put(FILE, pieces(content, 300_007))
    assert.deepEqual({ ...put, createdAtMs: 0 }, { ...FILE, bytes: content.length, createdAtMs: 0 })
    assert.ok(put.createdAtMs >= before && put.createdAtMs <= Date.now())
    assert.deepEqual(await stored.find(FILE.id), put)
    for (const [start, end] of [
      [0, content.length - 1],
      [0, 0],
      [1_048_575, 1_048_576],
      [5, 1_048_580],
      [content.length - 1, content.length - 1],
      [2_000_000, content.length + 99],
    ] as const) {
      assert.ok(
        (await whole(stored.read(FILE.id, { start, end }))).equals(content.subarray(start, end + 1)),
        `${start}-${end}`,
      )
    }
  })

  files('a file may be empty, and without a token', async ({ files: stored }) => {
    await stored.put({ ...FILE, tokenDigest: null }, pieces(Buffer.alloc(0), 1))
    assert.equal((await stored.find(FILE.id))?.bytes, 0)
    assert.equal((await stored.find(FILE.id))?.tokenDigest, null)
    assert.equal((await whole(stored.read(FILE.id, { start: 0, end: -1 }))).length, 0)
  })

  files('a repeated id replaces: row and bytes are always of one write', async ({ files: stored }) => {
    await stored.put(FILE, pieces(noise(2_000_000), 65_536))
    await stored.put({ ...FILE, mediaType: 'image/webp', expiresAtMs: 9_999 }, pieces(Buffer.from('short'), 2))
    const found = await stored.find(FILE.id)
    assert.deepEqual([found?.bytes, found?.mediaType, found?.expiresAtMs], [5, 'image/webp', 9_999])
    assert.equal((await whole(stored.read(FILE.id, { start: 0, end: 9 }))).toString(), 'short')
    const contents = ['a', 'bb', 'ccc', 'dddd'].map((text) => Buffer.from(text))
    await Promise.all(contents.map((content) => stored.put(FILE, pieces(content, 1))))
    const last = await whole(stored.read(FILE.id, { start: 0, end: 9 }))
    assert.equal(last.length, (await stored.find(FILE.id))?.bytes)
    assert.ok(contents.some((content) => content.equals(last)))
  })

  files('content that breaks off leaves nothing, and an earlier file as it was', async ({ files: stored }) => {
    const broken = async function* (): AsyncIterable<Buffer> {
      yield noise(1_500_000)
      throw new Error('The provider hung up.')
    }
    await assert.rejects(stored.put(FILE, broken()), /hung up/)
    assert.equal(await stored.find(FILE.id), null)
    await stored.put(FILE, pieces(Buffer.from('first'), 5))
    await assert.rejects(stored.put(FILE, broken()), /hung up/)
    assert.equal((await whole(stored.read(FILE.id, { start: 0, end: 4 }))).toString(), 'first')
  })

  files('what is removed or was never there is not found and cannot be read', async ({ files: stored }) => {
    await stored.put(FILE, pieces(Buffer.from('bytes'), 5))
    await stored.remove(FILE.id)
    await stored.remove(FILE.id)
    assert.equal(await stored.find(FILE.id), null)
    await assert.rejects(whole(stored.read(FILE.id, { start: 0, end: 4 })), FileGoneError)
  })

  files('a sweep removes what has expired by then and nothing else', async ({ files: stored }) => {
    for (let index = 0; index < 130; index += 1)
      await stored.put({ ...FILE, id: `img-old-${index}` }, pieces(Buffer.from('old'), 3))
    await stored.put({ ...FILE, id: 'img-new', expiresAtMs: EXPIRES_AT_MS + 1 }, pieces(Buffer.from('new'), 3))
    assert.equal(await stored.removeExpired(EXPIRES_AT_MS - 1), 0)
    assert.equal(await stored.removeExpired(EXPIRES_AT_MS), 130)
    assert.equal(await stored.find('img-old-7'), null)
    assert.equal((await whole(stored.read('img-new', { start: 0, end: 2 }))).toString(), 'new')
  })
}

/** Bytes without repetition, so that a piece in the wrong place is noticed. */
function noise(bytes: number): Buffer {
  const result = Buffer.alloc(bytes)
  let state = 1
  for (let index = 0; index < bytes; index += 1) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    result[index] = state >> 16
  }
  return result
}

async function* pieces(content: Buffer, bytes: number): AsyncIterable<Buffer> {
  for (let from = 0; from < content.length; from += bytes) yield content.subarray(from, from + bytes)
}

async function whole(parts: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = []
  for await (const part of parts) all.push(part)
  return Buffer.concat(all)
}
