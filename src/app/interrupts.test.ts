import assert from 'node:assert/strict'
import { test } from 'node:test'
import { movingClock, type MovingClock } from '../../test/harness/moving-clock.ts'
import { Interrupts } from './interrupts.ts'

interface Bench {
  readonly interrupts: Interrupts
  readonly clock: MovingClock
  readonly said: string[]
  readonly done: string[]
  readonly stop: () => void
}

function bench(running: number): Bench {
  const said: string[] = []
  const done: string[] = []
  const clock = movingClock()
  const interrupts = new Interrupts({
    app: { running, cut: () => done.push('cut') },
    clock,
    say: (line) => said.push(line),
    exit: () => done.push('exit'),
  })
  return { interrupts, clock, said, done, stop: () => done.push('stop') }
}

test('Ctrl-C: the first stops, the second names the running answers, the third cuts them, and the fourth ends the process', () => {
  const { interrupts, clock, said, done, stop } = bench(2)
  for (let count = 0; count < 4; count += 1) {
    interrupts.interrupt(stop)
    // npm passes the same signal on.
    interrupts.interrupt(stop)
    clock.advance(1_000)
  }
  assert.deepEqual(done, ['stop', 'cut', 'exit'])
  assert.deepEqual(said, [
    'Stopping when 2 running answers have ended, in 120 s at the latest',
    'Waiting for 2 running answers. Press Ctrl-C again to cut them',
    'Cutting 2 running answers: their clients get an error, and nothing of them is charged',
  ])
})

test('SIGTERM stops once, however often it comes, and the Ctrl-C after it names the running answers', () => {
  const { interrupts, clock, said, done, stop } = bench(1)
  for (let count = 0; count < 3; count += 1) interrupts.terminate(stop)
  assert.deepEqual(done, ['stop'])
  clock.advance(1_000)
  interrupts.interrupt(stop)
  assert.equal(said.at(-1), 'Waiting for 1 running answer. Press Ctrl-C again to cut them')
  assert.deepEqual(done, ['stop'])
})
