import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { Snapshot } from '../../src/catalog/catalog.ts'
import type { VideoOrder } from '../../src/kinds/video-request.ts'
import { endpoint, model } from '../../src/plan/plan-fixture.ts'
import type { Adapter } from '../../src/providers/adapter.ts'
import { plainMp4 } from '../../src/providers/sandbox-mp4.ts'
import type { VideoUpstream } from '../../src/providers/videos.ts'
import { EndpointHealthBook } from '../../src/relay/endpoint-health.ts'
import { KeyPools } from '../../src/relay/key-pools.ts'
import { RetryBudget } from '../../src/relay/retry-budget.ts'
import type { JobRow } from '../../src/store/job-store.ts'
import { openStore } from '../../src/store/open.ts'
import { VideoRunner, type RunnerPorts } from '../../src/videos/video-runner.ts'
import { JOB_TTL_MS } from '../../src/videos/video-job.ts'
import { Bench, newId, NOON_MS, TestClock, type Customer } from '../store/ledger-fixture.ts'

const COST = 300n
const ORDER: VideoOrder = { prompt: 'A lake', size: '64x48', duration: 4, resolution: null, aspectRatio: null, frameImages: [], inputReferences: [], generateAudio: null, seed: null, user: null }
const VIDEO = plainMp4({ width: 64, height: 48, seconds: 4, colour: [90, 180, 60] })
const PLAIN_SEAL = { seal: (plain: Buffer) => plain, open: (sealed: Buffer) => sealed }
const directory = mkdtempSync(join(tmpdir(), 'tollgate-video-steps-'))
after(() => rmSync(directory, { recursive: true, force: true }))

/** A provider that outlives us: what it has accepted it makes, and it counts what it was asked for. */
class Provider implements VideoUpstream {
  readonly supportedParameters: readonly string[] = []
  submissions = 0
  polls = 0

  async submit(): ReturnType<VideoUpstream['submit']> {
    this.submissions += 1
    return { status: 'accepted', reference: `job-${this.submissions}`, upstreamId: `job-${this.submissions}` }
  }

  async poll(): ReturnType<VideoUpstream['poll']> {
    this.polls += 1
    return this.polls < 2 ? { status: 'running', progress: 40 } : { status: 'done', videos: [{ bytes: VIDEO, mediaType: 'video/mp4' }] }
  }

  async open(): ReturnType<VideoUpstream['open']> {
    return { mediaType: 'video/mp4', bytes: (async function* () { yield VIDEO })() }
  }
}

/** A process that dies at the k-th time it does some thing to the world: before it is done, or after it is done and before it is known. */
class Death {
  reached = false
  readonly #name: string
  readonly #moment: 'before' | 'after'
  #left: number

  constructor(name: string, at: number, moment: 'before' | 'after') {
    this.#name = name
    this.#left = at
    this.#moment = moment
  }

  wrap<T extends object>(target: T, name: string): T {
    return new Proxy(target, {
      get: (object, property) => {
        const value: unknown = Reflect.get(object, property)
        if (typeof value !== 'function') return value
        return (...values: unknown[]): unknown => this.#call(() => Reflect.apply(value, object, values), `${name}.${String(property)}`)
      },
    })
  }

  async #call(work: () => unknown, name: string): Promise<unknown> {
    const never = new Promise(() => undefined)
    if (this.reached) return never
    if (name === this.#name) this.#left -= 1
    if (name !== this.#name || this.#left > 0) return work()
    this.reached = true
    if (this.#moment === 'after') await work()
    return never
  }
}

interface World {
  readonly bench: Bench
  readonly provider: Provider
  readonly customer: Customer
  readonly id: string
}

async function newWorld(name: string): Promise<World> {
  const bench = new Bench(await openStore({ dataDir: join(directory, name), databaseUrl: null }), new TestClock(NOON_MS))
  const customer = await bench.customer(1_000n)
  const id = newId('gen-vid-')
  const held = await bench.ledger.hold({
    generationId: id, accountId: customer.accountId, keyId: customer.keyId, amountMicro: COST, priceVersion: 1,
    subject: { type: 'video', model: 'v/video', requestId: 'r', streamed: false },
    job: {
      id, accountId: customer.accountId, keyId: customer.keyId, requestId: 'r', model: 'v/video', request: Buffer.from(JSON.stringify(ORDER)), priceVersion: 1, holdMicro: COST,
      createdAtMs: NOON_MS, deadlineMs: NOON_MS + JOB_TTL_MS, status: 'pending', phase: 'ready', progress: 0, dueAtMs: NOON_MS, completedAtMs: null, expiresAtMs: null,
      details: {
        candidates: [{ endpointId: 'p/m', providerSlug: 'p', providerName: 'P', upstreamModel: 'm', variant: null, costMicro: String(COST), buyMicro: '200' }],
        current: 0, refused: [], attempts: 0, keyPrint: null, reference: null, upstreamId: null, polls: 0, misses: 0, acceptedAtMs: null, files: 0, costMicro: '0', error: null, errorType: null,
        appUrl: null, appTitle: null, sessionId: null,
      },
    },
  })
  assert.equal(held.status, 'held')
  return { bench, provider: new Provider(), customer, id }
}

function runnerOf({ bench, provider }: World, clock: TestClock, death: Death | null): VideoRunner {
  const wrap = <T extends object>(target: T, name: string): T => (death === null ? target : death.wrap(target, name))
  const way = endpoint('p', { id: 'p/m' })
  const snapshot = {
    priceVersion: 1, providers: new Map([['p', way.provider]]), models: new Map([['v/video', model('v/video', { type: 'video', endpoints: [way] })]]), aliases: new Map(),
    // Jobs look at no setting.
    settings: {} as Snapshot['settings'],
  }
  const adapter: Adapter = { name: 'openai', supportedParameters: [], videos: wrap<VideoUpstream>(provider, 'provider') }
  const ports: RunnerPorts = {
    clock, jobs: wrap(bench.store.jobs, 'jobs'), files: wrap(bench.store.files, 'files'), ledger: wrap(bench.ledger, 'ledger'), catalog: { current: () => snapshot },
    adapters: new Map([['openai', adapter]]), seal: PLAIN_SEAL, notice: () => undefined, health: new EndpointHealthBook(clock), keyPools: new KeyPools(clock, () => undefined),
    retries: new RetryBudget(clock, () => 0), node: 'node-1', singleProcess: true,
  }
  return new VideoRunner(ports)
}

/** Lets the work of the moment be done, then moves the clock, until `over`. */
async function drive(clock: TestClock, over: () => Promise<boolean>, stepMs = 500, stepsMax = 400): Promise<void> {
  for (let step = 0; step < stepsMax; step += 1) {
    for (let turn = 0; turn < 4; turn += 1) {
      if (await over()) return
      await delay(1)
    }
    clock.advance(stepMs)
  }
  assert.fail('the job moved no further')
}

async function job({ bench, id }: World): Promise<JobRow> {
  const row = await bench.store.jobs.find(id)
  assert.ok(row)
  return row
}

/** One life that ends at the k-th time it does a thing, and a second one that finishes. Answers whether the first died at all. */
async function liveTwice(name: string, at: number, moment: 'before' | 'after'): Promise<{ readonly died: boolean; readonly status: string }> {
  const world = await newWorld(`${moment}-${name}-${at}`)
  const { bench, provider, customer } = world
  const death = new Death(name, at, moment)
  const first = runnerOf(world, bench.clock, death)
  // A dead process also never answers its own start.
  void first.start()
  await drive(bench.clock, async () => death.reached || (await job(world)).status === 'completed')
  await delay(5)
  await bench.auditClean()
  const submittedBefore = provider.submissions
  const phase = (await job(world)).phase
  const clock = new TestClock(bench.clock.now())
  const second = runnerOf(world, clock, null)
  await second.start()
  // What is parked waits for its deadline.
  await drive(clock, async () => !['pending', 'in_progress'].includes((await job(world)).status), phase === 'sending' ? 60_000 : 500)
  await second.stop()
  const end = await job(world)
  await bench.auditClean()
  const money = await bench.money(customer.accountId)
  assert.ok(provider.submissions <= 1, `${name} ${at}: submitted ${provider.submissions} times`)
  const rows = await bench.store.generations.list({ accountId: customer.accountId, limit: 10, offset: 0 })
  assert.equal(rows.total, 1, 'one log row')
  if (phase === 'sending') {
    assert.equal(end.status, 'expired', `${name} ${at}`)
    assert.equal(provider.submissions, submittedBefore, 'what may have arrived is never repeated')
    assert.deepEqual(money, { available: 1_000n, held: 0n })
  } else {
    assert.equal(end.status, 'completed', `${name} ${at} in phase ${phase}`)
    assert.deepEqual(money, { available: 700n, held: 0n })
    const file = await bench.store.files.find(`${world.id}-0`)
    assert.equal(file?.bytes, VIDEO.length)
  }
  await bench.ledger.stop()
  await bench.store.close()
  return { died: death.reached, status: end.status }
}

const THINGS = ['jobs.release', 'jobs.claim', 'jobs.move', 'jobs.nextDueMs', 'provider.submit', 'provider.poll', 'provider.open', 'files.put', 'ledger.settle']
const TIMES_MAX = 3

for (const moment of ['before', 'after'] as const) {
  for (const name of THINGS) {
    test(`a process that dies ${moment} ${name}: the same job goes on, is submitted and charged at most once`, async () => {
      for (let at = 1; at <= TIMES_MAX; at += 1) {
        const { died, status } = await liveTwice(name, at, moment)
        assert.ok(died || at > 1, `${name} is something that a job needs`)
        if (name === 'provider.submit' && died) assert.equal(status, 'expired', 'a submission whose answer was lost is parked')
        if (!died) break
      }
    })
  }
}
