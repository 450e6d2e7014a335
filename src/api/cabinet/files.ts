import type { Principal } from '../../access/principal.ts'
import type { Route } from '../../http/edge.ts'
import { FOCUS_FILE } from '../focus/routes.ts'
import { logCsv } from './log.ts'
import { visitOf, type CabinetFile, type CabinetPorts } from './ports.ts'

const FILES: Readonly<Record<string, CabinetFile>> = {
  log: {
    scope: 'usage:read',
    route: {
      summary:
        'The log as a spreadsheet, newest first, at most a million rows. Takes the filters of the log, and `format=csv_semicolon` as lists do.',
      answer: { media: 'text/csv' },
      errors: ['invalid_input'],
    },
    send: logCsv,
  },
  focus: FOCUS_FILE,
}

/** By their routes, which are in no contract. */
export const CABINET_FILES: ReadonlyMap<string, CabinetFile> = new Map(
  Object.entries(FILES).map(([name, file]) => [`GET /cabinet/v1/${name}.csv`, file]),
)

export function fileRoutes(ports: CabinetPorts): readonly Route<Principal>[] {
  return Object.entries(FILES).map(([name, { scope, send }]) => ({
    method: 'GET',
    path: `/cabinet/v1/${name}.csv`,
    plane: 'session',
    body: 'none',
    handle: (call) => send(ports, visitOf(ports, call, scope)),
  }))
}
