import { CSV_TYPE } from '../base/csv.ts'
import { HIJACKED, type Call } from './edge.ts'
import { sendBytes } from './sent-bytes.ts'

/**
 * Sends lines as a file at the client's pace. The first piece is read before the head, so that its failure has a
 * status.
 */
export async function sendCsv(
  { response, baseHeaders, log }: Call<unknown>,
  fileName: string,
  lines: AsyncGenerator<string, void>,
): Promise<typeof HIJACKED> {
  const first = await lines.next()
  response.writeHead(200, {
    ...baseHeaders,
    'content-type': CSV_TYPE,
    'content-disposition': `attachment; filename="${fileName}"`,
  })
  await sendBytes(response, after(first.value ?? '', lines))
  log.finish(200)
  return HIJACKED
}

async function* after(first: string, rest: AsyncGenerator<string, void>): AsyncIterable<string> {
  yield first
  yield* rest
}
