import type { IncomingMessage } from 'node:http'
import { TrustedProxies } from './client-ip.ts'
import type { Call } from './edge.ts'

/**
 * Whether a client reaches us over TLS: the operator's own address says it for all, else the trusted proxy that it came
 * through.
 */
export function createIsSecure(
  publicUrl: string | null,
  trustedProxies: readonly string[],
): (request: IncomingMessage) => boolean {
  if (publicUrl?.startsWith('https:') === true) return () => true
  const proxies = new TrustedProxies(trustedProxies)
  return (request) => proxies.isSecure(request)
}

/**
 * The address for links, without a trailing slash. Host is only shown and decides nothing; what is no host name is not
 * shown.
 */
export function publicAddress(
  publicUrl: string | null,
  { request, isSecure }: Pick<Call<unknown>, 'request' | 'isSecure'>,
): string {
  if (publicUrl !== null) return publicUrl
  const { host } = request.headers
  return `${isSecure ? 'https' : 'http'}://${host !== undefined && /^[A-Za-z0-9.[\]:-]{1,255}$/.test(host) ? host : '127.0.0.1:8080'}`
}
