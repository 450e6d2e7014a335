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

/** The rows of a section of docs/reliability.md by their first cell. */
function rows(heading: string): ReadonlyMap<string, string> {
  const section =
    read('docs/reliability.md')
      .split(/^## /m)
      .find((part) => part.startsWith(`${heading}\n`)) ?? assert.fail(`no section '${heading}'`)
  return new Map([...section.matchAll(/^\| ([FRS]\d+) \|(.*)\|$/gm)].map(([, name = '', cells = '']) => [name, cells]))
}

/** The cells of the standard's numbered rows, by their number. */
function standard(letters: string): ReadonlyMap<string, readonly string[]> {
  const page = read('docs/reference/guarantees.md')
  return new Map(
    [...page.matchAll(new RegExp(`^\\| ([${letters}]\\d+) \\| (.*) \\|$`, 'gm'))].map(([, name = '', cells = '']) => [
      name,
      cells.split(' | '),
    ]),
  )
}

test('every fault of the standard has a row, and the tests that it names are there, name it, and check the money', () => {
  const matrix = rows('Fault matrix')
  assert.deepEqual([...matrix.keys()], [...standard('F').keys()])
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

test('every figure of the standard has a row with its target, its command and its measure', () => {
  const targets = [...standard('RS')].map(([name, [target]]) => [name, target])
  const figures = [...rows('Figures')].map(([name, cells]) => [
    name,
    ...`|${cells}`
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim())
      .slice(1),
  ])
  assert.deepEqual(
    figures.map(([name, target]) => [name, target]),
    targets,
  )
  for (const [figure, , command, measured, ...more] of figures)
    assert.deepEqual([more.length, command?.includes('`'), measured !== ''], [0, true, true], figure)
})
