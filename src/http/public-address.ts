import type { IncomingMessage } from 'node:http'

/** The address for links. Host is only shown and decides nothing; what is no host name is not shown. */
export function publicAddress(publicUrl: string | null, { request }: { readonly request: IncomingMessage }): string {
  const { host } = request.headers
  return publicUrl ?? `http://${host !== undefined && /^[A-Za-z0-9.[\]:-]{1,255}$/.test(host) ? host : '127.0.0.1:8080'}`
}
