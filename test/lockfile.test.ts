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

interface Lock {
  readonly lockfileVersion: number
  readonly packages: Readonly<Record<string, LockEntry>>
}

// The files have npm's own format; any other shape fails the assertions below.
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest
const consoleManifest = JSON.parse(readFileSync(join(ROOT, 'console/package.json'), 'utf8')) as Pick<
  Manifest,
  'devDependencies'
>
const lock = readLock('package-lock.json')
const siteManifest = JSON.parse(readFileSync(join(ROOT, 'site/package.json'), 'utf8')) as Pick<
  Manifest,
  'devDependencies'
>
const siteLock = readLock('site/package-lock.json')
/** The project's own two packages. */
const OWN: ReadonlySet<string> = new Set(['', 'console', 'node_modules/@tollgate/console'])
const entries = Object.entries(lock.packages).filter(([path]) => !OWN.has(path))
const runtime = entries.filter(
  ([, { dev, devOptional, optional }]) => dev !== true && devOptional !== true && optional !== true,
)

function readLock(path: string): Lock {
  return JSON.parse(readFileSync(join(ROOT, path), 'utf8')) as Lock
}

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
  for (const [name, version] of Object.entries(siteManifest.devDependencies)) {
    assert.match(version, EXACT, name)
    assert.equal(siteLock.packages[`node_modules/${name}`]?.version, version, name)
  }
})

test('every locked package comes from the registry, whole as its sha512 says', () => {
  assert.deepEqual([lock.lockfileVersion, siteLock.lockfileVersion], [3, 3])
  const ofSite = Object.entries(siteLock.packages).filter(([path]) => path !== '')
  assert.ok(entries.length > 0 && ofSite.length > 0)
  for (const [path, entry] of [...entries, ...ofSite]) {
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
  const [server = '', others = ''] = page.split('## In the console')
  const [console_ = '', site = ''] = others.split('## For the site')
  const reasoned = [...server.matchAll(/^\| `([^`]+)` \|/gm)].map(([, name]) => name)
  const listed = (part: string): Set<string | undefined> =>
    new Set([...part.matchAll(/`([^`\s]+)`(?=[^|\n]*\|[^|\n]*\|)/g)].map(([, name]) => name))
  const inConsole = listed(console_)
  assert.deepEqual(new Set(Object.keys(siteManifest.devDependencies)), listed(site), 'the site')
  assert.deepEqual(new Set(Object.keys(consoleManifest.devDependencies)), inConsole, 'the console')
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
