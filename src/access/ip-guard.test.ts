import assert from 'node:assert/strict'
import { test } from 'node:test'
import { movingClock } from '../../test/harness/moving-clock.ts'
import { IpGuard } from './ip-guard.ts'

const RULE = { failures: 20, window: 60, duration: 600 }

function failTimes(guard: IpGuard, ip: string, times: number): void {
  for (let count = 0; count < times; count += 1) guard.fail(ip)
}

test('D-7.3: the 20th failure within 60 s blocks for 600 s, doubling within a day up to a day', () => {
  const clock = movingClock()
  const guard = new IpGuard({ clock, settings: () => RULE })
  failTimes(guard, '1.2.3.4', 19)
  assert.equal(guard.blockedSeconds('1.2.3.4'), 0)
  guard.fail('1.2.3.4')
  assert.equal(guard.blockedSeconds('1.2.3.4'), 600)
  assert.equal(guard.blockedSeconds('1.2.3.5'), 0)
  const blocks: number[] = []
  for (let round = 0; round < 10; round += 1) {
    clock.advance(guard.blockedSeconds('1.2.3.4') * 1_000)
    assert.equal(guard.blockedSeconds('1.2.3.4'), 0)
    failTimes(guard, '1.2.3.4', 20)
    blocks.push(guard.blockedSeconds('1.2.3.4'))
  }
  assert.deepEqual(blocks, [1_200, 2_400, 4_800, 9_600, 19_200, 38_400, 76_800, 86_400, 86_400, 86_400])
  clock.advance(2 * 86_400_000)
  failTimes(guard, '1.2.3.4', 20)
  assert.equal(guard.blockedSeconds('1.2.3.4'), 600)
})

test('failures spread wider than the window never block, and a whole IPv6 /64 is one address', () => {
  const clock = movingClock()
  const guard = new IpGuard({ clock, settings: () => RULE })
  for (let count = 0; count < 100; count += 1) {
    guard.fail('1.2.3.4')
    clock.advance(3_200)
  }
  assert.equal(guard.blockedSeconds('1.2.3.4'), 0)
  for (let count = 0; count < 20; count += 1) guard.fail(`2001:db8:1:2::${count.toString(16)}`)
  assert.equal(guard.blockedSeconds('2001:db8:1:2:ffff::1'), 600)
  assert.equal(guard.blockedSeconds('2001:db8:1:3::1'), 0)
})

test('a pair of address and key stays proven for a day', () => {
  const clock = movingClock()
  const guard = new IpGuard({ clock, settings: () => RULE })
  guard.prove('1.2.3.4', 'digest')
  assert.deepEqual(
    [guard.isProven('1.2.3.4', 'digest'), guard.isProven('1.2.3.5', 'digest'), guard.isProven('1.2.3.4', 'other')],
    [true, false, false],
  )
  clock.advance(86_400_000)
  assert.equal(guard.isProven('1.2.3.4', 'digest'), false)
})

test('D-7.2: responses without an account count down 60 per 60 s for their address', () => {
  const clock = movingClock(1_000_000)
  const guard = new IpGuard({ clock, settings: () => RULE })
  assert.deepEqual(guard.headers('1.2.3.4'), {
    'x-ratelimit-limit': '60',
    'x-ratelimit-remaining': '59',
    'x-ratelimit-reset': '1060',
  })
  for (let count = 0; count < 80; count += 1) guard.headers('1.2.3.4')
  assert.equal(guard.headers('1.2.3.4')['x-ratelimit-remaining'], '0')
  clock.advance(60_000)
  assert.equal(guard.headers('1.2.3.4')['x-ratelimit-remaining'], '59')
})

test('a million addresses are bounded, the youngest stay', () => {
  const clock = movingClock()
  const guard = new IpGuard({ clock, settings: () => ({ ...RULE, failures: 1 }), ipsMax: 1_000 })
  for (let count = 0; count < 5_000; count += 1) guard.fail(`10.0.${count >> 8}.${count & 255}`)
  assert.equal(guard.blockedSeconds('10.0.0.1'), 0)
  assert.equal(guard.blockedSeconds(`10.0.${4_999 >> 8}.${4_999 & 255}`), 600)
})

test('a new address costs the same however many are remembered', () => {
  const guard = new IpGuard({ clock: movingClock(), settings: () => RULE })
  const see = (from: number, count: number): number => {
    const before = process.threadCpuUsage()
    for (let index = from; index < from + count; index += 1) {
      const ip = `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`
      guard.headers(ip)
      guard.fail(ip)
    }
    const { user, system } = process.threadCpuUsage(before)
    return (user + system) / count
  }
  see(0, 160_000)
  const atCap = see(160_000, 60_000)
  assert.ok(atCap < 25, `${atCap} µs of CPU for each new address`)
})
