import type { Socket } from 'node:net'

/** Stands in for a connection, and knows how to break it. */
export interface Breakable {
  breaks(): void
}

/**
 * Breaks a connection with RST, so that a cut answer does not look complete (wire.md C2). A socket whose FIN has
 * been sent cannot be reset: Node would neither close it nor report it, and it would stay open.
 */
export function breakConnection(socket: Socket & Partial<Breakable>): void {
  if (socket.breaks !== undefined) return socket.breaks()
  const { writableEnded, writableFinished, writableLength } = socket
  const finIsOnItsWay = writableEnded && !writableFinished && writableLength === 0
  if (finIsOnItsWay) socket.destroy()
  // oxlint-disable-next-line eslint/no-restricted-properties -- the one place, which looks first
  else socket.resetAndDestroy()
}
