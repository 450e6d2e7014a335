import type { IncomingMessage } from 'node:http'
import type { Principal } from '../../access/principal.ts'
import { accentCss } from '../../base/accent.ts'
import { ApiError } from '../../base/errors.ts'
import type { Call, Reply, Route } from '../../http/edge.ts'
import { publicUrlOf } from '../../http/public-url.ts'
import { isObject } from '../../kinds/fields/body-fields.ts'

/** The page at `/` without a console. `address` contains no character that is special in HTML. */
function startPage(address: string): string {
  return page(
    'Tollgate',
    `<h1>Tollgate</h1>
<p class="lead">One OpenAI-shaped API over many model providers, billed exactly to the last micro-ruble.</p>
<section><h2>Address</h2><pre><code>${address}/v1</code></pre></section>
<section><h2>First request</h2>
<p>The key is printed by the first <code>npm start</code>; further keys come from the admin API.</p>
<pre><code>curl ${address}/v1/chat/completions \\
  -H "Authorization: Bearer $TOLLGATE_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"model":"sandbox/chat","messages":[{"role":"user","content":"Hello"}]}'</code></pre></section>
<section><h2>Look around</h2><ul>
<li><a href="/v1/health">/v1/health</a> – what exists</li>
<li><code>GET /v1/models</code> – models and prices</li>
<li><code>GET /v1/user/balance</code> – what is left</li>
<li><code>GET /v1/generation</code> – what each request cost</li>
</ul></section>`,
  )
}

const SETUP_PAGE = page(
  'Tollgate: first administrator',
  `<h1>First administrator</h1>
<p class="lead">This link works once. Choose the e-mail and the password you will sign in with.</p>
<form id="setup" method="post" action="/setup">
<label for="email">E-mail</label><input id="email" name="email" type="email" autocomplete="username" maxlength="255" required>
<label for="password">Password, 12 to 128 characters</label><input id="password" name="password" type="password" autocomplete="new-password" minlength="12" maxlength="128" required>
<label for="code">Code, where you have two-step sign-in</label><input id="code" name="code" autocomplete="one-time-code" maxlength="100">
<button type="submit">Create administrator</button>
<p id="outcome" role="status"></p>
</form>
<script src="/setup.js"></script>`,
)

const SETUP_SCRIPT = `'use strict'
const form = document.getElementById('setup')
const outcome = document.getElementById('outcome')
form.addEventListener('submit', async (event) => {
  event.preventDefault()
  const button = form.querySelector('button')
  button.disabled = true
  outcome.textContent = 'Creating…'
  const token = new URLSearchParams(location.search).get('token')
  try {
    const answer = await fetch('/setup', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ token, email: form.email.value, password: form.password.value, code: form.code.value }),
    })
    const body = await answer.json()
    outcome.textContent = answer.ok ? 'Done. You are the administrator of this server.' : body.error.message
    button.disabled = answer.ok
  } catch {
    outcome.textContent = 'The server did not answer. Try again.'
    button.disabled = false
  }
})
`

const STYLE = `:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fbfaf8; --line: #dcd8d0; --accent: #0b6e4f; --code: #f1eee8 }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e6e1; --paper: #16181b; --line: #34383d; --accent: #5cc79c; --code: #202327 } }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif }
main { max-width: 46rem; margin: 0 auto; padding: 3rem 1.25rem }
h1 { font-size: 2.1rem; letter-spacing: -.02em; margin: 0 0 .25rem }
h2 { font-size: 1rem; margin: 2rem 0 .5rem; color: var(--accent) }
.lead { font-size: 1.1rem; margin: 0 }
pre { background: var(--code); border: 1px solid var(--line); border-radius: .5rem; padding: .9rem 1rem; overflow-x: auto }
code { font: .88rem/1.5 ui-monospace, monospace }
a { color: var(--accent) }
ul { padding-left: 1.2rem }
form { display: grid; gap: .5rem; max-width: 24rem; margin-top: 1.5rem }
input, button { font: inherit; padding: .55rem .7rem; border: 1px solid var(--line); border-radius: .4rem; background: var(--code); color: inherit }
button { background: var(--accent); color: var(--paper); border: 0; margin-top: .5rem; cursor: pointer }
button:disabled { opacity: .6; cursor: default }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }
`

function page(title: string, body: string, head = ''): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title><link rel="stylesheet" href="/start.css">${head}</head>
<body><main>${body}</main></body></html>
`
}

const PAGE_HEADERS = Object.freeze({
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
})

/** Until the console is built. It opens the console at the same address, with the token of a set-up link. */
export const BUILDING_REPLY: Reply = {
  status: 200,
  contentType: 'text/html; charset=utf-8',
  headers: { ...PAGE_HEADERS, 'cache-control': 'no-store' },
  body: page(
    'Tollgate',
    `<h1>Tollgate</h1>
<p class="lead" role="status">The console is being built, which takes some seconds once. This page then opens it; the API answers already.</p>`,
    '<meta http-equiv="refresh" content="1">',
  ),
}

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
  /** The operator's colour; empty = none. */
  readonly accent: () => string
  /** The console's page; null = it is not built. */
  readonly consolePage: (request: IncomingMessage) => Reply | null
}

/** The pages at `/` and behind the printed set-up link: the console's, and plain ones where it is not built. */
export function startPageRoutes(ports: StartPagePorts): readonly Route<Principal>[] {
  const get = (path: string, type: string, body: (call: Call<Principal>) => string): Route<Principal> => ({
    method: 'GET',
    path,
    plane: 'open',
    body: 'none',
    handle: (call) => ({
      status: 200,
      body: body(call),
      contentType: `text/${type}; charset=utf-8`,
      headers: PAGE_HEADERS,
    }),
  })
  const pageAt = (path: string, plain: (call: Call<Principal>) => string): Route<Principal> => {
    const route = get(path, 'html', plain)
    return { ...route, handle: (call) => ports.consolePage(call.request) ?? route.handle(call) }
  }
  return [
    {
      method: 'POST',
      path: '/setup',
      plane: 'open',
      body: 'json',
      refuse: foreignPage,
      handle: (call) => setUp(ports, call),
    },
    pageAt('/', (call) => startPage(publicUrlOf(ports.publicUrl, call))),
    pageAt('/setup', () => SETUP_PAGE),
    get('/start.css', 'css', () => STYLE),
    get('/setup.js', 'javascript', () => SETUP_SCRIPT),
    brandRoute(ports.accent),
  ]
}

/** The colours of the service, which its pages load before they are drawn. */
function brandRoute(accentNow: () => string): Route<Principal> {
  let made = { accent: '', css: '' }
  return {
    method: 'GET',
    path: '/brand.css',
    plane: 'open',
    body: 'none',
    handle: ({ request }) => {
      const accent = accentNow()
      if (made.accent !== accent) made = { accent, css: accentCss(accent) }
      const headers = { ...PAGE_HEADERS, etag: `"${accent}"`, 'cache-control': 'no-cache' }
      if (request.headers['if-none-match'] === headers.etag) return { status: 304, body: undefined, headers }
      return { status: 200, body: made.css, contentType: 'text/css; charset=utf-8', headers }
    },
  }
}

/** The refusal of a request from a page of another site. A set-up call without a browser sends no Origin. */
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
