import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { chmodSync, chownSync, existsSync, globSync, lstatSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { found } from '../../harness/patience.ts'
import { hasProgram, packTarball } from '../../harness/program.ts'
import { freshFolder } from '../../harness/lasting.ts'

const ROOT = join(import.meta.dirname, '../../..')
const IMAGE_BYTES_MAX = 150_000_000
const READY_MS = 20_000
const USER = 65_532
const folder = freshFolder()
const image = join(folder, 'root')
const data = join(folder, 'data')
const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
/** No container engine is needed: the files of the image are run as a container runs them. */
const isPossible = process.getuid?.() === 0 && ['bwrap', 'setpriv', 'strip'].every(hasProgram)
const skip = isPossible ? false : 'needs root, bwrap, setpriv and strip'

before(() => {
  if (!isPossible) return
  const tarball = packTarball(join(folder, 'packed'))
  execFileSync(join(ROOT, 'deploy/image/root.sh'), [process.execPath, tarball, image])
  chmodSync(folder, 0o755)
  mkdirSync(data, { mode: 0o700 })
  chownSync(data, USER, USER)
})

/** A value of the Dockerfile's last stage. */
function told(instruction: RegExp): string {
  return instruction.exec(dockerfile)?.[1] ?? assert.fail(`the Dockerfile has no ${instruction.source}`)
}

test('the image is Node, its libraries and the package: no shell, less than 150 MB', { skip }, () => {
  const files = globSync('**', { cwd: image }).filter((name) => lstatSync(join(image, name)).isFile())
  const bytes = files.reduce((sum, name) => sum + lstatSync(join(image, name)).size, 0)
  assert.ok(bytes < IMAGE_BYTES_MAX, `${bytes} bytes`)
  const allowed =
    /^(?:usr\/local\/bin\/node|tollgate\/.*|etc\/(?:passwd|group|nsswitch\.conf)|.*\/(?:ld-linux|lib)[^/]*\.so\.\d+)$/
  assert.deepEqual(
    files.filter((name) => !allowed.test(name)),
    [],
  )
})

test('it serves as another user on a read-only root, and SIGTERM ends it', { skip }, async () => {
  const env = Object.fromEntries(
    told(/^ENV (.*)$/m)
      .split(' ')
      .map((pair) => pair.split('=')),
  )
  // Words in the form of JSON, by the Dockerfile's own rules.
  const words = (instruction: RegExp): string[] => JSON.parse(told(instruction))
  const [user] = told(/^USER (.*)$/m).split(':')
  assert.equal(Number(user), USER)
  for (const place of ['proc', 'dev']) mkdirSync(join(image, place))
  const run = (command: readonly string[], port: string): ChildProcess => {
    const settings = Object.entries({ ...env, HOST: '127.0.0.1', PORT: port }).flatMap(([name, value]) => [
      '--setenv',
      name,
      String(value),
    ])
    const box = [
      '--ro-bind',
      image,
      '/',
      '--bind',
      data,
      '/data',
      '--tmpfs',
      '/tmp',
      '--proc',
      '/proc',
      '--dev',
      '/dev',
    ]
    const place = ['--chdir', told(/^WORKDIR (\/etc.*)$/m), '--clearenv', '--die-with-parent']
    const as = ['--reuid', String(USER), '--regid', String(USER), '--clear-groups']
    return spawn('setpriv', [...as, 'bwrap', ...box, ...place, ...settings, ...command], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  }
  const server = run([...words(/^ENTRYPOINT (.*)$/m), ...words(/^CMD (.*)$/m)], '0')
  let said = ''
  for (const output of [server.stdout, server.stderr]) output?.on('data', (chunk: Buffer) => (said += chunk.toString()))
  const ended = new Promise<number | null>((resolve) => server.once('exit', resolve))
  try {
    const port = await found(READY_MS, 'the server is ready', () => {
      assert.equal(server.exitCode, null, said)
      return /Tollgate ready on http:\/\/127\.0\.0\.1:(\d+)/.exec(said)?.[1]
    })
    const curl = spawnSync('sh', ['-c', /^curl .+$/m.exec(said)?.[0] ?? ''], { encoding: 'utf8' })
    assert.ok(JSON.parse(curl.stdout).usage.cost > 0, curl.stdout)
    assert.equal(lstatSync(join(data, 'tollgate.db')).uid, USER)
    const [code, other] = await Promise.all(
      [port, '1'].map((at) => {
        const health = run(words(/^HEALTHCHECK [^\n]*\n\s+CMD (.*)$/m), at)
        return new Promise((resolve) => health.once('exit', resolve))
      }),
    )
    assert.deepEqual([code, other], [0, 1], 'the health check tells a server that answers from one that does not')
    // The signal is for the server: it is process 1 in a container, and a child of the box here.
    const children = `/proc/${server.pid}/task/${server.pid}/children`
    const inside = existsSync(children) ? readFileSync(children, 'utf8').trim().split(' ').map(Number) : []
    for (const pid of inside) process.kill(pid, 'SIGTERM')
    assert.equal(await ended, 0, said)
  } finally {
    server.kill('SIGKILL')
  }
})
