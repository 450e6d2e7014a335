import type { Principal } from '../../access/principal.ts'
import type { Reply, Route } from '../../http/edge.ts'
import type { Answer, OpenApiDocument, Operation, Parameter } from './openapi.ts'

export const STYLE = `
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 1rem }
code, pre { font: 14px/1.4 ui-monospace, monospace }
pre { background: color-mix(in srgb, currentColor 8%, transparent); border-radius: 4px; overflow-x: auto; padding: .5rem .75rem }
table { border-collapse: collapse; display: block; overflow-x: auto }
td, th { padding: .2rem .75rem .2rem 0; text-align: left; vertical-align: top }
summary { cursor: pointer; padding: .25rem 0 }
h3 { margin: 1.5rem 0 .25rem }
`

/** The document as a page for people: plain HTML without scripts. */
export function referencePage(document: OpenApiDocument): string {
  const { info, tags, paths, components } = document
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ title: `${method.toUpperCase()} ${path}`, operation })),
  )
  const parts = tags.map(({ name, description }) => {
    const own = operations.filter(({ operation }) => operation.tags.includes(name))
    return `<h2 id="${name}">${name}</h2><p>${escaped(description)}</p>${own.map(section).join('')}`
  })
  const schemas = Object.entries(components.schemas).map(
    ([name, schema]) => `<details id="schema-${name}"><summary><code>${name}</code></summary>${json(schema)}</details>`,
  )
  const contents = [...tags.map(({ name }) => name), 'records']
    .map((name) => `<a href="#${name}">${name}</a>`)
    .join(' · ')
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escaped(info.title)} API</title><link rel="stylesheet" href="/docs.css"></head><body><h1>${escaped(info.title)} API</h1><p>Version ${escaped(info.version)}. ${escaped(info.description)} The same for programs: <a href="/openapi.json">openapi.json</a>.</p><p>${contents}</p>${parts.join('')}<h2 id="records">records</h2>${schemas.join('')}</body></html>`
}

function section({ title, operation }: { readonly title: string; readonly operation: Operation }): string {
  const { summary, parameters, requestBody, responses, operationId } = operation
  const bodies = Object.entries(requestBody?.content ?? {}).map(
    ([type, { schema, example }]) =>
      `<p>Body, <code>${escaped(type)}</code>:</p>${shown(schema)}${example === undefined ? '' : `<p>Example:</p>${json(example)}`}`,
  )
  return `<h3 id="${operationId}"><code>${escaped(title)}</code></h3><p>${escaped(summary)}</p>${parameterTable(parameters)}${bodies.join('')}<p>Answers:</p><table>${Object.entries(responses).map(answerRow).join('')}</table>`
}

function parameterTable(parameters: readonly Parameter[]): string {
  if (parameters.length === 0) return ''
  const rows = parameters.map(
    ({ name, in: place, required, description = '', schema, example }) =>
      `<tr><td><code>${escaped(name)}</code></td><td>${place}${required ? ', required' : ''}</td><td>${escaped(description)}</td><td><code>${escaped(JSON.stringify(schema))}</code></td><td>${example === undefined ? '' : `<code>${escaped(String(example))}</code>`}</td></tr>`,
  )
  return `<table>${rows.join('')}</table>`
}

function answerRow([status, { description, content, 'x-error-types': types }]: [string, Answer]): string {
  const bodies = Object.entries(content ?? {}).map(([type, { schema }]) =>
    types === undefined ? `<code>${escaped(type)}</code>${shown(schema)}` : '',
  )
  return `<tr><td><code>${status}</code></td><td>${types === undefined ? '' : escaped(description)}${bodies.join('')}</td></tr>`
}

/** A named schema is a link. */
function shown(schema: unknown): string {
  // Schemas of the document are objects.
  const { $ref: reference } = schema as { readonly $ref?: string }
  if (reference === undefined) return json(schema)
  const name = reference.slice(reference.lastIndexOf('/') + 1)
  return ` <a href="#schema-${name}">${name}</a>`
}

function json(value: unknown): string {
  return `<pre>${escaped(JSON.stringify(value, null, 2))}</pre>`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}

const HEADERS = Object.freeze({
  'content-security-policy':
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'same-origin',
})

/** The reference's data, built when it is first requested. */
export interface Reference {
  readonly document: string
  readonly page: string
  readonly style: string
}

/** `GET /openapi.json`, and the same document as a page (operator.md 4). They need no key, and show no setting. */
export function referenceRoutes(make: () => Promise<Reference>): readonly Route<Principal>[] {
  let made: Promise<Reference> | null = null
  const get = (path: string, contentType: string, part: keyof Reference): Route<Principal> => ({
    method: 'GET',
    path,
    plane: 'open',
    body: 'none',
    priority: 'low',
    handle: async (): Promise<Reply> => {
      made ??= make()
      return { status: 200, body: (await made)[part], contentType, headers: HEADERS }
    },
  })
  return [
    get('/openapi.json', 'application/json; charset=utf-8', 'document'),
    get('/docs', 'text/html; charset=utf-8', 'page'),
    get('/docs.css', 'text/css; charset=utf-8', 'style'),
  ]
}
