import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, describe, test } from 'node:test'
import { ROOMS, taken } from '../optional-rooms.ts'

const ROOT = join(import.meta.dirname, '../..')
const TSC = join(ROOT, 'node_modules/.bin/tsc')

describe('a room can be taken out: the compiler needs no more than its folder and its rows gone', () => {
  const copy = mkdtempSync(join(tmpdir(), 'rooms-'))
  after(() => rmSync(copy, { recursive: true, force: true }))
  for (const folder of ['src', 'console'])
    cpSync(join(ROOT, folder), join(copy, folder), {
      recursive: true,
      filter: (path) => !path.endsWith('.test.ts') && !path.endsWith('-fixture.ts') && !path.includes('node_modules'),
    })
  cpSync(join(ROOT, 'package.json'), join(copy, 'package.json'))
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  const settings = JSON.parse(readFileSync(join(ROOT, 'tsconfig.json'), 'utf8')) as object
  writeFileSync(join(copy, 'tsconfig.json'), JSON.stringify({ ...settings, include: ['src'] }))

  test('the copy itself compiles, and without a folder whose row stays it does not', () => {
    assert.equal(complaints(copy), '')
    const folder = join(copy, 'src/protocols/replicate')
    renameSync(folder, join(copy, 'away'))
    assert.match(complaints(copy), /index\.ts.*replicate/)
    renameSync(join(copy, 'away'), folder)
  })

  for (const room of ROOMS) {
    const { paths, rows } = taken(room)
    test(paths.join(), () => {
      const kept = new Map(Object.keys(rows).map((path) => [path, readFileSync(join(copy, path), 'utf8')]))
      for (const [index, path] of paths.entries()) renameSync(join(copy, path), join(copy, `away-${index}`))
      for (const [path, text] of kept)
        writeFileSync(join(copy, path), withoutImports(withoutRows(text, rows[path] ?? []), path, paths))
      try {
        assert.equal(complaints(copy), '')
      } finally {
        for (const [index, path] of paths.entries()) renameSync(join(copy, `away-${index}`), join(copy, path))
        for (const [path, text] of kept) writeFileSync(join(copy, path), text)
      }
    })
  }
})

/** Leaves out the line that begins with each mark, and those that it opens: up to the next one that is as deep. */
function withoutRows(text: string, marks: readonly string[]): string {
  const lines = text.split('\n')
  for (const mark of marks) {
    const from = lines.findIndex((line) => line.trimStart().startsWith(mark))
    assert.notEqual(from, -1, `no row begins with ${mark}`)
    const depth = depthOf(lines[from])
    const isOpen = /[[({]$/.test(lines[from] ?? '')
    const to = isOpen ? lines.findIndex((line, at) => at > from && depthOf(line) === depth) : from
    lines.splice(from, to - from + 1)
  }
  return lines.join('\n')
}

function depthOf(line = ''): number {
  return line.length - line.trimStart().length
}

/** Leaves out what the file imports of the room. */
function withoutImports(text: string, file: string, room: readonly string[]): string {
  return text.replaceAll(/^import [^']* from '([^']*)'\n/gm, (line, from: string) => {
    const path = join(dirname(file), from)
    return room.some((part) => path === part || path.startsWith(`${part}/`)) ? '' : line
  })
}

/** What the compiler says; only what has changed since the last time is checked again. */
function complaints(folder: string): string {
  const build = ['--noEmit', '--incremental', '--tsBuildInfoFile', join(folder, 'build-info.json')]
  const { status, stdout, stderr } = spawnSync(process.execPath, [TSC, ...build], { cwd: folder, encoding: 'utf8' })
  return status === 0 ? '' : `${status}: ${stdout}${stderr}`
}
