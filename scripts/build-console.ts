import { existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { thirdPartyText } from './third-party.ts'

const ROOT = join(import.meta.dirname, '..')
const DIST = join(ROOT, 'console/dist')
const COMPRESSED = /\.(?:js|css|html|svg|json)$/
const BROTLI_QUALITY = 11
/** `scripts/console-font.ts` makes one of our files from it, and its licence is shipped like those of the code. */
const TYPEFACE = join(ROOT, 'node_modules/inter-ui/package.json')

await build()

/** Builds into a second folder and swaps the two, so that a server that starts meanwhile finds a whole build. */
async function build(): Promise<void> {
  const startedMs = performance.now()
  process.stdout.write('Building the console: once, and again when its sources change\n')
  const outDir = join(ROOT, `console/dist/.build-${process.pid}`)
  mkdirSync(outDir, { recursive: true })
  // The server beside which it builds was stopped.
  process.once('SIGTERM', () => {
    rmSync(outDir, { recursive: true, force: true })
    process.exit(1)
  })
  const { build: viteBuild } = await import('vite')
  const built = await viteBuild({
    root: join(ROOT, 'console'),
    configFile: join(ROOT, 'console/vite.config.ts'),
    logLevel: 'warn',
    build: { outDir, emptyOutDir: true },
  })
  const outputs = 'close' in built ? [] : [built].flat()
  const modules = outputs.flatMap(({ output }) => output.flatMap((file) => ('moduleIds' in file ? file.moduleIds : [])))
  writeFileSync(join(outDir, 'third-party.txt'), thirdPartyText([...modules, TYPEFACE]))
  compress(outDir)
  for (const name of globSync('*', { cwd: outDir })) swap(join(outDir, name), join(DIST, name))
  rmSync(outDir, { recursive: true, force: true })
  writeFileSync(join(DIST, 'built'), new Date().toISOString())
  process.stdout.write(`Built the console in ${((performance.now() - startedMs) / 1_000).toFixed(1)} s\n`)
}

function swap(from: string, to: string): void {
  const old = `${to}.old-${process.pid}`
  if (existsSync(to)) renameSync(to, old)
  renameSync(from, to)
  rmSync(old, { recursive: true, force: true })
}

function compress(directory: string): void {
  for (const name of globSync('**/*', { cwd: directory }).filter((name) => COMPRESSED.test(name))) {
    const path = join(directory, name)
    if (!statSync(path).isFile()) continue
    const body = readFileSync(path)
    writeFileSync(
      `${path}.br`,
      brotliCompressSync(body, {
        params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY, [constants.BROTLI_PARAM_SIZE_HINT]: body.length },
      }),
    )
    writeFileSync(`${path}.gz`, gzipSync(body, { level: 9 }))
  }
}
