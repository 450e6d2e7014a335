import { NOTICES, type NoticeKind } from '../../../../src/tables/notice-table.ts'
import { ownValue } from '../../../../src/base/own-value.ts'
import { currentLanguage } from '../../i18n.ts'

/** A kind of notice in the reader's language; one of another release stays a code. */
export function noticeText(kind: string): string {
  const rows: Readonly<Record<string, (typeof NOTICES)[NoticeKind]>> = NOTICES
  return ownValue(rows, kind)?.label[currentLanguage()] ?? kind
}
