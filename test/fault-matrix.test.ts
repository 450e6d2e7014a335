import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const ROOT = join(import.meta.dirname, '..')
/** reliability.md 2: of the process and the store, of upstreams, of clients. */
const FAULTS = [...numbers(1, 14), ...numbers(20, 31), ...numbers(40, 55)]
/** The audit itself, or a helper of `test/harness` that runs it. */
const MONEY_CHECK = /audit|checkBooks|checkMoney/i

function numbers(first: number, last: number): string[] {
  return Array.from({ length: last - first + 1 }, (_, index) => `F${first + index}`)
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

/** The rows of a section of docs/reliability.md by their first cell. */
function rows(heading: string): ReadonlyMap<string, string> {
  const section =
    read('docs/reliability.md')
      .split(/^## /m)
      .find((part) => part.startsWith(`${heading}\n`)) ?? assert.fail(`no section '${heading}'`)
  return new Map([...section.matchAll(/^\| ([FRS]\d+) \|(.*)\|$/gm)].map(([, name = '', cells = '']) => [name, cells]))
}

test('every fault of the matrix has a row, and the tests that it names are there, name it, and check the money', () => {
  const matrix = rows('Fault matrix')
  assert.deepEqual([...matrix.keys()], FAULTS)
  for (const [fault, cells] of matrix) {
    const files = [...cells.matchAll(/`((?:test|src)\/[\w./-]+\.ts)`/g)].map(([, path = '']) => path)
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

test('every figure has a row with its target, its command and what was measured', () => {
  const figures = rows('Figures')
  assert.deepEqual(
    [...figures.keys()],
    [
      ...Array.from({ length: 14 }, (_, index) => `R${index + 1}`),
      ...Array.from({ length: 9 }, (_, index) => `S${index + 1}`),
    ],
  )
  for (const [figure, cells] of figures) {
    const [, target, command, measured, ...more] = `|${cells}`.split(/(?<!\\)\|/).map((cell) => cell.trim())
    assert.deepEqual(
      [more.length, target !== '', command?.includes('`'), measured !== ''],
      [0, true, true, true],
      figure,
    )
  }
})
