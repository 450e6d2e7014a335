import type { Principal } from '../../access/principal.ts'
import type { Reply, Route } from '../../http/edge.ts'

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
