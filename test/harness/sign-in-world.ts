import { Secret, TOTP } from 'otpauth'
import { movingGateway, type MovingGateway } from './gateway.ts'

export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS
export let server: MovingGateway

/** An authenticator's code at the server's time. */
export function codeAt(secret: string, offsetMs = 0): string {
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: server.clock.now() + offsetMs })
}

/** A server with a clock that the test advances, for the tests of the calling file. */
export async function serveSignIn(): Promise<void> {
  server = await movingGateway({ catalog: 'bundled: true\n', env: { TRUSTED_PROXIES: '127.0.0.1/32' } })
}
