import { listen, sendJson } from './scripted-upstream.ts'

/** A provider with OpenAI's protocol that lists models to callers with its key. */
export interface ModelLister {
  /** The base address. */
  readonly url: string
  /** Each request's path and `authorization`. */
  readonly asked: string[]
  /** The answer to every request from now on; null = the normal answer. */
  answer: { readonly status: number; readonly body: unknown } | null
  close(): Promise<void>
}

export async function startModelLister(key: string, models: readonly object[]): Promise<ModelLister> {
  const asked: string[] = []
  const { url, close } = await listen((response, { path, headers }) => {
    const given = headers.authorization ?? ''
    asked.push(`${path} ${given}`)
    const { status, body } =
      lister.answer ??
      (given === `Bearer ${key}`
        ? { status: 200, body: { data: models } }
        : { status: 401, body: { error: { message: `Incorrect API key provided: ${given}` } } })
    sendJson(response, body, status)
  })
  const lister: ModelLister = { url: `${url}/v1`, asked, answer: null, close }
  return lister
}
