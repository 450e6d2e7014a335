import type { UseMutationResult } from '@tanstack/react-query'
import type { NoticeChannel, NoticeChannelBody } from '../../../../src/notices/channel-contract.ts'
import { NOTICES, type NoticeKind } from '../../../../src/tables/notice-table.ts'
import { ownValue } from '../../../../src/base/own-value.ts'
import type { ActEndpoint, ReadEndpoint } from '../../api/endpoint.ts'
import { useAct } from '../../api/hooks.ts'
import { currentLanguage } from '../../i18n.ts'
import { useWords } from '../../parts/words.ts'

export type ReceiverType = NoticeChannel['type']
export type ReceiverKind = NoticeChannel['kinds'][number]

/** A receiver of notices, of the operator's or of an account's. */
export type Receiver = NoticeChannel & {
  /** false = its owner has yet to give a code back. The operator's need none. */
  readonly confirmed?: boolean
}

export type MadeReceiver = Receiver & { readonly secret: string | null }
export type ReceiverTerms = Required<Pick<NoticeChannelBody, 'kinds' | 'language'>>

/** A kind of notice in the reader's language; one of another release stays a code. */
export function noticeText(kind: string): string {
  const rows: Readonly<Record<string, (typeof NOTICES)[NoticeKind]>> = NOTICES
  return ownValue(rows, kind)?.label[currentLanguage()] ?? kind
}

/** A route as dialogs and buttons use it, whoever the receivers are of. */
export interface Wish<Given, Made = unknown> {
  readonly isPending: boolean
  readonly error: Error | null
  readonly run: (given: Given, done?: (made: Made) => void) => void
  /** Of the error of the last time. */
  readonly forget: () => void
}

export interface ReceiverWishes {
  readonly add: Wish<NoticeChannelBody, MadeReceiver>
  readonly change: Wish<{
    readonly id: string
    readonly patch: Partial<ReceiverTerms> & { readonly enabled?: boolean }
  }>
  readonly remove: Wish<string>
  readonly test: Wish<string>
  /** Where a mailbox or a chat is confirmed by a code. */
  readonly code?: {
    readonly confirm: Wish<{ readonly id: string; readonly code: string }>
    readonly renew: Wish<string>
  }
}

export function wishOf<Given, Made, Input>(
  { isPending, error, mutate, reset }: UseMutationResult<Made, Error, Input>,
  input: (given: Given) => Input,
): Wish<Given, Made> {
  return {
    isPending,
    error,
    forget: reset,
    run: (given, done) => mutate(input(given), done === undefined ? {} : { onSuccess: done }),
  }
}

/** Where the receivers of the operator, of an account or of one's own account are changed: alike but for the paths. */
type Channels =
  | '/admin/v1/notices/channels'
  | '/admin/v1/accounts/:id/notices/channels'
  | '/cabinet/v1/notices/channels'
type Made = UseMutationResult<MadeReceiver, Error, object>

/** What may be done to receivers. */
export function useReceiverWishes(
  channels: Channels,
  renews: readonly ReadEndpoint[],
  account?: string,
): Omit<ReceiverWishes, 'code'> {
  const { t } = useWords()
  const ofAccount = account === undefined ? {} : { id: account }
  const name = account === undefined ? 'id' : 'channel'
  // The routes under these paths take the same bodies.
  const route = (method: string, rest = ''): ActEndpoint =>
    `${method} ${channels}${rest === '' ? '' : `/:${name}${rest === '/' ? '' : rest}`}` as ActEndpoint
  const params = (id: string) => ({ params: { ...ofAccount, [name]: id } })
  const add = useAct(route('POST'), { quiet: true, renews }) as unknown as Made
  const change = useAct(route('PATCH', '/'), { renews, said: t('common.saved') }) as unknown as Made
  const remove = useAct(route('DELETE', '/'), { renews, said: t('notices.deleted') }) as unknown as Made
  const test = useAct(route('POST', '/test'), { renews, said: t('notices.tested') }) as unknown as Made
  return {
    add: wishOf(add, (body) => ({ params: ofAccount, body })),
    change: wishOf(change, ({ id, patch }) => ({ ...params(id), body: patch })),
    remove: wishOf(remove, params),
    test: wishOf(test, (id) => ({ ...params(id), body: {} })),
  }
}
