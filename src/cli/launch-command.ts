import { lstatSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { AGENTS, type ClientSetup, type SetupPart } from '../tables/client-setups.ts'
import { withoutTrailing } from '../base/text.ts'
import { type CliContext, type Command, CommandError, type CommandInput, UsageError } from './command.ts'
import { refuseBadSettings } from './store-access.ts'

/** The placeholder for a key that was not given, as on the pages of the clients. */
const NO_KEY = 'sk-tg-…'
const NAMES = AGENTS.map((setup) => nameOf(setup)).join(', ')

/** Settings of the clients that run in a terminal, from the table that their pages and the console have. */
export const LAUNCH_COMMAND: Command = {
  words: 'launch',
  operands: ['CLIENT'],
  summary: `Prints the settings of a client for this service: ${NAMES}.`,
  options: {
    key: { value: 'KEY', help: 'an API key; TOLLGATE_API_KEY if it is not given' },
    model: { value: 'MODEL', help: 'the model that the client begins with' },
    write: { help: 'writes the files that are not there yet; the rest is printed' },
  },
  run: launch,
}

/** The command's name: `claude` for the page `claude-code`. */
function nameOf({ page }: ClientSetup): string {
  return page.split('-', 1)[0] ?? page
}

async function launch(input: CommandInput, context: CliContext): Promise<number> {
  const { config, env, stdout } = context
  refuseBadSettings(context, ['TOLLGATE_API_KEY', 'TOLLGATE_URL', 'TOLLGATE_PUBLIC_URL'])
  const [given = ''] = input.operands
  const setup = AGENTS.find((one) => given === nameOf(one) || given === one.page)
  if (setup === undefined) throw new UsageError(`'${given}' is no client that is known here. Known: ${NAMES}`)
  const key = input.text('key') ?? config.apiKey ?? undefined
  const writes = input.flag('write')
  if (writes && key === undefined) throw new UsageError('--write needs a key: --key, or TOLLGATE_API_KEY')
  const root = withoutTrailing(config.publicUrl ?? config.url, '/')
  const facts = { root, base: `${root}/v1`, key: key ?? NO_KEY, model: input.text('model') ?? setup.pageModel }
  let isWhole = true
  for (const part of setup.parts(facts)) {
    const { file, text } = part
    if (file === undefined) stdout(text)
    else if (!writes) stdout(`# ${file}\n${text}\n`)
    else isWhole = written(part, file, env['HOME'], stdout) && isWhole
  }
  return isWhole ? 0 : 1
}

/** Whether the file now has the settings; a file with other contents is left as it is. */
function written({ text }: SetupPart, file: string, home: string | undefined, stdout: (text: string) => void): boolean {
  if (file.startsWith('~/') && home === undefined) throw new CommandError(`HOME is not set: ${file} has no place`)
  const path = resolve(file.replace(/^~(?=\/)/, home ?? ''))
  const wanted = `${text}\n`
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) {
    const isThere = textIn(path) === wanted
    stdout(
      isThere
        ? `# ${file} is as it should be`
        : `# ${file} has other settings and was left as it is. Put into it:\n${text}\n`,
    )
    return isThere
  }
  mkdirSync(dirname(path), { recursive: true })
  // The text may hold the key. So the file must be new: no link is followed, and no file that another process has just
  // made is written to.
  writeFileSync(path, wanted, { mode: 0o600, flag: 'wx' })
  stdout(`# Wrote ${file}`)
  return true
}

/** null = the file cannot be read, such as a link that leads nowhere. */
function textIn(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return null
  }
}
