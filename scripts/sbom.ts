import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * `npm run sbom`: the software bill of materials of the npm package, CycloneDX. The npm package has no dependencies:
 * the bill lists the packages whose code is in its two bundles.
 */
const ROOT = join(import.meta.dirname, '..')
const LISTS = ['dist/third-party.txt', 'console/dist/third-party.txt']
const TITLE = /^((?:@[^/\s]+\/)?[^/\s]+) (\d+\.\d+\.\d\S*) \((.+)\)$/gm

interface Locked {
  readonly version?: string
  readonly integrity?: string
}

const unbuilt = LISTS.find((name) => !existsSync(join(ROOT, name)))
if (unbuilt !== undefined) throw new Error(`There is no ${unbuilt}: npm run build`)
// Our own files, which npm has already parsed.
const own = JSON.parse(read('package.json')) as Readonly<Record<'name' | 'version' | 'license', string>>
const lock = JSON.parse(read('package-lock.json')) as { readonly packages: Readonly<Record<string, Locked>> }
const licences = new Map(
  LISTS.flatMap((name) => [...read(name).matchAll(TITLE)]).map(([, name = '', version = '', licence = '']) => [
    `${name}@${version}`,
    licence,
  ]),
)
const components = [...licences]
  .toSorted(([left], [right]) => (left < right ? -1 : 1))
  .map(([id, licence]) => component(id, licence))
const bom = {
  bomFormat: 'CycloneDX',
  specVersion: '1.5',
  version: 1,
  metadata: {
    component: {
      type: 'application',
      'bom-ref': purl(own.name, own.version),
      name: own.name,
      version: own.version,
      purl: purl(own.name, own.version),
      licenses: [{ license: { id: own.license } }],
    },
  },
  components,
}
process.stdout.write(`${JSON.stringify(bom, null, 2)}\n`)

function component(id: string, licence: string): object {
  const name = id.slice(0, id.lastIndexOf('@'))
  const version = id.slice(name.length + 1)
  const [, digest = ''] = /^sha512-(.+)$/.exec(integrityOf(name, version)) ?? []
  if (digest === '') throw new Error(`package-lock.json has no ${id}, which is in a bundle: npm run build`)
  return {
    type: 'library',
    'bom-ref': purl(name, version),
    name,
    version,
    purl: purl(name, version),
    hashes: [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }],
    licenses: [/ (?:OR|AND|WITH) /.test(licence) ? { expression: licence } : { license: { name: licence } }],
  }
}

/** A package may be installed in several versions, all but one of them deeper. */
function integrityOf(name: string, version: string): string {
  const found = Object.entries(lock.packages).find(
    ([path, locked]) => path.endsWith(`node_modules/${name}`) && locked.version === version,
  )
  return found?.[1].integrity ?? ''
}

function purl(name: string, version: string): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`
}

function read(name: string): string {
  return readFileSync(join(ROOT, name), 'utf8')
}
