import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { UsageError } from '../src/cli/command.ts'
import { commandOf } from '../src/cli/run-command.ts'
import { runCli } from './harness/cli-run.ts'
import { gateway } from './harness/gateway.ts'

/** A space, a comment, the end of a command, or a part of a word. */
const TOKEN = /\s+|(?<=^|\s)#.*|(?<end>&&|\|\||[|;&])|(?<part>'[^']*'|"(?:\\.|[^"\\])*"|[^\s'"|;&]+|['"])/g

/** The commands of a text as a shell would run them, each as its words, without assignments before it. */
function shellCommands(text: string): readonly (readonly string[])[] {
  return text
    .replaceAll('\\\n', ' ')
    .split('\n')
    .flatMap(commandsOf)
    .map((words) => words.slice(words.findIndex((word) => !/^[A-Z_]+=/.test(word))))
}

function commandsOf(line: string): readonly (readonly string[])[] {
  const commands: string[][] = [[]]
  let isWithin = false
  for (const { groups = {} } of line.matchAll(TOKEN)) {
    const { end, part } = groups
    const words = commands.at(-1) ?? []
    if (end !== undefined) commands.push([])
    // Parts without a space between them are one word.
    if (part !== undefined) words.push(`${isWithin ? (words.pop() ?? '') : ''}${unquoted(part)}`)
    isWithin = part !== undefined
  }
  return commands.filter((words) => words.length > 0)
}

function unquoted(part: string): string {
  if (part.length === 1) return part
  if (part.startsWith("'")) return part.slice(1, -1)
  return part.startsWith('"') ? part.slice(1, -1).replaceAll(/\\(.)/g, '$1') : part
}

const ROOT = join(import.meta.dirname, '..')
const PAGES = ['README.md', 'CONTRIBUTING.md', ...globSync('{docs,deploy}/**/*.md', { cwd: ROOT }).toSorted()]
/** Stands for the rest of a line, and for a part of an id. */
const LEFT_OUT = '…'
/** First words of commands that work on the store itself, or on this machine. */
const LOCAL: ReadonlySet<string> = new Set(
  'start check apply export catalog copy migrate backup audit reconcile admin kek launch help'.split(' '),
)

/** An id of which a page shows the beginning. */
const NO_SUCH = /^(?:chn|dlv|prc)_…$/
/** Receivers by mail and Telegram may be made, and nothing is sent to them. */
const TELLING = {
  SMTP_HOST: '127.0.0.1',
  SMTP_FROM: 'ai@example.com',
  TELEGRAM_BOT_TOKEN: `1:${'a'.repeat(35)}`,
  TELEGRAM_API_URL: 'http://127.0.0.1:9',
}

interface Shown {
  readonly page: string
  /** false = it stands in a sentence. */
  readonly isLine: boolean
  /** Behind the name of the program. */
  readonly words: readonly string[]
}

/** The commands of a text that begin with this program's name. */
function ours(page: string, isLine: boolean, text: string): readonly Shown[] {
  return shellCommands(text).flatMap((words) => {
    const [program = '', ...rest] = words[0] === 'node' ? words.slice(1) : words
    return program === 'tollgate' || program === 'bin/tollgate.js' ? [{ page, isLine, words: rest }] : []
  })
}

/** In blocks, and between backticks in a sentence, where brackets stand around what may be left out. */
function shownIn(page: string): readonly Shown[] {
  const text = readFileSync(join(ROOT, page), 'utf8')
  const blocks = [...text.matchAll(/^```(?:sh|bash|console)\n(.*?)^```/gms)].map(([, block = '']) => block)
  const sentences = [
    ...text.replaceAll(/^```.*?^```/gms, '').matchAll(/`((?:node bin\/)?tollgate(?:\.js)? [^`\n]+)`/g),
  ].map(([, code = '']) => code.replaceAll(/[[\]]/g, ' '))
  return [...blocks.flatMap((part) => ours(page, true, part)), ...sentences.flatMap((part) => ours(page, false, part))]
}

/** Those that name a command. */
const SHOWN = PAGES.flatMap(shownIn).filter(({ words: [first = LEFT_OUT] }) => /^[a-z]/.test(first))

function problemOf(words: readonly string[]): string | null {
  const isCut = words.includes(LEFT_OUT)
  // `tollgate audit` in a sentence names the command, and `tollgate account …` a family.
  const isName = isCut || words.every((word) => !word.startsWith('-'))
  try {
    commandOf(isCut ? words.slice(0, words.indexOf(LEFT_OUT)) : words)
    return null
  } catch (thrown) {
    if (!(thrown instanceof UsageError)) throw thrown
    return isName && / is missing\. | needs one of: |argument missing/.test(thrown.message) ? null : thrown.message
  }
}

test('every command that a page shows is one, with these operands and options', () => {
  assert.ok(SHOWN.length > 90, String(SHOWN.length))
  assert.deepEqual(
    SHOWN.filter(({ words }) => words[0] !== 'help').flatMap(({ page, words }) => {
      const problem = problemOf(words)
      return problem === null ? [] : [`${page}: tollgate ${words.join(' ')}: ${problem}`]
    }),
    [],
  )
  assert.match(problemOf(['account', 'creat', 'Ada']) ?? '', /unknown command 'account creat'/)
  assert.match(problemOf(['audit', '--sins', 'now']) ?? '', /Unknown option '--sins'/)
})

test('every command of the admin API that a page shows gives its options values that they take', async () => {
  // Without a token it ends where it would send its request.
  const isWhole = ({ words: [first = '', ...rest] }: Shown): boolean =>
    !LOCAL.has(first) && rest.length > 1 && !rest.some((word) => word === LEFT_OUT || /^[A-Z_]+$/.test(word))
  const whole = SHOWN.filter(isWhole)
  assert.ok(whole.length > 20, String(whole.length))
  for (const { page, words } of whole) {
    const { code, err } = await runCli(words)
    assert.match(err, /^tollgate: TOLLGATE_ADMIN_TOKEN is not set/, `${page}: tollgate ${words.join(' ')}`)
    assert.equal(code, 1)
  }
})

test('every line of a page that asks a server is answered by one, page by page from the first', async () => {
  const server = await gateway({ env: TELLING })
  const env = { TOLLGATE_URL: server.url, TOLLGATE_ADMIN_TOKEN: server.adminToken }
  const account = (await server.admin('POST', '/admin/v1/accounts', { name: 'Ada' })).body.id
  const lines = SHOWN.filter(({ isLine, words: [first = ''] }) => isLine && !LOCAL.has(first))
  assert.ok(lines.length > 20, String(lines.length))
  const wrong: string[] = []
  for (const { page, words } of lines) {
    const { code, err } = await runCli(
      words.map((word) => (word === 'acc_…' ? account : word)),
      env,
    )
    // Of the other ids that a reader fills in, there are none here.
    const isUnknown = words.some((word) => NO_SUCH.test(word)) && err.endsWith(' not found')
    if (code !== 0 && !isUnknown) wrong.push(`${page}: tollgate ${words.join(' ')}: ${err}`)
  }
  assert.deepEqual(wrong, [])
})

test('the lines of a page are read as a shell reads them', () => {
  assert.deepEqual(shellCommands(`A=1 tollgate x 'a b'"c\\"d" -e=1 # no\nfoo && tollgate y | jq .a\\\n  b`), [
    ['tollgate', 'x', 'a bc"d', '-e=1'],
    ['foo'],
    ['tollgate', 'y'],
    ['jq', '.a', 'b'],
  ])
})
