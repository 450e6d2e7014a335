import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { gateway, type Answer } from '../harness/gateway.ts'

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/automation.md'), 'utf8')
/** The provider sends this with each request, whatever the method. */
const HEADERS = { 'content-type': 'application/json' }

interface Resource {
  readonly name: string
  readonly path: string
  readonly createPath: string
  readonly id: string
  /** As the page writes it, with `$NAME$` for the id of another resource. */
  readonly data: string
}

const server = await gateway()

/** The resources of the page's example, in its order. */
function resources(): readonly Resource[] {
  const [, block = ''] = /^```hcl\n(.*?)^```/ms.exec(PAGE) ?? []
  assert.match(block, /^  create_method += "PUT"$/m)
  return [...block.matchAll(/^resource "restapi_object" "(\w+)" \{\n(.*?)^\}/gms)].map(([, name = '', text = '']) => {
    const value = (field: string): string => new RegExp(`^  ${field} += "(.*)"$`, 'm').exec(text)?.[1] ?? ''
    assert.match(text, /ignore_server_additions += true/)
    const [, data = ''] = /jsonencode\((\{.*\})\)/s.exec(text) ?? []
    return { name, path: value('path'), createPath: value('create_path'), id: value('object_id'), data: jsonOf(data) }
  })
}

/** HCL's objects differ from JSON's in their names, and in line ends in the place of commas. */
function jsonOf(hcl: string): string {
  return hcl
    .replaceAll(/jsondecode\(restapi_object\.(\w+)\.api_response\)\.id/g, '"$$$1$$"')
    .replaceAll(/(\w+) += /g, '"$1": ')
    .replaceAll(/(?<=[^{\s])\n(?! *\})/g, ',\n')
}

function send(method: string, path: string, body?: unknown): Promise<Answer> {
  const options = { key: server.adminToken, headers: HEADERS, ...(body === undefined ? {} : { body }) }
  return server.request(method, `/admin/v1${path}`, options)
}

test("the page's example for Terraform: applied, planned without a difference, mended after a drift, and destroyed", async () => {
  const ids = new Map<string, string>()
  const made = resources().map((resource) => ({
    ...resource,
    body: (): Record<string, unknown> =>
      JSON.parse(resource.data.replaceAll(/\$(\w+)\$/g, (_whole, name: string) => ids.get(name) ?? '')),
  }))
  assert.deepEqual(
    made.map(({ name }) => name),
    ['partners', 'team_a', 'backend'],
  )
  /** With `ignore_server_additions` only the description's own fields are compared. */
  const planned = async ({ path, id, body }: (typeof made)[number]): Promise<void> => {
    const read = await send('GET', `${path}/${id}`, {})
    for (const [field, value] of Object.entries(body())) assert.deepEqual(read.body[field], value, `${path} ${field}`)
  }
  for (const resource of made) {
    const { name, path, createPath, id, body } = resource
    const created = await send('PUT', createPath.replace('{id}', id), body())
    assert.equal(created.status, 201, created.text)
    ids.set(name, created.body.id)
    if (name === 'backend') assert.match(created.body.key, /^sk-tg-/)
    await planned(resource)
    const total = async (): Promise<number> => (await send('GET', '/events?limit=1')).body.total
    const before = await total()
    assert.equal((await send('PUT', `${path}/${id}`, body())).status, 200)
    assert.equal(await total(), before, 'a second apply changes nothing')
  }
  const [, team] = made
  assert.ok(team !== undefined)
  await send('PATCH', `${team.path}/${team.id}`, { rate_limit: null })
  await assert.rejects(() => planned(team), /rate_limit/)
  await send('PUT', `${team.path}/${team.id}`, team.body())
  await planned(team)
  for (const { path, id } of made.toReversed()) {
    const destroyed = await send('DELETE', `${path}/${id}`)
    assert.equal(destroyed.status, 200, destroyed.text)
    assert.equal((await send('GET', `${path}/${id}`, {})).status, 404)
  }
})
