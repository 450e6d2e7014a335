import { ApiError } from '../../src/base/errors.ts'
import type { Generation } from '../../src/pay/relay/generation.ts'
import type { ClientStream } from '../../src/pay/relay/client-end.ts'
import type { Operation } from '../../src/pay/relay/operation.ts'
import type { RequestFacts } from './facts.ts'
import type { SimNode } from './node.ts'
import type { Random } from './random.ts'
import type { Owner, Scheduler } from './scheduler.ts'

/** The behaviour of a client besides waiting for its answer. */
interface Habits {
  /** It sends an X-Request-Id, so that its stream can be resumed. */
  readonly resumable: boolean
  /** ms after its request; null = it stays to the end. */
  readonly leavesMs: number | null
  readonly leaving: 'disconnect' | 'cancel'
  /** ms after it left; null = it does not return. */
  readonly returnsMs: number | null
  /** Chance that its socket is full after a write. */
  readonly slowness: number
}

export interface ClientPorts {
  readonly scheduler: Scheduler
  readonly random: Random
  /** Clients survive their node. */
  readonly world: Owner
  readonly trace: (text: string) => void
  readonly admitted: (facts: RequestFacts) => void
  /** Called when a request ends in a forbidden way. */
  readonly violation: (text: string) => void
}

export function drawHabits(random: Random): Habits {
  return {
    resumable: random.chance(0.25),
    leavesMs: random.chance(0.3) ? (random.chance(0.4) ? random.between(0, 15) : random.between(0, 4_000)) : null,
    leaving: random.chance(0.2) ? 'cancel' : 'disconnect',
    returnsMs: random.chance(0.6) ? random.between(0.1, random.chance(0.5) ? 20 : 20_000) : null,
    slowness: random.chance(0.2) ? 0.4 : 0,
  }
}

/** A client with its socket: does the work of `paid-answer.ts`, without HTTP. */
export class Client {
  readonly #ports: ClientPorts
  readonly #node: SimNode
  readonly #facts: RequestFacts
  readonly #habits: Habits
  #generation: Generation | null = null
  #reader: ClientReader | null = null
  #gone = false

  constructor(ports: ClientPorts, node: SimNode, facts: RequestFacts, habits: Habits) {
    this.#ports = ports
    this.#node = node
    this.#facts = facts
    this.#habits = habits
  }

  async ask(): Promise<void> {
    const { scheduler, world } = this.#ports
    const { leavesMs, resumable } = this.#habits
    if (leavesMs !== null) scheduler.after(leavesMs, world, () => this.#leave())
    const { accountId, keyId, number, arrivedAtMs } = this.#facts
    try {
      const generation = await this.#node.relay.admit({
        principal: this.#node.principal(accountId, keyId),
        operation: this.#operation(),
        requestId: `req-${number}`,
        requestIdGiven: resumable,
        startedMs: scheduler.nowMs,
        arrivedAtMs,
        appUrl: null,
        appTitle: null,
        endUser: null,
        claim: null,
        keeper: null,
        session: null,
        sent: () => undefined,
        earlier: [],
      })
      await this.#serve(generation)
    } catch (thrown) {
      this.#refused(thrown)
    }
  }

  /** Its node died: the connection breaks. */
  cutOff(): void {
    if (this.#facts.doneMs !== null) return
    this.#see({ kind: 'broken' })
    this.#gone = true
    this.#facts.present = false
  }

  #operation(): Operation {
    const { adapters, upstream } = this.#node
    const operation = this.#facts.request.operation(adapters)
    return {
      ...operation,
      begin: (start, sink) => {
        upstream.begins(this.#facts, start.candidate.endpoint)
        return operation.begin(start, sink)
      },
    }
  }

  async #serve(generation: Generation): Promise<void> {
    this.#generation = generation
    this.#facts.generationId = generation.input.generationId
    this.#facts.plan = generation.input.plan
    this.#ports.admitted(this.#facts)
    if (this.#gone && generation.input.buffer === null) generation.cancel()
    else generation.start(() => this.#open())
    if (this.#gone) this.#detach(generation)
    const result = await generation.done
    this.#facts.doneMs = this.#ports.scheduler.nowMs
    this.#ports.trace(
      `r${this.#facts.number}: done, ${result.record.status}, charged ${result.chargedMicro}${result.error === null ? '' : `, ${result.error.errorName}: ${String(result.error.details.cause ?? '')}`}`,
    )
    if (this.#reader !== null || this.#gone) return
    if (result.error !== null) this.#see({ kind: 'error', name: result.error.errorName })
    else if (result.body === null) this.#see({ kind: 'broken' })
    else this.#see({ kind: 'end', cost: costOf(textOf(result.body.body)) })
  }

  #refused(thrown: unknown): void {
    this.#facts.doneMs = this.#ports.scheduler.nowMs
    this.#facts.excused = this.#node.link.batchFailed || this.#node.closed
    if (!(thrown instanceof ApiError)) {
      this.#ports.violation(
        `r${this.#facts.number} met a bug: ${thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)}`,
      )
      return
    }
    this.#ports.trace(`r${this.#facts.number}: refused, ${thrown.errorName}`)
    this.#see({ kind: 'error', name: thrown.errorName })
  }

  #open(): ClientStream | null {
    if (this.#gone) return null
    this.#reader = new ClientReader(this.#ports, this.#habits.slowness, this.#facts, (reader) =>
      this.#generation?.drained(reader),
    )
    return this.#reader
  }

  #leave(): void {
    if (this.#gone || this.#facts.doneMs !== null || this.#node.owner.dead) return
    this.#ports.trace(`r${this.#facts.number}: the client leaves (${this.#habits.leaving})`)
    const generation = this.#generation
    this.#facts.present = false
    this.#facts.left = true
    if (this.#habits.leaving === 'cancel' && generation !== null) {
      this.#facts.cancelled = true
      generation.cancel()
    }
    this.#gone = true
    this.#reader?.close()
    if (generation === null) return
    if (generation.input.buffer !== null) return this.#detach(generation)
    // The socket is gone a moment before the client knows it.
    const { scheduler, random, world } = this.#ports
    const noticeMs = random.between(0, 1)
    this.#facts.graceUntilMs = scheduler.nowMs + noticeMs
    scheduler.after(noticeMs, world, () => this.#detach(generation))
  }

  #detach(generation: Generation): void {
    const { grace } = generation.input.plan.snapshot.settings.streamResume
    if (generation.input.buffer === null || this.#facts.cancelled) this.#facts.goneMs = this.#ports.scheduler.nowMs
    if (generation.input.buffer !== null && !this.#facts.cancelled)
      this.#facts.graceUntilMs = this.#ports.scheduler.nowMs + grace * 1_000
    generation.detached(this.#reader)
    const { returnsMs, resumable } = this.#habits
    if (returnsMs !== null && resumable) this.#ports.scheduler.after(returnsMs, this.#ports.world, () => this.#return())
  }

  #return(): void {
    if (this.#node.owner.dead) return
    const generation = this.#node.relay.streams.resumable(this.#facts.accountId, `req-${this.#facts.number}`)
    this.#ports.trace(`r${this.#facts.number}: the client comes back${generation === null ? ' too late' : ''}`)
    if (generation === null || generation !== this.#generation) return
    this.#gone = false
    // An abandoned answer stays abandoned, even if its drain is watched.
    this.#facts.present = true
    this.#facts.received = ''
    const reader = this.#open()
    if (reader !== null) generation.attach(reader, 0)
  }

  #see(sight: RequestFacts['sight']): void {
    if (!this.#gone) this.#facts.sight = sight
  }
}

class ClientReader implements ClientStream {
  readonly #ports: ClientPorts
  readonly #slowness: number
  readonly #facts: RequestFacts
  readonly #drained: (reader: ClientStream) => void
  #closed = false

  constructor(ports: ClientPorts, slowness: number, facts: RequestFacts, drained: (reader: ClientStream) => void) {
    this.#ports = ports
    this.#slowness = slowness
    this.#facts = facts
    this.#drained = drained
  }

  write(bytes: Buffer): boolean {
    if (this.#closed) return true
    this.#facts.received += bytes.toString('latin1')
    const { random, scheduler, world } = this.#ports
    if (!random.chance(this.#slowness)) return true
    scheduler.after(random.between(1, 800), world, () => this.#drained(this))
    return false
  }

  end(bytes: Buffer): void {
    if (this.#closed) return
    this.#closed = true
    const text = this.#facts.received + bytes.toString('latin1')
    this.#facts.received = text
    if (text.includes('"error":{'))
      this.#facts.sight = { kind: 'error', name: /"error_type":"(\w+)"/.exec(text)?.[1] ?? 'stream_error' }
    else if (text.endsWith('data: [DONE]\n\n')) this.#facts.sight = { kind: 'end', cost: costOf(text) }
    else {
      this.#facts.sight = { kind: 'broken' }
      this.#ports.violation(`r${this.#facts.number}: its stream ended without a last event, as if it were whole`)
    }
  }

  reset(): void {
    if (!this.#closed) this.#facts.sight = { kind: 'broken' }
    this.#closed = true
  }

  close(): void {
    this.#closed = true
  }
}

/** A body as it is sent: JSON, or parts that are already written. */
function textOf(body: unknown): string {
  return Array.isArray(body) && body.every((part) => Buffer.isBuffer(part))
    ? Buffer.concat(body).toString('utf8')
    : JSON.stringify(body)
}

/** The cost that the answer states, RUB. */
function costOf(text: string): number | null {
  const match = /"(?:total_)?cost":([\d.e-]+)/.exec(text)
  return match === null ? null : Number(match[1])
}
