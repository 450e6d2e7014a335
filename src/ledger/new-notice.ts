import type { Micro } from '../base/money.ts'
import type { NoticeKind } from '../tables/notice-table.ts'

/** Something that people are to be told, as its cause writes it. */
export interface NewNotice {
  readonly id: string
  readonly kind: NoticeKind
  /** The account that it is about; null = none. */
  readonly accountId: string | null
  /** Written once while another notice has the same one; null = always. */
  readonly subject: string | null
  /** The balance at which the subject may be told again; null = never. */
  readonly clearAtMicro: Micro | null
  readonly atMs: number
  /** For people and programs: `data` of a webhook. */
  readonly detail: Readonly<Record<string, unknown>>
}
