import type { IncomingMessage } from 'node:http'
import { TrustedProxies } from './client-ip.ts'
import type { Call } from './edge.ts'

/** Whether a client uses TLS. The operator's address decides for all clients; without it, the trusted proxy. */
export function createIsSecure(
  publicUrl: string | null,
  trustedProxies: readonly string[],
): (request: IncomingMessage) => boolean {
  if (publicUrl?.startsWith('https:') === true) return () => true
  const proxies = new TrustedProxies(trustedProxies)
  return (request) => proxies.isSecure(request)
}

/**
 * The address for links, without a trailing slash. Host is only displayed and decides nothing; an invalid host name is
 * not displayed.
 */
export function publicUrlOf(
  publicUrl: string | null,
  { request, isSecure }: Pick<Call<unknown>, 'request' | 'isSecure'>,
): string {
  if (publicUrl !== null) return publicUrl
  const { host } = request.headers
  return `${isSecure ? 'https' : 'http'}://${host !== undefined && /^[A-Za-z0-9.[\]:-]{1,255}$/.test(host) ? host : '127.0.0.1:8080'}`
}
