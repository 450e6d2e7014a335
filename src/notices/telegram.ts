import { fieldError } from '../base/refusals.ts'
import { post } from './post.ts'
import type { Way } from './way.ts'

/** Messages are plain text: nothing in them is markup, and Telegram fetches no page for a preview. */
export const TELEGRAM: Way = {
  open: ({ telegram, own: dispatcher }) =>
    telegram === null
      ? null
      : async ({ to, text: words }, stop) => {
          const { text } = await words()
          const body = JSON.stringify({ chat_id: to, text, link_preview_options: { is_disabled: true } })
          await post(`${telegram.apiUrl}/bot${telegram.botToken}/sendMessage`, { dispatcher, body, stop, restSeconds })
        },
  target: (given) => {
    if (/^-?[1-9]\d{0,19}$/.test(given)) return given
    throw fieldError('target', 'chat_id')
  },
}

/** Reads `parameters.retry_after` of a refusal. */
function restSeconds(body: string): number | null {
  const found = /"retry_after"\s*:\s*(\d{1,9})\b/.exec(body)?.[1]
  return found === undefined ? null : Number(found)
}
