import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A provider of OpenAI's protocol that lists models to whoever has its key. */
export interface ModelLister {
  /** The base address. */
  readonly url: string
  /** Each request's path and `authorization`. */
  readonly asked: string[]
  /** Answers every request so from now on; null = as it should. */
  answer: { readonly status: number; readonly body: unknown } | null
  close(): void
}

export async function startModelLister(key: string, models: readonly object[]): Promise<ModelLister> {
  const asked: string[] = []
  const server = createServer((request, response) => {
    const given = request.headers.authorization ?? ''
    asked.push(`${request.url} ${given}`)
    const { status, body } =
      lister.answer ??
      (given === `Bearer ${key}`
        ? { status: 200, body: { data: models } }
        : { status: 401, body: { error: { message: `Incorrect API key provided: ${given}` } } })
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  // The server listens on TCP.
  const { port } = server.address() as AddressInfo
  const lister: ModelLister = {
    url: `http://127.0.0.1:${port}/v1`,
    asked,
    answer: null,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
  return lister
}
