import type { IncomingHttpHeaders } from 'node:http'

/** Headers that name an account, carry a key, or choose what is billed: those are ours (clients.md D-14.2). */
const OURS = /key|token|auth|cookie|org|project|workspace|account|user|profile|tier|priority|speed/
const VALUE = /^[\x20-\x7e]{1,8192}$/
const HEADERS_MAX = 16

/** Headers of a vendor that go with a body to a provider that speaks its protocol, known to us or not. */
export function passedHeaders(headers: IncomingHttpHeaders, prefix: string): Readonly<Record<string, string>> {
  const passed = Object.entries(headers).flatMap(([name, value]) =>
    name.startsWith(prefix) && !OURS.test(name) && typeof value === 'string' && VALUE.test(value)
      ? [[name, value] as const]
      : [],
  )
  return Object.fromEntries(passed.slice(0, HEADERS_MAX))
}
