import type { LogFields } from '../http/request-log.ts'
import { ownValue } from '../base/own-value.ts'

/** The fields that a reader looks for first; they are shown without their names. */
const HEAD = ['method', 'route', 'status'] as const
const ID = /_id$/

/** A request's line for a terminal: the time, what happened, and the ids at the end. */
export function terminalLine(fields: LogFields, at: Date): string {
  const { duration_ms: durationMs, ...rest } = fields
  const names = Object.keys(rest).filter((name) => !HEAD.some((head) => head === name))
  const tail = [...names.filter((name) => !ID.test(name)), ...names.filter((name) => ID.test(name))].filter(
    (name) => ownValue(fields, name) !== null,
  )
  const time = at.toTimeString().slice(0, 8)
  return [
    time,
    ...HEAD.map((name) => fields[name] ?? '-'),
    ...(durationMs === undefined ? [] : [`${durationMs} ms`]),
    ...tail.map((name) => `${name}=${ownValue(fields, name)}`),
  ].join(' ')
}
