import { isProblemOf } from '../app/config.ts'
import { isObject } from '../kinds/fields/body-fields.ts'
import { request } from '../base/http-request.ts'
import { withoutTrailing } from '../base/text.ts'
import { type CliContext, CommandError } from './command.ts'

const TIMEOUT_MS = 30_000
/** An audit reads the whole ledger before it answers, so it may take this long. */
const AUDIT_TIMEOUT_MS = 600_000
const CLIENT_SETTINGS = ['TOLLGATE_URL', 'TOLLGATE_ADMIN_TOKEN'] as const

/** The admin API of the running server that TOLLGATE_URL names. */
export interface AdminClient {
  /** The JSON body of a 2xx answer; any other answer is a CommandError in the server's own words. */
  call(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    body?: unknown,
  ): Promise<Readonly<Record<string, unknown>>>
  /** The text of a 2xx answer. */
  text(path: string): Promise<string>
}

export function adminClient({ config, configProblems }: CliContext): AdminClient {
  const problem = configProblems.find((line) => CLIENT_SETTINGS.some((name) => isProblemOf(line, name)))
  if (problem !== undefined) throw new CommandError(problem)
  const token = config.adminToken
  if (token === null)
    throw new CommandError(
      'TOLLGATE_ADMIN_TOKEN is not set: this command speaks to the admin API of a running server and needs the same token as the server',
    )
  const base = withoutTrailing(config.url, '/')
  const send = async (method: Parameters<AdminClient['call']>[0], path: string, body?: unknown): Promise<string> => {
    const timeout = ['/admin/v1/audit', '/admin/v1/reconciliations'].some((slow) => path.startsWith(slow))
      ? AUDIT_TIMEOUT_MS
      : TIMEOUT_MS
    const answer = await answered(base, () =>
      request(`${base}${path}`, {
        method,
        headersTimeout: timeout,
        bodyTimeout: timeout,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    )
    const text = await answered(base, () => answer.body.text())
    if (answer.statusCode < 200 || answer.statusCode > 299)
      throw new CommandError(refusal(base, answer.statusCode, text))
    return text
  }
  return {
    text: (path) => send('GET', path),
    call: async (method, path, body) => {
      const parsed = parsedJson(await send(method, path, body))
      if (parsed === null)
        throw new CommandError(`${base} did not answer as a Tollgate server does. Is TOLLGATE_URL right?`)
      return parsed
    },
  }
}

async function answered<T>(base: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? ` (${String(thrown.code)})` : ''
    throw new CommandError(`No server answers at ${base}${code}. Start it, or set TOLLGATE_URL`)
  }
}

function refusal(base: string, status: number, text: string): string {
  const error = parsedJson(text)?.['error']
  if (!isObject(error) || typeof error['message'] !== 'string')
    return `${base} answered ${status} without a reason. Is TOLLGATE_URL right?`
  return error['message']
}

function parsedJson(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}
