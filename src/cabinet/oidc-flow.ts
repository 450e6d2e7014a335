import { publicUrlOf } from '../http/public-url.ts'
import type { CabinetCall, CabinetPorts } from './ports.ts'

export const FLOW_SECONDS = 600
export const FLOW_COOKIE = 'tg_oidc'
export const CALLBACK = '/cabinet/v1/oidc/callback'

export function redirectUri({ publicUrl }: Pick<CabinetPorts, 'publicUrl'>, call: CabinetCall): string {
  return `${publicUrlOf(publicUrl, call)}${CALLBACK}`
}

/** Sent only to the callback. SameSite is Lax, since the browser comes there from the issuer's site. */
export function flowCookie({ isSecure }: CabinetCall, value: string, maxAgeSeconds: number): string {
  return `${FLOW_COOKIE}=${value}; Path=${CALLBACK}; HttpOnly; SameSite=Lax; Max-Age=${maxAgeSeconds}${isSecure ? '; Secure' : ''}`
}
