import { copyFileSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { basename, join } from 'node:path'
import { rolldown, type Plugin } from 'rolldown'
import { thirdPartyText } from './third-party.ts'

/** `npm run build`: the server as a few files in `dist/`, packages included, with source maps. */
const ROOT = join(import.meta.dirname, '..')
const DIST = join(ROOT, 'dist')
/** Each is a program, since threads are started by file name. */
const ENTRIES = [
  'src/main.ts',
  'src/nodes/loop-watch-thread.ts',
  'src/store/sqlite/snapshot-thread.ts',
  'src/store/sqlite/wal-thread.ts',
]
/** Files that are read at run time from the folder of the code. */
const DATA = [
  'src/catalog/bundled-models.json',
  'src/access/common-passwords.txt',
  'src/pay/plan/tokens/o200k_base.tokens',
  'src/pay/plan/tokens/cl100k_base.tokens',
  'src/store/sqlite-schema.sql',
  'src/store/postgres-schema.sql',
]
/** Modules whose names are known only at run time; `pg-native` is optional, and is not installed. */
const NOT_BUNDLED = [/^@ai-sdk\//, 'pg-native']

/**
 * A thread is started from a file beside the code, which is `.js` here. The length stays the same, so that source maps
 * stay correct.
 */
const threads: Plugin = {
  name: 'threads',
  transform: (code, id) =>
    id.startsWith(join(ROOT, 'src'))
      ? {
          code: code.replaceAll(/(new URL\('\.\/[\w-]+)\.ts(', import\.meta\.url\))/g, '$1.js$2'),
          map: null,
        }
      : null,
}

/**
 * An `import` of `node:http` reads each of its exports, and so loads Node's own WebSocket and fetch, which nothing uses
 * and which take a tenth of a server's start.
 */
const HTTP = '\0node:http'
const OF_FETCH: ReadonlySet<string> = new Set(['WebSocket', 'CloseEvent', 'MessageEvent'])
const plainHttp: Plugin = {
  name: 'plain-http',
  resolveId: (id) => (id === 'node:http' ? HTTP : null),
  load: (id) => {
    if (id !== HTTP) return null
    const names = Object.keys(http).filter((name) => !OF_FETCH.has(name))
    return `const http = process.getBuiltinModule('node:http')\nexport const { ${names.join(', ')} } = http\nexport default http`
  },
}

/**
 * V8 keeps the text of a program, with two bytes for each character if one of them is not Latin, which took 4 MB.
 * Escapes mean the same in strings, templates and regular expressions.
 */
function escapeOthers(path: string): void {
  const code = readFileSync(path, 'utf8')
  writeFileSync(
    path,
    code.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  )
}

/** Built in another folder and moved, `main.js` last, so that a server that starts meanwhile finds a whole build. */
async function build(): Promise<void> {
  const startedMs = performance.now()
  const startedAt = new Date()
  let names: readonly string[]
  const outDir = join(DIST, `.build-${process.pid}`)
  mkdirSync(outDir, { recursive: true })
  try {
    const bundle = await rolldown({
      cwd: ROOT,
      input: ENTRIES,
      platform: 'node',
      external: NOT_BUNDLED,
      plugins: [threads, plainHttp],
      logLevel: 'warn',
    })
    // All files are in one folder, since the code refers to files beside it.
    const { output } = await bundle.write({
      dir: outDir,
      format: 'esm',
      entryFileNames: '[name].js',
      chunkFileNames: '[name]-[hash].js',
      sourcemap: true,
    })
    await bundle.close()
    const modules = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []))
    writeFileSync(join(outDir, 'third-party.txt'), thirdPartyText(modules))
    for (const name of globSync('*.js', { cwd: outDir })) escapeOthers(join(outDir, name))
    for (const path of DATA) copyFileSync(join(ROOT, path), join(outDir, basename(path)))
    names = globSync('*', { cwd: outDir }).toSorted(
      (left, right) => Number(left === 'main.js') - Number(right === 'main.js'),
    )
    for (const name of names) renameSync(join(outDir, name), join(DIST, name))
  } finally {
    rmSync(outDir, { recursive: true, force: true })
  }
  // Lists the files of this build; chunks of older builds stay for servers that still run them.
  const stamp = join(DIST, 'built')
  writeFileSync(stamp, `${names.join('\n')}\n`)
  // A source that was changed meanwhile is newer than what was read of it.
  utimesSync(stamp, startedAt, startedAt)
  process.stdout.write(`Built the server in ${((performance.now() - startedMs) / 1_000).toFixed(1)} s\n`)
}

await build()
