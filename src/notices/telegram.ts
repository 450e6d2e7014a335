import type { Dispatcher } from 'undici'
import { post } from './post.ts'

export interface Telegram {
  readonly botToken: string
  readonly apiUrl: string
  readonly dispatcher: Dispatcher
}

/** Plain text, so that nothing in it is markup, and no page that it names is fetched for a preview. */
export function sendTelegram(
  { botToken, apiUrl, dispatcher }: Telegram,
  chat: string,
  text: string,
  stop: AbortSignal,
): Promise<void> {
  const body = JSON.stringify({ chat_id: chat, text, link_preview_options: { is_disabled: true } })
  return post(`${apiUrl}/bot${botToken}/sendMessage`, { dispatcher, body, stop, restSeconds })
}

/** `parameters.retry_after` of a refusal. */
function restSeconds(body: string): number | null {
  const found = /"retry_after"\s*:\s*(\d{1,9})\b/.exec(body)?.[1]
  return found === undefined ? null : Number(found)
}
