import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { audioForm, wavFile } from '../harness/audio-files.ts'
import { pathTemplate } from '../../src/http/router.ts'
import { REQUEST_TYPE_TABLE } from '../../src/tables/model-types.ts'
import { signedUp } from '../harness/console-client.ts'
import { movingGateway } from '../harness/gateway.ts'

/** A section of docs/reference/api.md. */
interface Section {
  readonly method: string
  readonly path: string
  readonly text: string
}

interface Example {
  readonly section: Section
  /** Of the request, with its query. */
  readonly path: string
  readonly json: Record<string, unknown> | null
  /** Text fields of a form. */
  readonly form: Record<string, string> | null
}

const SECTION = /^### ([A-Z]+) (\/v1\/\S+)\n([\s\S]*?)(?=^#{2,3} |(?![\s\S]))/gm
/** Its answer repeats fields of the request, which the section lists. */
const REPEATS = '/v1/responses'

const SECTIONS = [...page('api.md').matchAll(SECTION)].map(([, method = '', path = '', text = '']): Section => ({
  method,
  path,
  text,
}))
const EXAMPLES = SECTIONS.flatMap((section) => examplesOf(section))

const server = await movingGateway({ catalog: '' })
function page(name: string): string {
  return readFileSync(join(import.meta.dirname, '../../docs/reference', name), 'utf8')
}

/** The `curl` lines of a section. */
function examplesOf(section: Section): readonly Example[] {
  return [...section.text.matchAll(/^```sh\ncurl "?\$BASE([^\s"]+)"?([\s\S]*?)^```$/gm)].map(
    ([, path = '', rest = '']) => {
      const json = /-d '(.*)'/.exec(rest)?.[1]
      const fields = [...rest.matchAll(/-F (\w+)=([^@\s]+)/g)].map(([, name = '', value = '']) => [name, value])
      return {
        section,
        path,
        json: json === undefined ? null : JSON.parse(json),
        form: fields.length === 0 ? null : Object.fromEntries(fields),
      }
    },
  )
}

/** `METHOD /path` of the routes under a path, as the reference writes them. */
function routesBelow(path: string): readonly string[] {
  return server.app.routes
    .filter((route) => route.path.startsWith(path))
    .map((route) => `${route.method} ${route.path.replaceAll(/(?<=\/)[:*](\w+)/g, '{$1}')}`)
    .toSorted()
}

/** Records of the page by their names. */
const RECORDS = new Map(
  [...(page('api.md').split('\n## Records\n')[1] ?? '').matchAll(/^### (\w+)\n([\s\S]*?)(?=^### |(?![\s\S]))/gm)].map(
    ([, name = '', text = '']) => [name, text],
  ),
)

/** A section with the records that it links. */
function withRecords(text: string): string {
  return text + [...text.matchAll(/\[(\w+)\]\(#/g)].map(([, name = '']) => RECORDS.get(name) ?? '').join('')
}

/** All code-styled names in the text of a section. */
function namesIn(text: string): ReadonlySet<string> {
  return new Set([...text.replaceAll(/```[\s\S]*?```/g, '').matchAll(/[`"]([a-zA-Z_]+)/g)].map(([, name = '']) => name))
}

test('api.md has a section for every route of the API, operator.md a row for every one of the admin API, and no others', () => {
  const rows = [...page('operator.md').matchAll(/`([A-Z]+ \/admin\/v1\/[^`*]+)`/g)].map(([, name = '']) => name)
  assert.deepEqual(SECTIONS.map(({ method, path }) => `${method} ${path}`).toSorted(), routesBelow('/v1/'))
  assert.deepEqual(rows.toSorted(), routesBelow('/admin/v1/'))
})

test('the invariants of the standard are those that the audit looks at, by the names that it gives them', async () => {
  const stated = [...page('guarantees.md').matchAll(/^\| (I\d+) \| (.*) \|$/gm)].map(([, id, name]) => [id, name])
  const { body } = await server.admin('GET', '/admin/v1/audit')
  const looked = body.checks.map(({ id, name }: { id: string; name: string }) => [id, name])
  const byNumber = ([left]: string[], [right]: string[]): number => Number(left?.slice(1)) - Number(right?.slice(1))
  assert.deepEqual(stated, looked.toSorted(byNumber))
})

test('each paid route has an example, and its fields are in the tables', () => {
  const paid = server.app.routes
    .filter(({ priority, path }) => priority === 'paid' && path.startsWith('/v1/'))
    .map(({ path }) => pathTemplate(path))
  const shown = new Set(EXAMPLES.map(({ section }) => section.path))
  const same = SECTIONS.filter(({ text }) => text.startsWith('\nThe same')).map(({ path }) => path)
  assert.deepEqual(
    paid.filter((path) => !shown.has(path) && !same.includes(path)),
    [],
  )
  for (const { section, json } of EXAMPLES) {
    const known = namesIn(section.text)
    assert.deepEqual(
      Object.keys(json ?? {}).filter((name) => !known.has(name)),
      [],
      section.path,
    )
  }
})

test('each path of a paid request is served, and openapi.json has it', async () => {
  const served = new Set(server.app.routes.filter(({ priority }) => priority === 'paid').map(({ path }) => path))
  const { body } = await server.request('GET', '/openapi.json')
  const paths = Object.values(REQUEST_TYPE_TABLE).flatMap((row) => row.paths)
  assert.deepEqual(
    paths.filter((path) => !served.has(path)),
    [],
  )
  assert.deepEqual(
    paths.filter((path) => body.paths[pathTemplate(path)]?.post === undefined),
    [],
  )
})

async function managementKey(name: string): Promise<string> {
  const { browser } = await signedUp(server, `${name}@example.com`)
  return (await browser.post('management-keys', { name })).body.key
}

for (const { section, path, json, form } of EXAMPLES) {
  test(`the example of ${section.method} ${section.path} works, and the section names each key of its answer`, async () => {
    const key = section.path.startsWith('/v1/keys')
      ? await managementKey(section.method)
      : (await server.createAccount({ balance: 1_000 })).key
    const upload = form === null ? null : audioForm(form, { bytes: wavFile(1) })
    const sent = upload ?? (json === null ? {} : { body: json })
    const { status, headers, text, body } = await server.request(section.method, path, { key, ...sent })
    assert.ok(status >= 200 && status < 300, `${status} ${text.slice(0, 200)}`)
    if (body === null) return assert.match(headers['content-type'] ?? '', /^audio\//)
    const known = namesIn(withRecords(section.text))
    if (section.path !== REPEATS)
      assert.deepEqual(
        // The items of a stream that is an array.
        Object.keys(Array.isArray(body) ? body[0] : body).filter((name) => !known.has(name)),
        [],
      )
  })
}
