import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import {
  chatSnippet,
  fileMark,
  SNIPPET_LANGUAGES,
  type SnippetLanguage,
} from '../../../console/src/parts/call-snippet.ts'
import { madeMedia } from '../../harness/made-media.ts'
import { startScriptedUpstream, answers } from '../../harness/scripted-upstream.ts'
import { serve } from '../../harness/gateway.ts'
import { freshFolder } from '../../harness/lasting.ts'
import { completion } from '../../harness/provider-answers.ts'

const ROOT = join(import.meta.dirname, '../../..')
const PYTHON = join(ROOT, 'node_modules/.cache/python/bin/python')
/** Whatever a shell, Python or TypeScript could take for its own. */
const TEXT = `it's "quoted" \`backticks\` $HOME $(id) \${x} \\ back\\nslash {braces} %s\nJSON\nempty: '' "" \u2028 ёж 🦔`
const PICTURE_BYTES = madeMedia({ format: 'png', bytes: 400_000, seed: 1 })
const PICTURE = "it's a $picture.png"

const { account, tollgate, upstream } = await serve(
  startScriptedUpstream,
  ({ url }) => `
providers:
  p: { name: P, adapter: openai, base_url: "${url}", api_key: k }
models:
  - { id: test/seeing, type: chat, context_length: 200000, input_modalities: [text, image], endpoints: [{ provider: p, model: m, supported_parameters: [temperature, seed, max_tokens], price: { currency: RUB, prompt: 1, completion: 1 } }] }
`,
)
// Node runs no TypeScript below node_modules.
const folder = freshFolder()
symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
writeFileSync(join(folder, PICTURE), PICTURE_BYTES)

const COMMANDS: Readonly<Record<SnippetLanguage, readonly [program: string, file: string]>> = {
  curl: ['bash', 'call.sh'],
  python: [PYTHON, 'call.py'],
  typescript: [process.execPath, 'call.mts'],
}

for (const language of SNIPPET_LANGUAGES)
  test(`${language}: the code of a call sends exactly this call, with its files`, async (t) => {
    const [program, file] = COMMANDS[language]
    if (language === 'python' && !existsSync(PYTHON)) {
      assert.notEqual(process.env['CI'], 'true', 'the Python client must be installed in CI')
      t.skip('SKIPPED: no Python client. .ci/run installs it into node_modules/.cache/python')
      return
    }
    const call = (content: unknown, files: readonly string[]) => {
      const body = {
        model: 'test/seeing',
        temperature: 0.5,
        seed: 7,
        messages: [
          { role: 'system', content: TEXT },
          { role: 'user', content },
        ],
      }
      return chatSnippet(language, { base: `${tollgate.url}/v1`, key: account.key, body, files })
    }
    upstream.answer(answers(completion({ content: 'heard' }, { usage: { prompt_tokens: 9, completion_tokens: 1 } })))
    const picture = (base64: string) => [
      { type: 'text', text: TEXT },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${base64}` } },
    ]
    const cases: readonly (readonly [code: string, sent: unknown])[] = [
      [call(TEXT, []), TEXT],
      [call(picture(fileMark(0)), [PICTURE]), picture(PICTURE_BYTES.toString('base64'))],
    ]
    for (const [code, sent] of cases) {
      writeFileSync(join(folder, file), code)
      const seen = upstream.requests.length
      const { stdout } = await promisify(execFile)(program, [join(folder, file)], { cwd: folder })
      assert.match(stdout, /heard/)
      const { messages, temperature, seed } = upstream.requests[seen] ?? {}
      assert.deepEqual({ temperature, seed }, { temperature: 0.5, seed: 7 })
      assert.deepEqual(messages, [
        { role: 'system', content: TEXT },
        { role: 'user', content: sent },
      ])
    }
  })
