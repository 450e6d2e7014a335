import type { Clock } from '../base/clock.ts'
import type { Delivery, Lane } from '../store/notices/notice-rows.ts'
import type { NoticeStore, Taken } from '../store/notices/notice-store.ts'
import { thrownMessage } from '../base/text.ts'

/** Rest of a receiver that did not answer: those that do are not kept from the slots. */
export const SILENT_REST_MS = 10_000

/** A message was not taken. `message` is for its owner; it holds nothing of the answer but its status. */
export class DeliveryError extends Error {
  override readonly name = 'DeliveryError'
  /**
   * For how long nothing else is sent to the same receiver, as it asked or because it did not answer; 0 = it need not
   * wait.
   */
  readonly restMs: number

  constructor(message: string, { restMs = 0, ...options }: ErrorOptions & { readonly restMs?: number } = {}) {
    super(message, options)
    this.restMs = restMs
  }
}

const EVERY_MS = 2_000
/** Longer than an attempt may take: what is still under way is not taken by another node. */
const LEASE_MS = 60_000
/** Messages that are sent at once, each to another channel: receivers that hang take no slot of another lane. */
const SLOTS: Readonly<Record<Lane, number>> = { operator: 8, well: 16, troubled: 8 }
/** Pauses after each failed attempt, before jitter; after the last one the message is dead. */
const PAUSES_MS = [10_000, 30_000, 120_000, 600_000, 1_800_000, 7_200_000, 21_600_000, 43_200_000] as const

export interface NotifierPorts {
  readonly store: Pick<NoticeStore, 'address' | 'take' | 'ended' | 'counts'>
  readonly clock: Clock
  /** Whether this node does the work that one node does for all; leases keep two that believe it apart. */
  readonly leads: () => boolean
  /** Rejects when the message was not taken, with a sentence for the channel's owner. */
  readonly send: (delivery: Delivery, stop: AbortSignal) => Promise<void>
  /** From 0 to 1. */
  readonly random: () => number
  /** A sentence for the operator. */
  readonly log: (message: string) => void
}

/** The pause after the failed attempt with this number, half to one and a half times its length; null = there is none. */
export function retryPauseMs(attempts: number, random: number): number | null {
  const pauseMs = PAUSES_MS[attempts - 1]
  return pauseMs === undefined ? null : Math.round(pauseMs * (0.5 + random))
}

/** Sends what the outbox holds, at least once each: a message that a process died over is sent again after its lease. */
export class Notifier {
  readonly #ports: NotifierPorts
  readonly #stop = new AbortController()
  readonly #running = new Map<Promise<void>, Lane>()
  #turning: Promise<void> | null = null
  #cancel: () => void = () => undefined
  /** Attempts since the start. */
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

  /** If the store does not answer, it is asked again the next time. */
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
      // The next message of this channel waits no longer.
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
    // What could not be noted is sent again after its lease.
    await store.ended(delivery, end, clock.now()).catch(() => undefined)
  }
}
