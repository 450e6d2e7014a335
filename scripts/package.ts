import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { isBuilt } from '../bin/program.js'

/**
 * `npm run package [-- FOLDER]`: the tarball of the npm package, in `dist/npm` unless another folder is given. It
 * contains both bundles and has no dependencies, so that an installation is one download. Prints its path.
 */
const ROOT = join(import.meta.dirname, '..')
const OUT = resolve(process.argv[2] ?? join(ROOT, 'dist/npm'))
const STAGE = join(OUT, 'package')
const REPOSITORY = process.env['TOLLGATE_REPOSITORY']
/** The fields of our manifest that also apply to the package. */
const MANIFEST_FIELDS = ['name', 'version', 'description', 'keywords', 'license', 'type', 'engines', 'bin']

if (!isBuilt()) throw new Error('dist is older than its sources: npm run build')
rmSync(STAGE, { recursive: true, force: true })
mkdirSync(STAGE, { recursive: true })
const builtFiles = readFileSync(join(ROOT, 'dist/built'), 'utf8').trim().split('\n')
for (const name of builtFiles) cpSync(join(ROOT, 'dist', name), join(STAGE, 'dist', name))
for (const name of ['bin', 'console/dist', 'LICENSE'])
  cpSync(join(ROOT, name), join(STAGE, name), { recursive: true, filter: (path) => !path.endsWith('.d.ts') })
cpSync(join(ROOT, 'deploy/npm/README.md'), join(STAGE, 'README.md'))

// Our own manifest, which npm has already parsed.
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Readonly<Record<string, unknown>>
const published = {
  ...Object.fromEntries(MANIFEST_FIELDS.map((name) => [name, manifest[name]])),
  // The release workflow sets it, and npm compares it with the provenance of the build.
  ...(REPOSITORY === undefined ? {} : { repository: { type: 'git', url: REPOSITORY } }),
}
writeFileSync(join(STAGE, 'package.json'), `${JSON.stringify(published, null, 2)}\n`)

const told = execFileSync('npm', ['pack', '--json', '--pack-destination', OUT], { cwd: STAGE, encoding: 'utf8' })
// npm documents the form of its output: a list with an entry for each package.
const [packed] = JSON.parse(told) as [{ readonly filename: string; readonly unpackedSize: number }]
process.stdout.write(`${join(OUT, packed.filename)}\n`)
