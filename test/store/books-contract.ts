import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeyWrap, WrappingKeyError } from '../../src/ledger/key-wrap.ts'
import { KEY_WRAP } from '../harness/key-wrap.ts'
import type { OpenedBelow } from './append-only.ts'
import { Bench, TestClock } from './ledger-fixture.ts'
import { brokenChecks, withBooks } from './planted-violations.ts'

/** The key of the seals over changes of the wrapping key, and its loss. */
export function booksContract(open: () => Promise<OpenedBelow>): void {
  const again = async (
    bench: Bench,
    opened: OpenedBelow,
    wrap: KeyWrap,
    body: (bench: Bench) => Promise<void>,
  ): Promise<void> => {
    const store = await opened.openAgain(wrap)
    await body(new Bench(store, new TestClock(bench.clock.now())))
    await store.close()
  }

  test('a store that has lost the key of its seals is not sealed again: the audit says so', () =>
    withBooks(open, async (bench, opened) => {
      await opened.below('DELETE FROM book')
      await again(bench, opened, KEY_WRAP, async (later) => {
        assert.deepEqual(await brokenChecks(later), ['I19', 'I20'])
      })
    }))

  test('after a change of the wrapping key the seals stand as they were, and the old one opens nothing', () =>
    withBooks(open, async (bench, opened) => {
      const [fresh, old] = [Buffer.alloc(32, 9), Buffer.alloc(32, 7)]
      await again(bench, opened, new KeyWrap([fresh, old]), async (later) => {
        await later.store.books.rewrap()
        assert.deepEqual(await brokenChecks(later), [])
      })
      await again(bench, opened, new KeyWrap([fresh]), async (later) => assert.deepEqual(await brokenChecks(later), []))
      await assert.rejects(opened.openAgain(new KeyWrap([old])), WrappingKeyError)
    }))

  test('a change made past the store stays found, whatever is written over it', () =>
    withBooks(open, async (bench, opened) => {
      await opened.below('UPDATE account SET log_dropped = log_dropped + 1, log_rows = log_rows + 1')
      await opened.below('UPDATE api_key SET spend_limit = spend_limit + 1')
      await again(bench, opened, KEY_WRAP, async (later) => {
        const { data } = await later.store.accounts.list({ query: null, limit: 10, offset: 0 })
        for (const { id } of data) {
          await later.topUp(id, 5n)
          const periods = { day: '2026-11-18', week: '2026-11-16', month: '2026-11-01' }
          for (const { key } of (
            await later.store.keys.lists.page({ accountId: id }, periods, { limit: 100, offset: 0 })
          ).data)
            await later.store.keys.update(
              key.id,
              { name: 'other' },
              { day: '2026-11-18', week: '2026-11-16', month: '2026-11-01' },
            )
        }
        assert.deepEqual(
          (await brokenChecks(later)).filter((id) => id !== 'I15'),
          ['I19', 'I20'],
        )
      })
    }))
}
