import type { IncomingMessage } from 'node:http'
import type { Principal } from '../access/principal.ts'
import { ApiError } from '../base/errors.ts'
import type { Call, Reply, Route } from '../http/edge.ts'
import { publicUrlOf } from '../http/public-url.ts'
import { isObject } from '../kinds/fields/json-fields.ts'
import { SETUP_PAGE, SETUP_SCRIPT, STYLE, startPage } from '../api/public/start-page.ts'

const PAGE_HEADERS = Object.freeze({
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
})

export interface StartPagePorts {
  /** Uses up a set-up link; resolves to the session's `Set-Cookie` headers. */
  readonly setUp: (
    request: {
      readonly token: string
      readonly email: string
      readonly password: string
      readonly code: string | null
    },
    call: Call<Principal>,
  ) => Promise<readonly string[]>
  /** null = taken from the request's Host. */
  readonly publicUrl: string | null
  /** The console's build has its own pages for these paths. */
  readonly hasConsole: boolean
}

/** The plain page at `/`, and the page behind the printed set-up link. */
export function startPageRoutes(ports: StartPagePorts): readonly Route<Principal>[] {
  const get = (path: string, contentType: string, body: (call: Call<Principal>) => string): Route<Principal> => ({
    method: 'GET',
    path,
    plane: 'open',
    body: 'none',
    handle: (call) => ({ status: 200, body: body(call), contentType, headers: PAGE_HEADERS }),
  })
  const setup: Route<Principal> = {
    method: 'POST',
    path: '/setup',
    plane: 'open',
    body: 'json',
    refuse: foreignPage,
    handle: (call) => setUp(ports, call),
  }
  if (ports.hasConsole) return [setup]
  return [
    setup,
    get('/', 'text/html; charset=utf-8', (call) => startPage(publicUrlOf(ports.publicUrl, call))),
    get('/setup', 'text/html; charset=utf-8', () => SETUP_PAGE),
    get('/start.css', 'text/css; charset=utf-8', () => STYLE),
    get('/setup.js', 'text/javascript; charset=utf-8', () => SETUP_SCRIPT),
  ]
}

/** A set-up call without a browser sends no Origin. */
function foreignPage({ headers: { 'sec-fetch-site': site, origin, host } }: IncomingMessage): ApiError | null {
  const foreign =
    site === undefined
      ? origin !== undefined && (!URL.canParse(origin) || new URL(origin).host !== host)
      : site !== 'same-origin'
  return foreign ? new ApiError('access_denied', 'The set-up page must be sent from this server’s own page') : null
}

async function setUp(ports: StartPagePorts, call: Call<Principal>): Promise<Reply> {
  const body = isObject(call.json) ? call.json : {}
  const cookies = await ports.setUp(
    {
      token: textOf(body, 'token'),
      email: textOf(body, 'email'),
      password: textOf(body, 'password'),
      code: body['code'] === undefined || body['code'] === '' ? null : textOf(body, 'code'),
    },
    call,
  )
  return { status: 201, body: { created: true }, headers: { 'set-cookie': cookies } }
}

function textOf(body: Readonly<Record<string, unknown>>, name: string): string {
  const value = body[name]
  if (typeof value === 'string' && value !== '' && value.length <= 300) return value
  throw new ApiError('invalid_input', `${name}: is required, a text of at most 300 characters`)
}
