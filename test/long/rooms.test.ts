import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'

const ROOT = join(import.meta.dirname, '../..')
const TSC = join(ROOT, 'node_modules/.bin/tsc')
const PROTOCOLS = 'src/protocols/index.ts'

/** A part of the program that can be deleted: its folder, and its rows in tables. */
interface Room {
  readonly folder: string
  /** The beginning of each row in a file, the import of what it names included; at most three rows. */
  readonly rows: Readonly<Record<string, readonly string[]>>
}

/** A provider's side of a protocol is its folder and its row. */
function protocol(name: string, folder = `${name}/provider`): Room {
  const key = name.includes('-') ? `'${name}'` : name
  return { folder: `src/protocols/${folder}`, rows: { [PROTOCOLS]: [`'./${folder}/`, `  ${key}: {`] } }
}

const ROOMS: readonly Room[] = [
  ...['ai-sdk', 'bedrock', 'deepgram', 'elevenlabs', 'gigachat', 'replicate', 'sandbox', 'yandex'].map((name) =>
    protocol(name, name),
  ),
  ...['anthropic', 'cohere', 'gemini', 'ollama'].map((name) => protocol(name)),
  {
    folder: 'src/protocols/responses/provider',
    rows: { 'src/protocols/openai/provider/openai.ts': ['/responses/provider/', '    responses: '] },
  },
]

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

  for (const { folder, rows } of ROOMS)
    test(folder, () => {
      const kept = new Map(Object.keys(rows).map((path) => [path, readFileSync(join(copy, path), 'utf8')]))
      renameSync(join(copy, folder), join(copy, 'away'))
      for (const [path, text] of kept) writeFileSync(join(copy, path), withoutRows(text, rows[path] ?? []))
      try {
        assert.equal(complaints(copy), '')
      } finally {
        renameSync(join(copy, 'away'), join(copy, folder))
        for (const [path, text] of kept) writeFileSync(join(copy, path), text)
      }
    })
})

/** Leaves out the line with each mark, and the lines of an object that it opens. */
function withoutRows(text: string, marks: readonly string[]): string {
  const lines = text.split('\n')
  for (const mark of marks) {
    const from = lines.findIndex((line) => line.includes(mark))
    assert.notEqual(from, -1, `no row has ${mark}`)
    const isOpen = lines[from]?.endsWith('{') === true
    const to = isOpen ? lines.findIndex((line, at) => at > from && line.trim() === '},') : from
    lines.splice(from, to - from + 1)
  }
  return lines.join('\n')
}

/** What the compiler says; only what has changed since the last time is checked again. */
function complaints(folder: string): string {
  const build = ['--noEmit', '--incremental', '--tsBuildInfoFile', join(folder, 'build-info.json')]
  const { status, stdout, stderr } = spawnSync(process.execPath, [TSC, ...build], { cwd: folder, encoding: 'utf8' })
  return status === 0 ? '' : `${status}: ${stdout}${stderr}`
}
