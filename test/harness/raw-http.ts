import { connect, type Socket } from 'node:net'
import { patient } from './patience.ts'

export interface RawAnswer {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

export interface RawOptions {
  readonly idleMs?: number
  /** Ends the exchange as soon as it returns true for the received text. */
  readonly until?: (text: string) => boolean
}

/**
 * Sends bytes unchanged, and returns everything received, as Latin-1, until the connection closes or is silent for
 * `idleMs` (longer on a busy machine).
 */
export function exchangeRaw(port: number, bytes: string | Buffer, options: RawOptions = {}): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    let text = ''
    let timer: NodeJS.Timeout | undefined
    const arm = (): void => {
      clearTimeout(timer)
      // oxlint-disable-next-line eslint/no-restricted-globals -- closes a silent connection
      timer = setTimeout(() => socket.destroy(), patient(options.idleMs ?? 2_000))
    }
    arm()
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      if (options.until?.(text) === true) socket.destroy()
      else arm()
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      clearTimeout(timer)
      resolve(text)
    })
    socket.write(bytes)
  })
}

/** Whether the first response has all bytes of its Content-Length. */
export function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n')
  const length = /^content-length: (\d+)\r$/im.exec(text.slice(0, end + 1))?.[1]
  return end !== -1 && length !== undefined && text.length >= end + 4 + Number(length)
}

/** Parses the first response of raw text. */
export function parseRaw(text: string): RawAnswer {
  const end = text.indexOf('\r\n\r\n')
  const [statusLine = '', ...lines] = text.slice(0, end).split('\r\n')
  const headers = new Map<string, string>()
  for (const line of lines) {
    const colon = line.indexOf(':')
    headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim())
  }
  return {
    status: Number(statusLine.split(' ')[1]),
    headers,
    body: Buffer.from(text.slice(end + 4), 'latin1').toString('utf8'),
  }
}

/** Writes `times` chunks for a client that does not read, until it is done or the socket accepts no more. */
export async function pump(socket: Socket, chunk: Buffer, times: number): Promise<void> {
  for (let count = 0; count < times && !socket.destroyed; count += 1) {
    if (socket.write(chunk)) continue
    await new Promise<void>((resolve) => {
      const go = (): void => {
        socket.off('drain', go).off('close', go)
        resolve()
      }
      socket.on('drain', go).on('close', go)
    })
  }
}
