import assert from 'node:assert/strict'
import type { Snapshot } from '../../src/catalog/catalog.ts'
import type { VideoOperation } from '../../src/protocols/videos/request.ts'
import { endpoint, model } from '../harness/plan-fixture.ts'
import { sandboxMp4 } from '../../src/protocols/videos/sandbox.ts'
import type { VideoUpstream } from '../../src/protocols/videos/upstream.ts'
import { EndpointHealthBook } from '../../src/pay/relay/endpoint-health.ts'
import { KeyPools } from '../../src/pay/relay/key-pools.ts'
import { RetryBudget } from '../../src/pay/relay/attempt-queue.ts'
import { NEW_DETAILS, type JobRow } from '../../src/ledger/job.ts'
import { KEY_WRAP } from '../harness/key-wrap.ts'
import { openStore } from '../../src/store/open.ts'
import { VideoRunner, type RunnerPorts } from '../../src/pay/videos/video-runner.ts'
import { JOB_TTL_MS } from '../../src/pay/videos/video-job.ts'
import { Bench, newId, NOON_MS, TestClock, type Customer } from '../store/ledger-fixture.ts'
import { paced } from '../harness/patience.ts'

export const COST = 300n
const OPERATION: VideoOperation = {
  prompt: 'A lake',
  size: '64x48',
  duration: 4,
  resolution: null,
  aspectRatio: null,
  frameImages: [],
  inputReferences: [],
  generateAudio: null,
  seed: null,
  user: null,
}
export const VIDEO = sandboxMp4('1280x720', 4)
export const PLAIN_CIPHER = { encrypt: (plain: Buffer) => plain, decrypt: (encrypted: Buffer) => encrypted }

/** A provider that outlives the process: it finishes accepted jobs, and counts its calls. */
export class Provider implements VideoUpstream {
  readonly supportedParameters: readonly string[] = []
  submissions = 0
  polls = 0

  tells(): boolean {
    return true
  }

  async submit(): ReturnType<VideoUpstream['submit']> {
    this.submissions += 1
    return { status: 'accepted', reference: `job-${this.submissions}`, upstreamId: `job-${this.submissions}` }
  }

  async poll(): ReturnType<VideoUpstream['poll']> {
    this.polls += 1
    return this.polls < 2
      ? { status: 'running', progress: 40 }
      : { status: 'done', videos: [{ bytes: [VIDEO], mediaType: 'video/mp4' }] }
  }

  async open(): ReturnType<VideoUpstream['open']> {
    return {
      mediaType: 'video/mp4',
      bytes: (async function* () {
        yield VIDEO
      })(),
    }
  }
}

export interface World {
  readonly bench: Bench
  readonly provider: Provider
  readonly customer: Customer
  readonly id: string
}

export async function newWorld(dataDir: string, more: Partial<VideoOperation> = {}): Promise<World> {
  const bench = new Bench(await openStore({ dataDir, databaseUrl: null, keyWrap: KEY_WRAP }), new TestClock(NOON_MS))
  const customer = await bench.customer(1_000n)
  const id = newId('gen-vid-')
  const held = await bench.ledger.hold({
    generationId: id,
    accountId: customer.accountId,
    keyId: customer.keyId,
    amountMicro: COST,
    priceVersion: 1,
    subject: { type: 'video', model: 'v/video', requestId: 'r', streamed: false },
    job: {
      id,
      accountId: customer.accountId,
      keyId: customer.keyId,
      requestId: 'r',
      model: 'v/video',
      request: Buffer.from(JSON.stringify({ ...OPERATION, ...more })),
      priceVersion: 1,
      holdMicro: COST,
      createdAtMs: NOON_MS,
      deadlineMs: NOON_MS + JOB_TTL_MS,
      status: 'pending',
      phase: 'ready',
      progress: 0,
      dueAtMs: NOON_MS,
      completedAtMs: null,
      expiresAtMs: null,
      details: {
        ...NEW_DETAILS,
        candidates: [
          {
            endpointId: 'p/m',
            providerSlug: 'p',
            providerName: 'P',
            upstreamModel: 'm',
            variant: null,
            costMicro: String(COST),
            buyMicro: '200',
          },
        ],
      },
    },
  })
  assert.equal(held.status, 'held')
  return { bench, provider: new Provider(), customer, id }
}

export type Wrap = <T extends object>(target: T, name: string) => T

/** A process that works on the world's jobs; `wrap` wraps each of its ports. */
export function runnerOf(
  { bench, provider }: World,
  clock: TestClock,
  wrap: Wrap = (target) => target,
  node = 'node-1',
): VideoRunner {
  const way = endpoint('p', { id: 'p/m' })
  const snapshot = {
    priceVersion: 1,
    providers: new Map([['p', way.provider]]),
    models: new Map([['v/video', model('v/video', { type: 'video', endpoints: [way] })]]),
    aliases: new Map(),
    // Jobs read no setting.
    settings: {} as Snapshot['settings'],
  }
  const ports: RunnerPorts = {
    clock,
    jobs: wrap(bench.store.jobs, 'jobs'),
    files: wrap(bench.store.files, 'files'),
    ledger: wrap(bench.ledger, 'ledger'),
    catalog: { current: () => snapshot, isDue: () => false, refresh: async () => false },
    upstreams: new Map([['openai', wrap<VideoUpstream>(provider, 'provider')]]),
    cipher: PLAIN_CIPHER,
    notice: () => undefined,
    health: new EndpointHealthBook(clock),
    keyPools: new KeyPools(clock, () => undefined),
    retries: new RetryBudget(clock, () => 0),
    node,
    singleProcess: node === 'node-1',
  }
  return new VideoRunner(ports)
}

/** Lets due work finish, then moves the clock, until `over`. */
export async function drive(
  clock: TestClock,
  over: () => Promise<boolean>,
  stepMs = 500,
  stepsMax = 400,
): Promise<void> {
  for (let step = 0; step < stepsMax; step += 1) {
    for (let turn = 0; turn < 4; turn += 1) {
      if (await over()) return
      await paced(1, 'the disk knows real time only')
    }
    clock.advance(stepMs)
  }
  assert.fail('the job moved no further')
}

export async function job({ bench, id }: World): Promise<JobRow> {
  const row = await bench.store.jobs.find(id)
  assert.ok(row)
  return row
}
