import type { LogFields } from '../http/request-log.ts'

/** What a reader looks for first, without its name. */
const HEAD = ['method', 'route', 'status'] as const
const ID = /_id$/

/** The line of a request for eyes: the time first, what happened, and the ids last. */
export function terminalLine(fields: LogFields, at: Date): string {
  const { duration_ms: durationMs, ...rest } = fields
  const names = Object.keys(rest).filter((name) => !HEAD.some((head) => head === name))
  const tail = [...names.filter((name) => !ID.test(name)), ...names.filter((name) => ID.test(name))].filter(
    (name) => fields[name] !== null,
  )
  const time = at.toTimeString().slice(0, 8)
  return [
    time,
    ...HEAD.map((name) => fields[name] ?? '-'),
    ...(durationMs === undefined ? [] : [`${durationMs} ms`]),
    ...tail.map((name) => `${name}=${fields[name]}`),
  ].join(' ')
}
