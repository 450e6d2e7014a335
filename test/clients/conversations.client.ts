import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { auditClean } from '../harness/api-client.ts'
import { ClientHome, type Target } from './client-run.ts'
import { commandLineClients, EDITED, type Client } from './clients.ts'
import { EDIT, libraries, type Library } from './libraries.ts'
import { COST_MICRO, spentMicro } from './money.ts'
import { startScriptedGateway } from './scripted-gateway.ts'
import { answerTo, TURNS } from './turns.ts'
import { lasting } from '../harness/lasting.ts'

const gateway = await lasting(startScriptedGateway())
const { model, tollgate } = gateway

describe('conversations', async () => {
  for (const client of commandLineClients()) {
    describe(client.name, () => {
      for (const name of client.models)
        test(`three turns with ${name}, an edit of a file among them, each charged to the micro-ruble`, () =>
          conversation(client, name))
    })
  }

  for (const library of libraries()) {
    describe(library.name, () => {
      for (const name of library.models)
        test(`three turns with ${name}, a tool among them, each charged to the micro-ruble`, () =>
          wholeConversation(library, name))
    })
  }
})

async function wholeConversation(library: Library, name: string): Promise<void> {
  const { id, key } = await tollgate.createAccount()
  const home = new ClientHome()
  try {
    model.script = (asked) => answerTo(asked, () => library.edit?.(home.work) ?? EDIT)
    const answersBefore = model.answers
    const ran = await library.run(
      home,
      { url: tollgate.url, key, model: name },
      TURNS.map(({ text }) => text),
    )
    assert.equal(ran.code, 0, ran.output.slice(-4_000))
    for (const { said } of TURNS) assert.ok(ran.output.includes(said), ran.output.slice(-4_000))
    assert.equal(readFileSync(join(home.work, EDITED.file), 'utf8'), EDITED.text)
    if (library.usage instanceof RegExp) assert.match(ran.output, library.usage)
    const answers = TURNS.length + 1 + (library.checks ?? 0)
    assert.equal(model.answers - answersBefore, answers)
    assert.equal(await spentMicro(tollgate, id), COST_MICRO * BigInt(answers))
    await auditClean(tollgate)
  } finally {
    home.remove()
  }
}

async function conversation(client: Client, name: string): Promise<void> {
  const { id, key } = await tollgate.createAccount()
  const target: Target = { url: tollgate.url, key, model: name }
  const home = new ClientHome()
  try {
    client.setUp(home, target)
    model.script = (asked) => answerTo(asked, (tools) => client.edit(tools, home.work), client.editsInText)
    const answersBefore = model.answers
    const { usage } = client
    const option = typeof usage === 'string' ? [] : [usage.option ?? []].flat()
    let whole = ''
    for (const [turn, { text, said }] of TURNS.entries()) {
      const ran = await client.ask(home, target, text, turn, turn === TURNS.length - 1 ? option : [])
      whole += ran.output
      assert.ok(
        ran.output.includes(said),
        `turn ${turn + 1} of ${client.name}: exit ${ran.code}\n${ran.output.slice(-4_000)}`,
      )
    }
    if (typeof usage !== 'string') assert.match(whole, usage.shows)
    assert.ok(existsSync(join(home.work, EDITED.file)), 'the tool was not run')
    assert.equal(readFileSync(join(home.work, EDITED.file), 'utf8').trimEnd(), EDITED.text)
    assert.equal(await spentMicro(tollgate, id), COST_MICRO * BigInt(model.answers - answersBefore))
    const opened = tollgate.logs().some((line) => line.includes(id) && line.includes('"status":101'))
    assert.equal(opened, client.overSocket === true, 'it opens a WebSocket just where it is told to')
    await auditClean(tollgate)
  } finally {
    home.remove()
  }
}
