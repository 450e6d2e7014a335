import { peerIp } from './client-ip.ts'
import type { Call } from './edge.ts'

/**
 * The address for links, without a trailing slash. Host is only shown and decides nothing; what is no host name is not shown. The scheme
 * is the one that a trusted proxy was asked by: only behind one is the client another than the socket's end.
 */
export function publicAddress(publicUrl: string | null, { request, clientIp }: Pick<Call<unknown>, 'request' | 'clientIp'>): string {
  if (publicUrl !== null) return publicUrl
  const { host, 'x-forwarded-proto': forwarded } = request.headers
  const scheme = forwarded === 'https' && clientIp !== peerIp(request) ? 'https' : 'http'
  return `${scheme}://${host !== undefined && /^[A-Za-z0-9.[\]:-]{1,255}$/.test(host) ? host : '127.0.0.1:8080'}`
}
