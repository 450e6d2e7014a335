import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const ROOT = join(import.meta.dirname, '..')
/** The audit itself, or a helper of `test/harness` that runs it. */
const MONEY_CHECK = /audit|checkBooks|checkMoney/i

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

/** The cells of the rows of a page that a letter and a number name, by that name. */
function rows(page: string, letters: string): ReadonlyMap<string, readonly string[]> {
  return new Map(
    [...read(page).matchAll(/^\| ([FRS]\d+) \| (.*) \|$/gm)]
      .filter(([, name = '']) => letters.includes(name.slice(0, 1)))
      .map(([, name = '', cells = '']) => [name, cells.split(/(?<!\\) \| /)]),
  )
}

test('every fault of the standard names tests, and they are there, name it, and check the money', () => {
  const faults = rows('docs/reference/guarantees.md', 'F')
  assert.ok(faults.size >= 42)
  for (const [fault, cells] of faults) {
    const files = [...(cells.at(2) ?? '').matchAll(/`((?:test|src)\/[\w./-]+\.ts)`/g)].map(([, path = '']) => path)
    assert.ok(files.length > 0, `${fault} names no test`)
    for (const path of files) {
      assert.ok(existsSync(join(ROOT, path)), `${fault}: ${path} is not there`)
      assert.match(read(path), new RegExp(`\\b${fault}\\b`), `${path} does not name ${fault}`)
    }
    assert.ok(
      files.some((path) => MONEY_CHECK.test(read(path))),
      `${fault}: no test of it checks the money`,
    )
  }
})

test('every figure has a target, a command and a measure', () => {
  const figures = rows('docs/reliability.md', 'RS')
  assert.ok(figures.size >= 23)
  for (const [figure, [target, command, measured, ...more]] of figures)
    assert.deepEqual(
      [more.length, target !== '', command?.includes('`'), measured !== ''],
      [0, true, true, true],
      figure,
    )
})
