import type { UseMutationResult } from '@tanstack/react-query'
import type { NoticeChannel, NoticeChannelBody } from '../../../../src/notices/channel-contract.ts'

export type ReceiverType = NoticeChannel['type']
export type ReceiverKind = NoticeChannel['kinds'][number]

/** A receiver of notices, of the operator's or of an account's. */
export type Receiver = NoticeChannel & {
  /** false = its owner has yet to give a code back. The operator's need none. */
  readonly confirmed?: boolean
}

export type MadeReceiver = Receiver & { readonly secret: string | null }
export type ReceiverTerms = Required<Pick<NoticeChannelBody, 'kinds' | 'language'>>

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
