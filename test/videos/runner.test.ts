import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { VideoHandle, VideoState } from '../../src/protocols/videos/upstream.ts'
import { failure } from '../../src/protocols/ports/attempt-failure.ts'
import { JOB_TTL_MS, endFree } from '../../src/pay/videos/video-job.ts'
import { NOON_MS, TestClock } from '../store/ledger-fixture.ts'
import { drive, job, newWorld, PLAIN_CIPHER, runnerOf, VIDEO, type World } from './video-world.ts'
import { until } from '../harness/patience.ts'
import { freshFolder } from '../harness/lasting.ts'

const directory = freshFolder()
let worlds = 0

async function inWorld(
  body: (world: World) => Promise<void>,
  operation?: Parameters<typeof newWorld>[1],
): Promise<void> {
  worlds += 1
  const world = await newWorld(join(directory, String(worlds)), operation)
  try {
    await body(world)
    await world.bench.auditClean()
  } finally {
    await world.bench.ledger.stop()
    await world.bench.store.close()
  }
}

/** Lets the real disk and the microtasks finish due work. */
async function settle(isSo: () => boolean | Promise<boolean>): Promise<void> {
  await until(20_000, `it comes: ${isSo.toString()}`, isSo, 10)
}

/** The same object, which reports each time that it has done `method`. */
function told<T extends object>(target: T, method: string, tell: () => void): T {
  return new Proxy(target, {
    get: (object, property) => {
      const value: unknown = Reflect.get(object, property)
      if (typeof value !== 'function') return value
      return async (...values: unknown[]): Promise<unknown> => {
        const result: unknown = await Reflect.apply(value, object, values)
        if (property === method) tell()
        return result
      }
    },
  })
}

/** A provider's call that a test holds back. */
function gate(): {
  readonly opened: Promise<void>
  readonly reached: () => boolean
  pass(): Promise<void>
  open(): void
} {
  const { promise, resolve } = Promise.withResolvers<void>()
  let reached = false
  return {
    opened: promise,
    reached: () => reached,
    pass: () => {
      reached = true
      return promise
    },
    open: () => resolve(),
  }
}

test('a job is polled after 1 s, then at intervals growing to 10 s, and expires at its deadline with its money back', () =>
  inWorld(async (world) => {
    const { bench, provider, customer } = world
    const atMs: number[] = []
    provider.poll = async (): Promise<VideoState> => {
      atMs.push(bench.clock.now() - NOON_MS)
      return { status: 'running', progress: 20 }
    }
    const runner = runnerOf(world, bench.clock)
    await runner.start()
    await drive(bench.clock, async () => atMs.length >= 10)
    await settle(async () => (await job(world)).details.polls >= 10)
    bench.clock.advance(JOB_TTL_MS)
    await drive(bench.clock, async () => (await job(world)).status === 'expired')
    await runner.stop()
    const gaps = atMs.slice(1).map((ms, index) => ms - (atMs[index] ?? 0))
    assert.ok((atMs[0] ?? 0) >= 1_000, String(atMs[0]))
    // The clock of the test runs ahead of the disk, so that only the shortest wait is certain.
    for (const [index, gap] of gaps.entries())
      assert.ok(gap >= Math.min(10_000, 1_000 * 1.5 ** (index + 1)), `gap ${index}: ${gap}`)
    const end = await job(world)
    assert.deepEqual(
      [end.details.error, end.details.errorType, end.progress],
      ['The video was not finished within 60 minutes', 'provider_timeout', 20],
    )
    assert.deepEqual(await bench.money(customer.accountId), { available: 1_000n, held: 0n })
    const { data } = await bench.store.generations.list({ accountId: customer.accountId, limit: 10, offset: 0 })
    assert.deepEqual([data[0]?.status, data[0]?.costMicro, data[0]?.insuredMicro], ['error', 0n, 200n])
  }))

for (const [name, misses, end] of [
  ['completes', 0, 'completed'],
  ['completes, though its provider is away at first', 3, 'completed'],
  ['expires once its provider has been away for long', Infinity, 'expired'],
] as const)
  test(`a job whose deadline passed while no node ran is looked at once more, and ${name}`, () =>
    inWorld(async (world) => {
      const { bench, provider, customer } = world
      let looks = 0
      provider.poll = async (): Promise<VideoState> => ({ status: 'running', progress: 20 })
      const first = runnerOf(world, bench.clock)
      await first.start()
      await settle(async () => (await job(world)).phase === 'accepted')
      await first.stop()
      bench.clock.advance(JOB_TTL_MS + 600_000)
      provider.poll = async (): Promise<VideoState> => {
        looks += 1
        return looks > misses
          ? { status: 'done', videos: [{ bytes: [VIDEO], mediaType: 'video/mp4' }] }
          : { status: 'unreachable', gone: false, failure: failure('connect', null, 'away') }
      }
      const second = runnerOf(world, bench.clock)
      await second.start()
      await drive(bench.clock, async () => (await job(world)).status === end)
      await second.stop()
      assert.equal(looks, Math.min(misses + 1, 5))
      assert.deepEqual(await bench.money(customer.accountId), {
        available: end === 'completed' ? 700n : 1_000n,
        held: 0n,
      })
    }))

test('a parked job is not looked at before its deadline, and then expires', () =>
  inWorld(async (world) => {
    const { bench, provider } = world
    provider.submit = async () => {
      provider.submissions += 1
      return {
        status: 'unknown',
        failure: {
          reason: 'cut',
          status: null,
          publicMessage: null,
          said: null,
          refusal: null,
          retryAfterSeconds: null,
          detail: 'cut',
        },
      }
    }
    const runner = runnerOf(world, bench.clock)
    await runner.start()
    await settle(async () => (await job(world)).phase === 'parked')
    await drive(bench.clock, async () => (await job(world)).status !== 'pending', 60_000)
    await runner.stop()
    assert.equal((await job(world)).status, 'expired')
    assert.deepEqual([provider.submissions, provider.polls], [1, 0])
  }))

for (const [end, outcome] of [
  ['completed', { status: 'accepted', reference: 'job', upstreamId: 'job' }],
  ['failed', { status: 'refused', failure: failure('status', 400, 'no such picture') }],
  ['expired', { status: 'unknown', failure: failure('cut', null, 'cut') }],
  ['cancelled', null],
] as const)
  for (const isClosed of [false, true])
    test(`a job that is ${end} keeps no picture${isClosed ? ', and of a closed account no word' : ': its row stays for ever, and its end may be free'}`, () =>
      inWorld(
        async (world) => {
          const { bench, provider } = world
          const { accountId, request: given } = await job(world)
          assert.match(given.toString(), /canary/)
          if (isClosed) await bench.store.accounts.update(accountId, { status: 'deactivated' })
          if (outcome === null)
            await endFree({ ...bench, cipher: PLAIN_CIPHER }, await job(world), 'cancelled', {
              error: 'cancelled',
              errorType: null,
            })
          else {
            provider.submit = async () => outcome
            const runner = runnerOf(world, bench.clock)
            await runner.start()
            await drive(bench.clock, async () => (await job(world)).status === end, end === 'expired' ? 60_000 : 500)
            await runner.stop()
          }
          const { status, request } = await job(world)
          assert.equal(status, end)
          assert.doesNotMatch(request.toString(), /canary/)
          if (isClosed) assert.equal(request.length, 0)
          else assert.match(request.toString(), /A lake/)
        },
        { frameImages: [{ url: 'data:image/png;base64,canary', frame: 'first_frame' }] },
      ))

test('an answer that comes after another node has parked the job is still its answer', () =>
  inWorld(async (world) => {
    const { provider } = world
    const held = gate()
    const submit = provider.submit.bind(provider)
    provider.submit = async () => {
      await held.pass()
      return submit()
    }
    // A node whose clock stands still renews no lease, like a stopped one.
    const paused = runnerOf(world, new TestClock(NOON_MS))
    await paused.start()
    await settle(held.reached)
    const later = new TestClock(NOON_MS + 61_000)
    const other = runnerOf(world, later, undefined, 'node-2')
    await other.start()
    await settle(async () => (await job(world)).phase === 'parked')
    held.open()
    await settle(async () => (await job(world)).status === 'in_progress')
    await drive(later, async () => (await job(world)).status === 'completed')
    await Promise.all([paused.stop(), other.stop()])
    assert.equal(provider.submissions, 1)
  }))

test('a job that was cancelled while its submission was on its way stays cancelled, and the provider is asked to stop', () =>
  inWorld(async (world) => {
    const { bench, provider, customer } = world
    const held = gate()
    const cancelled: string[] = []
    const submit = provider.submit.bind(provider)
    provider.submit = async () => {
      await held.pass()
      return submit()
    }
    Object.assign(provider, { cancel: async ({ reference }: VideoHandle) => void cancelled.push(reference) })
    const runner = runnerOf(world, bench.clock)
    await runner.start()
    await settle(held.reached)
    assert.equal(
      await endFree({ ...bench, cipher: PLAIN_CIPHER }, await job(world), 'cancelled', {
        error: 'The job was cancelled',
        errorType: null,
      }),
      true,
    )
    held.open()
    await settle(() => cancelled.length > 0)
    await runner.stop()
    assert.deepEqual(cancelled, ['job-1'])
    assert.equal((await job(world)).status, 'cancelled')
    assert.deepEqual(await bench.money(customer.accountId), { available: 1_000n, held: 0n })
  }))

test('two nodes that both store the video charge it once, and its file stays', () =>
  inWorld(async (world) => {
    const { bench, provider, customer } = world
    const held = gate()
    let opened = 0
    const open = provider.open.bind(provider)
    provider.open = async () => {
      opened += 1
      if (opened === 1) await held.pass()
      return open()
    }
    const clock = new TestClock(NOON_MS)
    let settles = 0
    const paused = runnerOf(world, clock, (target, name) =>
      name === 'ledger' ? told(target, 'settle', () => (settles += 1)) : target,
    )
    await paused.start()
    await drive(clock, async () => held.reached(), 500)
    const later = new TestClock(clock.now() + 61_000)
    const other = runnerOf(world, later, undefined, 'node-2')
    await other.start()
    await drive(later, async () => (await job(world)).status === 'completed')
    held.open()
    await settle(() => settles === 1)
    await Promise.all([paused.stop(), other.stop()])
    assert.equal(opened, 2)
    assert.deepEqual(await bench.money(customer.accountId), { available: 700n, held: 0n })
    assert.equal((await bench.store.files.find(`${world.id}-0`))?.bytes, VIDEO.length)
  }))

test('a runner that stops cuts a poll, leaves the job as it was, and gives its lease back', () =>
  inWorld(async (world) => {
    const { bench, provider } = world
    let asked = false
    provider.poll = Object.assign(async (handle?: VideoHandle): Promise<VideoState> => {
      asked = true
      await new Promise<void>((resolve) => handle?.signal.addEventListener('abort', () => resolve()))
      return {
        status: 'unreachable',
        gone: false,
        failure: {
          reason: 'cancelled',
          status: null,
          publicMessage: null,
          said: null,
          refusal: null,
          retryAfterSeconds: null,
          detail: 'cancelled',
        },
      }
    })
    const runner = runnerOf(world, bench.clock)
    await runner.start()
    await drive(bench.clock, async () => asked)
    await runner.stop()
    const left = await job(world)
    assert.deepEqual([left.status, left.details.misses, left.leaseOwner], ['in_progress', 0, ''])
  }))

test('a runner that stops waits for a submission that is on its way', () =>
  inWorld(async (world) => {
    const { bench, provider } = world
    const held = gate()
    const submit = provider.submit.bind(provider)
    provider.submit = async () => {
      await held.pass()
      return submit()
    }
    const runner = runnerOf(world, bench.clock)
    await runner.start()
    await settle(held.reached)
    const stopped = runner.stop()
    held.open()
    await stopped
    assert.deepEqual([(await job(world)).phase, (await job(world)).leaseOwner], ['accepted', ''])
  }))
