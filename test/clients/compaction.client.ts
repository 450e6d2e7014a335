import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { auditClean } from '../harness/api-client.ts'
import { until } from '../harness/patience.ts'
import { ClientHome } from './client-run.ts'
import { commandLineClients, EDITED, type Client, type Compaction } from './clients.ts'
import { EDIT, libraries, type Library } from './libraries.ts'
import { COST_MICRO, spentMicro } from './money.ts'
import { startScriptedGateway } from './scripted-gateway.ts'
import { answerTo, TURNS } from './turns.ts'
import { lasting } from '../harness/lasting.ts'

/** About 12,000 tokens: a few such turns are more than `SHORT_CONTEXT`, one is not. */
const LONG = ' and one more word'.repeat(3_200)
const LONG_TURNS_MAX = 6
const SAID = 'In short: the user said hello at length.'
const SUMMARY = `<state_snapshot>${SAID}</state_snapshot>`

const gateway = await lasting(startScriptedGateway())
const { model, tollgate } = gateway

describe('a conversation that no context holds', async () => {
  for (const client of commandLineClients()) {
    const { name, compacts } = client
    if (typeof compacts !== 'string')
      test(`${name} compacts a conversation that is refused as too long, and goes on`, () =>
        compaction(client, compacts))
  }

  for (const library of libraries())
    if (library.compacts !== undefined) {
      const { compacts } = library
      test(`${library.name} compacts a conversation that is too long, and goes on in the same turn`, () =>
        libraryCompaction(library, compacts))
    }
})

async function compaction(
  client: Client,
  { model: name, asks, atNextTurn, bySize, inBackground, summaries: expected = 1 }: Compaction,
): Promise<void> {
  const { id, key } = await tollgate.createAccount()
  const target = { url: tollgate.url, key, model: name, compacts: true }
  const home = new ClientHome()
  try {
    client.setUp(home, target)
    let summaries = 0
    model.script = (asked) => {
      if (!asks.test(asked.said.at(-1)?.text ?? ''))
        return answerTo(asked, (tools) => client.edit(tools, home.work), client.editsInText)
      summaries += 1
      return { text: SUMMARY }
    }
    const answersBefore = model.answers
    const [long, edit] = TURNS
    let turn = 0
    for (let isRefused = false; !isRefused; turn += 1) {
      assert.ok(turn < LONG_TURNS_MAX, 'the context holds them all')
      const { output } = await client.ask(home, target, long.text + LONG, turn)
      await logsAreRead(key)
      isRefused = bySize === true ? summaries > 0 : refusalsOf(id) > 0 && (atNextTurn === true || summaries > 0)
      assert.equal(output.includes(long.said), !isRefused || atNextTurn !== true, output.slice(-4_000))
    }
    const { output } = await client.ask(home, target, edit.text, turn)
    assert.ok(output.includes(edit.said), output.slice(-4_000))
    assert.ok(existsSync(join(home.work, EDITED.file)), output.slice(-4_000))
    assert.equal(readFileSync(join(home.work, EDITED.file), 'utf8').trimEnd(), EDITED.text)
    assert.ok(summaries === expected || (inBackground === true && summaries === expected + 1), `${summaries} summaries`)
    assert.equal(refusalsOf(id) > 0, bySize !== true)
    const last = model.asked.at(-1)?.asked.said ?? []
    assert.ok(
      last.some(({ text }) => text.includes(SAID)),
      'it goes on from the summary',
    )
    assert.ok(last.filter(({ text }) => text.includes(LONG)).length < turn, 'it has left turns out')
    assert.equal(await spentMicro(tollgate, id), COST_MICRO * BigInt(model.answers - answersBefore))
    await auditClean(tollgate)
  } finally {
    home.remove()
  }
}

async function libraryCompaction(
  library: Library,
  { model: name, asks, marks, bySize }: NonNullable<Library['compacts']>,
): Promise<void> {
  const { id, key } = await tollgate.createAccount()
  const home = new ClientHome()
  try {
    let summaries = 0
    model.script = (asked) => {
      if (!asks.test(asked.said.at(-1)?.text ?? '')) return answerTo(asked, () => library.edit?.(home.work) ?? EDIT)
      summaries += 1
      return { text: SUMMARY }
    }
    const answersBefore = model.answers
    const [long, edit] = TURNS
    const texts = [...Array<string>(LONG_TURNS_MAX - 1).fill(long.text + LONG), edit.text]
    const target = { url: tollgate.url, key, model: name, compacts: true }
    const { code, output } = await library.run(home, target, texts)
    await logsAreRead(key)
    assert.equal(code, 0, output.slice(-4_000))
    assert.ok(output.includes(edit.said), output.slice(-4_000))
    assert.equal(readFileSync(join(home.work, EDITED.file), 'utf8'), EDITED.text)
    assert.ok(summaries > 0)
    assert.equal(refusalsOf(id) > 0, bySize !== true)
    const last = model.asked.at(-1)?.asked.said ?? []
    assert.ok(
      last.some(({ text }) => text.includes(marks)),
      'it goes on from the summary',
    )
    assert.equal(await spentMicro(tollgate, id), COST_MICRO * BigInt(model.answers - answersBefore))
    await auditClean(tollgate)
  } finally {
    home.remove()
  }
}

/** The server writes its lines in order, some time after it has answered. */
async function logsAreRead(key: string): Promise<void> {
  const mark = `mark-${randomUUID()}`
  const { status } = await tollgate.request('GET', '/v1/models', { key, headers: { 'x-request-id': mark } })
  // Without a key a few of them would have the address refused, and the clients with it.
  assert.equal(status, 200)
  await until(10_000, 'its lines are there', () => tollgate.logs().some((line) => line.includes(mark)))
}

/** Requests of an account that were refused as too long. */
function refusalsOf(accountId: string): number {
  return tollgate
    .logs()
    .filter((line) => line.includes(accountId) && /"error_type":"(?:input_tokens|token_limit)_exceeded"/.test(line))
    .length
}
