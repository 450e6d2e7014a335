import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const ROOT = join(import.meta.dirname, '..')
const DIRECT_MAX = 20
const TOTAL_MAX = 120
const EXACT = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/
const SHA512 = /^sha512-[A-Za-z0-9+/]{86}==$/
/** Development packages that run a script when installed, each with the reason. */
const SCRIPTS_ALLOWED: Readonly<Record<string, string>> = {
  node: 'links the binary of the runtime that the project pins',
  protobufjs: 'tells of a version of it; a package of Google brings it, and npm does not run it unless allowed',
  '@openrouter/sdk': 'checks its own types and may fail; npm does not run it unless allowed',
}

interface LockEntry {
  readonly version?: string
  readonly resolved?: string
  readonly integrity?: string
  readonly link?: boolean
  readonly dev?: boolean
  readonly optional?: boolean
  readonly devOptional?: boolean
  readonly peer?: boolean
  readonly hasInstallScript?: boolean
}

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

// Both files have npm's own format; any other shape fails the assertions below.
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest
const consoleManifest = JSON.parse(readFileSync(join(ROOT, 'console/package.json'), 'utf8')) as Pick<
  Manifest,
  'devDependencies'
>
const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
  readonly lockfileVersion: number
  readonly packages: Readonly<Record<string, LockEntry>>
}
/** The project's own two packages. */
const OWN: ReadonlySet<string> = new Set(['', 'console', 'node_modules/@tollgate/console'])
const entries = Object.entries(lock.packages).filter(([path]) => !OWN.has(path))
const runtime = entries.filter(
  ([, { dev, devOptional, optional }]) => dev !== true && devOptional !== true && optional !== true,
)

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
}

test('every dependency of package.json is one exact version, and the lock file holds that version', () => {
  for (const [name, version] of Object.entries({
    ...manifest.dependencies,
    ...manifest.devDependencies,
    ...manifest.optionalDependencies,
    ...consoleManifest.devDependencies,
  })) {
    assert.match(version, EXACT, name)
    assert.equal(lock.packages[`node_modules/${name}`]?.version, version, name)
  }
})

test('every locked package comes from the registry, whole as its sha512 says', () => {
  assert.equal(lock.lockfileVersion, 3)
  assert.ok(entries.length > 0)
  for (const [path, entry] of entries) {
    assert.match(entry.integrity ?? '', SHA512, path)
    assert.match(entry.version ?? '', EXACT, path)
    assert.notEqual(entry.link, true, `${path} is a link out of the project`)
    assert.match(entry.resolved ?? 'https://', /^https:\/\//, `${path} is not from a registry`)
    assert.doesNotMatch(entry.resolved ?? '', /git|codeload/, `${path} is a repository, not a release`)
  }
})

test(`at run time there are at most ${DIRECT_MAX} direct and ${TOTAL_MAX} packages in all, and none runs a script when installed`, () => {
  const direct = Object.keys(manifest.dependencies).length
  assert.ok(direct > 0 && direct <= DIRECT_MAX, `${direct} direct`)
  assert.ok(runtime.length >= direct && runtime.length <= TOTAL_MAX, `${runtime.length} in all`)
  assert.deepEqual(
    runtime.filter(([, { hasInstallScript }]) => hasInstallScript === true).map(([path]) => path),
    [],
  )
})

test('a development package runs a script when installed only where that is known and wanted', () => {
  const scripted = entries
    .filter(([, { hasInstallScript, optional }]) => hasInstallScript === true && optional !== true)
    .map(([path]) => nameOf(path))
  assert.deepEqual(
    scripted.filter((name) => SCRIPTS_ALLOWED[name] === undefined),
    [],
  )
})

test('every runtime dependency has its reason in docs/decisions', () => {
  const page = readFileSync(join(ROOT, 'docs/decisions/0004-dependencies.md'), 'utf8')
  const [server = '', console_ = ''] = page.split('## In the console')
  const reasoned = [...server.matchAll(/^\| `([^`]+)` \|/gm)].map(([, name]) => name)
  const inConsole = [...console_.matchAll(/`([^`\s]+)`(?=[^|\n]*\|[^|\n]*\|)/g)].map(([, name]) => name)
  assert.deepEqual(new Set(Object.keys(consoleManifest.devDependencies)), new Set(inConsole), 'the console')
  assert.deepEqual(
    Object.keys({ ...manifest.dependencies, ...manifest.devDependencies }).filter((name) => !reasoned.includes(name)),
    [],
    'without a reason',
  )
  assert.deepEqual(
    reasoned.filter(
      (name) =>
        name !== undefined && manifest.dependencies[name] === undefined && manifest.devDependencies[name] === undefined,
    ),
    [],
    'no longer a dependency',
  )
})
