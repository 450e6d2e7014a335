import type { IncomingMessage } from 'node:http'
import type { Cipher } from '../lib/cipher.ts'
import type { Clock } from '../lib/clock.ts'
import type { IdSource } from '../lib/ids.ts'
import { cookieOf } from './cookies.ts'

const PURPOSE = 'console/known-device/v1'
const KEEP_SECONDS = 180 * 86_400
const ID_LETTERS = 22
/** The most people who share a browser; the one seen longest ago is dropped. */
const USERS_MAX = 8

interface Device {
  readonly id: string
  /** Users who signed in from it, the latest first. */
  readonly userIds: readonly string[]
  readonly untilMs: number
}

export interface KnownDevicePorts {
  readonly cipher: Cipher
  readonly clock: Clock
  readonly ids: IdSource
}

/**
 * Browsers that somebody has signed in from, recognised by an encrypted cookie. It opens nothing; it only prevents
 * strangers who guess passwords elsewhere from locking the user out.
 */
export class KnownDevices {
  readonly #ports: KnownDevicePorts

  constructor(ports: KnownDevicePorts) {
    this.#ports = ports
  }

  /** The device's id if this user has signed in from it; else null. */
  idFor(request: IncomingMessage, cookieName: string, userId: string): string | null {
    const device = this.#read(request, cookieName)
    return device !== null && device.userIds.includes(userId) ? device.id : null
  }

  /** The cookie's value that makes the browser known for this user too, and its lifetime. */
  remember(
    request: IncomingMessage,
    cookieName: string,
    userId: string,
  ): { readonly value: string; readonly maxAgeSeconds: number } {
    const { cipher, clock, ids } = this.#ports
    const before = this.#read(request, cookieName)
    const userIds = [userId, ...(before?.userIds ?? []).filter((id) => id !== userId)].slice(0, USERS_MAX)
    const device: Device = {
      id: before?.id ?? `dev_${ids.letters(ID_LETTERS)}`,
      userIds,
      untilMs: clock.now() + KEEP_SECONDS * 1_000,
    }
    return {
      value: cipher.encrypt(Buffer.from(JSON.stringify(device)), PURPOSE).toString('base64url'),
      maxAgeSeconds: KEEP_SECONDS,
    }
  }

  #read(request: IncomingMessage, cookieName: string): Device | null {
    const text = cookieOf(request, cookieName)
    if (text === null) return null
    try {
      // Only `remember` encrypts with this cipher.
      const device = JSON.parse(
        this.#ports.cipher.decrypt(Buffer.from(text, 'base64url'), PURPOSE).toString('utf8'),
      ) as Device
      return device.untilMs > this.#ports.clock.now() ? device : null
    } catch {
      // A forged, cut or undecryptable cookie counts as none.
      return null
    }
  }
}
