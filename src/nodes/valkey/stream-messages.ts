import { RecentMap } from '../../base/recent-map.ts'
import type { ClientStream } from '../../pay/relay/client-end.ts'
import type { Cancelled, OwnStream, ResponseBody, SharedDuties } from '../shared.ts'
import type { ValkeyPorts } from './client.ts'

/**
 * The channel differs from that of unencrypted messages: otherwise nodes of two versions would wait for each other's
 * answers.
 */
const CHANNEL = 'tollgate:sealed-streams'
const PURPOSE = 'message'
/** Nodes share the database's time, so an older message is a replayed one. */
const AGE_MS_MAX = 10_000
/** The most messages that are remembered: twice those of a thousand remote readers in that time. */
const HEARD_MAX = 20_000
/** A reader on another node counts as gone when it has not reported for this long. */
const WATCHED_MS = 6_000
/**
 * How long to wait for answers. A cancelled stream that is not drained is settled before its answer, which may take the
 * database two seconds.
 */
const ANSWER_MS = 4_000

type Message =
  | {
      readonly op: 'watch' | 'leave'
      readonly node: string
      readonly accountId: string
      readonly id: string
      readonly reader: string
    }
  | {
      readonly op: Question
      readonly node: string
      readonly accountId: string
      readonly id: string
      readonly ask: string
    }
  | {
      readonly op: 'answer'
      readonly node: string
      readonly ask: string
      readonly found: Cancelled | ResponseBody | null
    }

/** A question to the node that runs a stream: to cancel it, or for its Response. */
type Question = 'cancel' | 'response'

interface OpenQuestion {
  readonly resolve: (found: Cancelled | ResponseBody | null) => void
  /** The number of nodes that received it, once known. */
  receivers: number
  answers: number
}

/**
 * Messages between nodes about their streams: that a client here reads a stream of another node, and that a client
 * cancels one.
 */
export class StreamMessages {
  readonly #ports: ValkeyPorts
  readonly #watched = new Map<string, { readonly reader: ClientStream; readonly stream: OwnStream; stop: () => void }>()
  readonly #asked = new Map<string, OpenQuestion>()
  /** Salts of received messages, so that a replayed copy has no effect. */
  readonly #heardSalts = new RecentMap<true>(HEARD_MAX)
  #find: SharedDuties['findStream'] = () => null
  #close: () => void = () => undefined

  constructor(ports: ValkeyPorts) {
    this.#ports = ports
  }

  /** Answers the others from now on. */
  start(find: SharedDuties['findStream']): void {
    this.#find = find
    this.#close = this.#ports.valkey.listen([CHANNEL], (bytes) => this.#heard(bytes))
  }

  close(): void {
    this.#close()
    for (const { stop } of this.#watched.values()) stop()
    this.#watched.clear()
  }

  /**
   * Reports to the owner that a client reads its stream here, so that the stream continues as if the client were there.
   * Repeated regularly.
   */
  watch(accountId: string, id: string, reader: string): void {
    void this.#send({ op: 'watch', node: this.#ports.node, accountId, id, reader })
  }

  leave(accountId: string, id: string, reader: string): void {
    void this.#send({ op: 'leave', node: this.#ports.node, accountId, id, reader })
  }

  /** Cancels a stream of another node; null = no node that answers has it. */
  cancel(accountId: string, id: string): Promise<Cancelled | null> {
    return this.#ask<Cancelled>('cancel', accountId, id)
  }

  /** The Response of another node's stream; null = no node that answers has it. */
  response(accountId: string, id: string): Promise<ResponseBody | null> {
    return this.#ask<ResponseBody>('response', accountId, id)
  }

  #ask<A extends Cancelled | ResponseBody>(op: Question, accountId: string, id: string): Promise<A | null> {
    const { clock, ids, node } = this.#ports
    const ask = ids.letters(16)
    return new Promise((resolve) => {
      const stop = clock.after(ANSWER_MS, () => finish(null))
      const finish: OpenQuestion['resolve'] = (found) => {
        stop()
        this.#asked.delete(ask)
        // Each question has one type of answer.
        resolve(found as A | null)
      }
      const asked: OpenQuestion = { resolve: finish, receivers: Number.POSITIVE_INFINITY, answers: 0 }
      this.#asked.set(ask, asked)
      void this.#send({ op, node, accountId, id, ask }).then((receivers) => {
        // This node receives its own message too.
        asked.receivers = receivers - 1
        if (asked.answers >= asked.receivers) finish(null)
      })
    })
  }

  async #send(message: Message): Promise<number> {
    const { valkey, cipher, clock } = this.#ports
    const encrypted = cipher.encrypt(Buffer.from(JSON.stringify({ ...message, atMs: clock.now() })), PURPOSE)
    return valkey.publish(CHANNEL, encrypted)
  }

  #heard(bytes: Buffer): void {
    const { cipher, clock } = this.#ports
    const plain = cipher.decrypt(bytes, PURPOSE)
    const salt = cipher.saltOf(bytes)
    if (plain === null || this.#heardSalts.has(salt)) return
    const message = parse(plain, clock.now())
    if (message === null) return
    this.#heardSalts.set(salt, true)
    if (message.node === this.#ports.node) return
    switch (message.op) {
      case 'watch':
        return this.#watch(message.accountId, message.id, message.reader)
      case 'leave':
        return this.#leave(message.reader)
      case 'cancel':
      case 'response':
        return void this.#answer(message)
      case 'answer':
        return this.#answered(message.ask, message.found)
    }
  }

  #watch(accountId: string, id: string, name: string): void {
    const known = this.#watched.get(name)
    if (known !== undefined) {
      known.stop()
      known.stop = this.#ports.clock.after(WATCHED_MS, () => this.#leave(name))
      return
    }
    const stream = this.#find(accountId, id)
    if (stream === null || stream.finished) return
    const entry = { reader: farReader(), stream, stop: this.#ports.clock.after(WATCHED_MS, () => this.#leave(name)) }
    this.#watched.set(name, entry)
    stream.attach(entry.reader, Number.MAX_SAFE_INTEGER)
    void stream.done.then(() => {
      entry.stop()
      this.#watched.delete(name)
    })
  }

  #leave(name: string): void {
    const entry = this.#watched.get(name)
    if (entry === undefined) return
    entry.stop()
    this.#watched.delete(name)
    entry.stream.detached(entry.reader)
  }

  async #answer({ op, accountId, id, ask }: Extract<Message, { readonly op: Question }>): Promise<void> {
    const stream = this.#find(accountId, id)
    const found = stream === null ? null : op === 'cancel' ? await cancelled(stream) : await stream.response()
    void this.#send({ op: 'answer', node: this.#ports.node, ask, found })
  }

  #answered(ask: string, found: Cancelled | ResponseBody | null): void {
    const asked = this.#asked.get(ask)
    if (asked === undefined) return
    if (found !== null) return asked.resolve(found)
    asked.answers += 1
    if (asked.answers >= asked.receivers) asked.resolve(null)
  }
}

/** Ends the stream for its client. */
async function cancelled(stream: OwnStream): Promise<Cancelled> {
  const status = stream.finished ? 'completed' : 'cancelled'
  await stream.cancel()
  return { generationId: stream.input.generationId, status }
}

/** Stands for the client's connection on another node, which reads the copy. */
function farReader(): ClientStream {
  return { write: () => true, end: () => undefined, reset: () => undefined }
}

/** null = the message is too old, or of an unknown kind. */
function parse(bytes: Buffer, nowMs: number): Message | null {
  try {
    // `#send` of a node encrypted it; a message of another version has an `op` that is unknown here.
    const message = JSON.parse(bytes.toString()) as Message & { readonly atMs: number }
    if (!(Math.abs(nowMs - message.atMs) <= AGE_MS_MAX)) return null
    return ['watch', 'leave', 'cancel', 'response', 'answer'].includes(message.op) ? message : null
  } catch {
    return null
  }
}
