import type { Clock } from '../base/clock.ts'
import type { Delivery, Lane } from '../store/notices/notice-rows.ts'
import type { NoticeStore, Taken } from '../store/notices/notice-store.ts'
import { thrownMessage } from '../base/text.ts'

/** How long a receiver that did not answer rests, so that it does not occupy slots that others need. */
export const SILENT_REST_MS = 10_000

/** Thrown if a message was not accepted. `message` is for the receiver's owner; it quotes only the answer's status. */
export class DeliveryError extends Error {
  override readonly name = 'DeliveryError'
  /**
   * How long nothing else is sent to the same receiver, because it asked for the pause or did not answer; 0 = no pause.
   */
  readonly restMs: number

  constructor(message: string, { restMs = 0, ...options }: ErrorOptions & { readonly restMs?: number } = {}) {
    super(message, options)
    this.restMs = restMs
  }
}

const EVERY_MS = 2_000
/** Longer than an attempt may take, so that no other node takes a message that is still being sent. */
const LEASE_MS = 60_000
/**
 * How many messages are sent at once, each to another channel. The lanes are separate: receivers that hang take no slot
 * of another lane.
 */
const SLOTS: Readonly<Record<Lane, number>> = { operator: 8, well: 16, troubled: 8 }
/** Pauses after each failed attempt, before jitter; after the last one the message is dead. */
const PAUSES_MS = [10_000, 30_000, 120_000, 600_000, 1_800_000, 7_200_000, 21_600_000, 43_200_000] as const

export interface NotifierPorts {
  readonly store: Pick<NoticeStore, 'address' | 'take' | 'ended' | 'counts'>
  readonly clock: Clock
  /** Whether this node is the leader; leases keep two nodes apart that both believe it. */
  readonly leads: () => boolean
  /** Rejects if the message was not accepted, with a sentence for the channel's owner. */
  readonly send: (delivery: Delivery, stop: AbortSignal) => Promise<void>
  /** Returns a number from 0 to 1. */
  readonly random: () => number
  /** Writes one sentence for the operator as a log line. */
  readonly log: (message: string) => void
}

/**
 * The pause after the failed attempt with this number, half to one and a half times its nominal length; null = there
 * are no more attempts.
 */
export function retryPauseMs(attempts: number, random: number): number | null {
  const pauseMs = PAUSES_MS[attempts - 1]
  return pauseMs === undefined ? null : Math.round(pauseMs * (0.5 + random))
}

/**
 * Sends the messages of the outbox, each at least once: if a process dies while it sends a message, the message is sent
 * again after its lease.
 */
export class Notifier {
  readonly #ports: NotifierPorts
  readonly #stop = new AbortController()
  readonly #running = new Map<Promise<void>, Lane>()
  #turning: Promise<void> | null = null
  #cancel: () => void = () => undefined
  /** The number of attempts since the start, by their result. */
  readonly counts = { sent: 0, failed: 0, dead: 0 }
  #isDown = false

  constructor(ports: NotifierPorts) {
    this.#ports = ports
  }

  start(): void {
    if (this.#stop.signal.aborted) return
    this.#cancel = this.#ports.clock.after(EVERY_MS, () => this.start())
    if (this.#ports.leads()) this.#turn()
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    this.#cancel()
    await this.#turning
    await Promise.all(this.#running.keys())
  }

  #turn(): void {
    this.#turning ??= this.#work().finally(() => {
      this.#turning = null
    })
  }

  /** If the store does not answer, the next turn asks it again. */
  async #work(): Promise<void> {
    const { store, clock, log } = this.#ports
    try {
      while ((await store.address(clock.now())) > 0 && !this.#stop.signal.aborted);
      if (this.#stop.signal.aborted) return
      const room = { ...SLOTS }
      for (const lane of this.#running.values()) room[lane] -= 1
      const nowMs = clock.now()
      for (const taken of await store.take(room, nowMs, nowMs + LEASE_MS)) this.#begin(taken)
      this.#isDown = false
    } catch (thrown) {
      if (!this.#isDown) log(`Notices cannot be sent: ${thrownMessage(thrown)}`)
      this.#isDown = true
    }
  }

  #begin({ delivery, lane }: Taken): void {
    const running = this.#send(delivery).finally(() => {
      this.#running.delete(running)
      // The next message of this channel need not wait any longer.
      if (!this.#stop.signal.aborted) this.#turn()
    })
    this.#running.set(running, lane)
  }

  async #send(delivery: Delivery): Promise<void> {
    const { store, clock, random } = this.#ports
    let end: Parameters<NoticeStore['ended']>[1] = 'sent'
    try {
      await this.#ports.send(delivery, this.#stop.signal)
    } catch (thrown) {
      const pauseMs = this.#stop.signal.aborted ? 0 : retryPauseMs(delivery.attempts, random())
      const error = thrownMessage(thrown)
      const restMs = thrown instanceof DeliveryError && !this.#stop.signal.aborted ? thrown.restMs : 0
      const nowMs = clock.now()
      end = {
        error,
        dueAtMs: pauseMs === null ? null : nowMs + Math.max(pauseMs, restMs),
        ...(restMs === 0 ? {} : { restUntilMs: nowMs + restMs }),
      }
    }
    this.counts[end === 'sent' ? 'sent' : end.dueAtMs === null ? 'dead' : 'failed'] += 1
    // If the end cannot be recorded, the message is sent again after its lease.
    await store.ended(delivery, end, clock.now()).catch(() => undefined)
  }
}
