import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { AGENTS } from '../../src/tables/client-setups.ts'
import { ClientHome, isChosen } from './client-run.ts'
import { spentMicro } from './money.ts'
import { startScriptedGateway } from './scripted-gateway.ts'
import { answerTo, TURNS } from './turns.ts'
import { lasting } from '../harness/lasting.ts'

const TOLLGATE = join(import.meta.dirname, '../../bin/tollgate.js')
const [{ text: HELLO, said: ANSWER }] = TURNS
/** What a script adds to the last line of each client's settings, in which a user would type; absent = nothing. */
const ASKS: Readonly<Record<string, string>> = {
  'Claude Code': ` -p '${HELLO}'`,
  Codex: ` exec --skip-git-repo-check '${HELLO}'`,
  'Gemini CLI': ` --skip-trust -p '${HELLO}'`,
  'Qwen Code': ` -p '${HELLO}'`,
  Continue: ` -p '${HELLO}'`,
  Pi: ` -p '${HELLO}'`,
  'Copilot CLI': ` -p '${HELLO}'`,
  Aider: ` --no-git --yes-always --no-check-update --analytics-disable --message '${HELLO}'`,
}
const MODELS: Readonly<Record<string, string>> = {
  'Claude Code': 'acme/messages',
  Codex: 'acme/responses',
  'Gemini CLI': 'acme/gemini',
}

const gateway = await lasting(startScriptedGateway())

describe('settings that the console and `tollgate launch` show, as a newcomer uses them', async () => {
  gateway.model.script = (asked) => {
    const answered = answerTo(asked, () => ({ text: ANSWER }))
    return 'text' in answered && answered.text === 'A title' ? { text: ANSWER } : answered
  }
  for (const setup of AGENTS.filter((setup) => isChosen(setup))) {
    const { name, page } = setup
    test(`${name}: the files are written, the lines are typed, and it answers`, async () => {
      const { tollgate } = gateway
      const { id, key } = await tollgate.createAccount()
      const home = new ClientHome()
      try {
        const launch = [TOLLGATE, 'launch', page, '--key', key, '--model', MODELS[name] ?? 'acme/chat', '--write']
        const shown = await home.run(process.execPath, launch, { TOLLGATE_URL: tollgate.url })
        assert.equal(shown.code, 0, shown.output)
        const lines = shown.output.replaceAll(/^# .*$/gm, '').trim()
        const typed =
          name === 'llm'
            ? `mv extra-openai-models.yaml "$(dirname "$(llm logs path)")"\n${lines.replace(/#.*/, `<<< '${key}'`)}`
            : lines + (ASKS[name] ?? '')
        const { output } = await home.run('bash', ['-ec', typed], { CLINE_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1' })
        assert.ok(output.includes(ANSWER), `${typed}\n${output.slice(-4_000)}`)
        assert.ok((await spentMicro(tollgate, id)) > 0n)
      } finally {
        home.remove()
      }
    })
  }
})
