import type { Label } from '../base/text.ts'

interface NoticeRow {
  /**
   * Who may choose this kind for a channel: `account` = the account that it concerns and the operator; `operator` = the
   * operator alone.
   */
  readonly audience: 'account' | 'operator'
  readonly label: Label
}

/**
 * A row for each kind of notice that people get by e-mail, Telegram or a webhook. The contracts, the texts and the
 * console derive from it.
 */
export const NOTICES = {
  'balance.low': { audience: 'account', label: { en: 'The balance is low', ru: 'Баланс на исходе' } },
  'limit.near': {
    audience: 'account',
    label: { en: '80 % of a limit are used', ru: 'Израсходовано 80 % лимита' },
  },
  'limit.reached': { audience: 'account', label: { en: 'A limit is used up', ru: 'Лимит исчерпан' } },
  'requests.refused': { audience: 'account', label: { en: 'Requests are refused', ru: 'Запросы отклоняются' } },
  'prices.coming': { audience: 'account', label: { en: 'Prices will change', ru: 'Цены изменятся' } },
  'job.ended': { audience: 'account', label: { en: 'A video job has ended', ru: 'Задание на видео завершено' } },
  'provider.failing': {
    audience: 'operator',
    label: { en: 'A provider is failing', ru: 'Провайдер отвечает ошибками' },
  },
  'provider.key_refused': {
    audience: 'operator',
    label: { en: 'A provider refuses its key', ru: 'Провайдер отвергает ключ' },
  },
  'provider.balance_low': {
    audience: 'operator',
    label: { en: 'The money with a provider is low', ru: 'Деньги у провайдера на исходе' },
  },
  'rates.held': {
    audience: 'operator',
    label: { en: 'Exchange rates were not applied', ru: 'Курсы валют не применены' },
  },
  'prices.held': {
    audience: 'operator',
    label: { en: "A provider's prices were not applied", ru: 'Цены провайдера не применены' },
  },
  'usage.flagged': {
    audience: 'operator',
    label: { en: "A provider's usage is doubtful", ru: 'Расход провайдера сомнителен' },
  },
  shortfall: { audience: 'operator', label: { en: 'A charge fell short', ru: 'Списание не покрыто' } },
  'audit.violation': {
    audience: 'operator',
    label: { en: 'The audit has found a violation', ru: 'Сверка нашла нарушение' },
  },
  test: { audience: 'account', label: { en: 'A test', ru: 'Проверка' } },
} as const satisfies Readonly<Record<string, NoticeRow>>

export type NoticeKind = keyof typeof NOTICES

// These are exactly the names of the table.
export const NOTICE_KINDS = Object.keys(NOTICES) as readonly NoticeKind[]

/** The kinds that a channel can choose. A test is sent on request only. */
export const CHOSEN_KINDS = NOTICE_KINDS.filter((kind) => kind !== 'test')
/** The kinds that a channel of an account can choose. */
export const ACCOUNT_KINDS = CHOSEN_KINDS.filter((kind) => NOTICES[kind].audience === 'account')
