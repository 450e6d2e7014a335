import cluster from 'node:cluster'
import { createServer } from 'node:http'
import { systemClock } from '../../../src/base/clock.ts'
import { mergeReadings, gauge, readMetrics, type MetricReading } from '../../../src/base/prometheus.ts'
import { watchLoop } from '../../../src/nodes/loop-watch.ts'
import { BEAT_MS, ParentLink, type ToWorker, WorkerGroup } from '../../../src/nodes/workers.ts'

// A program whose loop can be blocked for ever: the `workers` of a group, or a single process under its watch
// (`alone`).

const LOOK_MS = 150
const ALONE_MS = 500

function standStill(): never {
  for (;;);
}

let answered = 0

function serve(ready: (url: string) => void, metrics: () => Promise<readonly MetricReading[]>): void {
  const server = createServer((request, response) => {
    if (request.url === '/stand-still') {
      response.writeHead(200, { connection: 'close' }).end(String(process.pid), () => setImmediate(standStill))
    } else if (request.url === '/metrics') {
      metrics().then(
        (all) => response.writeHead(200, { connection: 'close' }).end(JSON.stringify(all)),
        () => response.destroy(),
      )
    } else if (request.url === '/ask-and-die') {
      void metrics()
      process.kill(process.pid, 'SIGKILL')
    } else {
      answered += 1
      response.writeHead(200, { connection: 'close' }).end(String(process.pid))
    }
  })
  server.listen(0, '127.0.0.1', () => {
    const address = server.address()
    ready(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`)
  })
}

const own = (): readonly MetricReading[] =>
  readMetrics([
    { name: 'answered_total', help: 'Answers.', type: 'counter', samples: () => [{ value: answered }] },
    gauge('processes', 'Processes.', () => 1),
  ])

if (process.argv[2] === 'alone') {
  // Handled only while the loop turns; without a listener the system would end the process.
  process.on('SIGTERM', () => undefined)
  watchLoop(ALONE_MS, (message) => process.stdout.write(`${message}\n`))
  serve(
    (url) => process.stdout.write(`ready ${url}\n`),
    async () => own(),
  )
} else if (cluster.isPrimary) {
  const group = new WorkerGroup({
    count: 2,
    clock: systemClock,
    say: (line) => process.stdout.write(`${line}\n`),
    lookMs: LOOK_MS,
  })
  process.on('SIGTERM', () => group.stop())
  group.run().then(
    (code) => process.exit(code),
    () => process.exit(1),
  )
} else {
  const link = new ParentLink({
    worker: String(process.pid),
    clock: { ...systemClock, after: (delayMs, task) => systemClock.after(delayMs === BEAT_MS ? 10 : delayMs, task) },
    send: (message) => void process.send?.(message),
  })
  // Only the parent has the other end.
  process.on('message', (message) => link.heard(message as ToWorker))
  link.provide(own)
  process.on('SIGTERM', () => process.exit(0))
  serve(
    (url) => link.ready(url),
    async () => mergeReadings((await link.all()).map(({ metrics }) => metrics)),
  )
}
