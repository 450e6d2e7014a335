import { ERRORS } from '../base/error-table.ts'
import { ownValue } from '../base/own-value.ts'
import { type Label, oneLine } from '../base/text.ts'
import type { Notice } from '../store/notices/notice-rows.ts'
import { PRICE_SCALES, PRICED_METERS } from '../tables/meter-table.ts'
import { NOTICES, type NoticeKind } from '../tables/notice-table.ts'

const WORD_CHARACTERS_MAX = 120

/** Names of what a notice names by id; null = there is none, or it is gone. */
export interface NoticeNames {
  readonly account: string | null
  readonly key: string | null
}

/** A message for people. Both of its texts are plain: no part of them is markup. */
export interface NoticeText {
  readonly subject: string
  readonly text: string
}

/** The values of a notice as people read them, in one language. */
interface NoticeWords {
  /** The value of a name or another text that somebody else chose. */
  readonly word: (name: string) => string
  readonly money: (name: string) => string
  readonly number: (name: string) => string
  readonly keyName: string
  readonly format: TextFormat
  readonly detail: Notice['detail']
}

const PERIODS: ReadonlyMap<unknown, Label> = new Map([
  ['daily', { en: 'daily limit', ru: 'дневной лимит' }],
  ['weekly', { en: 'weekly limit', ru: 'недельный лимит' }],
  ['monthly', { en: 'monthly limit', ru: 'месячный лимит' }],
])
const LIMIT: Label = { en: 'limit', ru: 'лимит' }
const JOB_ENDS: ReadonlyMap<unknown, Label> = new Map([
  ['completed', { en: 'is completed', ru: 'выполнено' }],
  ['failed', { en: 'has failed', ru: 'завершилось ошибкой' }],
  ['expired', { en: 'has expired', ru: 'истекло' }],
  ['cancelled', { en: 'was cancelled', ru: 'отменено' }],
])

function periodOf({ detail }: NoticeWords): Label {
  return PERIODS.get(detail['limit_reset']) ?? LIMIT
}

/** The owner of the limit; a notice about a key names the key. */
function limitOwner({ keyName, detail }: NoticeWords): Label {
  return detail['key'] === undefined
    ? { en: 'The account', ru: 'Аккаунт' }
    : { en: `The key ${keyName}`, ru: `Ключ ${keyName}` }
}

/** The sentences of each kind: what happened, and what follows from it. */
const SENTENCES: Readonly<Record<NoticeKind, (words: NoticeWords) => Label>> = {
  'balance.low': ({ money }) => ({
    en: `The balance is ${money('balance')}, below ${money('threshold')}. Requests that it does not cover are refused.`,
    ru: `Баланс ${money('balance')}, это меньше ${money('threshold')}. Запросы, на которые денег не хватит, будут отклонены.`,
  }),
  'limit.near': (words) => ({
    en: `${limitOwner(words).en} has spent ${words.money('spent')} of its ${periodOf(words).en} of ${words.money('limit')}.`,
    ru: `${limitOwner(words).ru} израсходовал ${words.money('spent')}, ${periodOf(words).ru} — ${words.money('limit')}.`,
  }),
  'limit.reached': (words) => ({
    en: `${limitOwner(words).en} has used up its ${periodOf(words).en} of ${words.money('limit')}. Its requests are refused.`,
    ru: `${limitOwner(words).ru} исчерпал ${periodOf(words).ru} ${words.money('limit')}. Его запросы отклоняются.`,
  }),
  'requests.refused': ({ keyName, number, detail }) => ({
    en: `Requests of ${detail['key'] === undefined ? 'several keys' : `the key ${keyName}`} are refused: ${causeOf(detail).en}. So far: ${number('requests')}. You hear of it again after an hour without refusals.`,
    ru: `Запросы ${detail['key'] === undefined ? 'нескольких ключей' : `ключа ${keyName}`} отклоняются: ${causeOf(detail).ru}. Пока отклонено: ${number('requests')}. Снова сообщим, если час отказов не будет.`,
  }),
  'prices.coming': (words) => ({
    en: `Models that you use cost something else from ${words.format.time(Number(words.detail['from']))} on:\n\n${comingLines(words, 'en')}`,
    ru: `Цены моделей, которыми вы пользуетесь, изменятся ${words.format.time(Number(words.detail['from']))}:\n\n${comingLines(words, 'ru')}`,
  }),
  'job.ended': ({ word, detail }) => ({
    en: `The video job ${word('job')} (${word('model')}) ${JOB_ENDS.get(detail['status'])?.en ?? word('status')}.`,
    ru: `Задание на видео ${word('job')} (${word('model')}) ${JOB_ENDS.get(detail['status'])?.ru ?? word('status')}.`,
  }),
  'provider.failing': ({ word }) => ({
    en: `The provider ${word('provider')} fails for ${word('model')}. Requests go to others where there are any; one at a time tests whether it is back.`,
    ru: `Провайдер ${word('provider')} отвечает ошибками на запросы к ${word('model')}. Запросы идут к другим, если они есть; время от времени один проверяет, восстановился ли провайдер.`,
  }),
  'provider.key_refused': ({ word, number, detail }) => ({
    en: `The provider ${word('provider')} refuses key ${number('key')} of ${number('keys')}${typeof detail['status'] === 'number' ? ` with status ${word('status')}` : ''}. Check that it is valid and paid for.`,
    ru: `Провайдер ${word('provider')} отвергает ключ ${number('key')} из ${number('keys')}${typeof detail['status'] === 'number' ? `, статус ${word('status')}` : ''}. Проверьте, что ключ действует и оплачен.`,
  }),
  'provider.balance_low': ({ word, number }) => ({
    en: `${number('balance')} ${word('currency')} are left with the provider ${word('provider')} (key ${number('key')} of ${number('keys')}); you get a notice below ${number('threshold')}. Without money it refuses requests.`,
    ru: `У провайдера ${word('provider')} осталось ${number('balance')} ${word('currency')} (ключ ${number('key')} из ${number('keys')}); порог уведомления — ${number('threshold')}. Без денег он будет отклонять запросы.`,
  }),
  'rates.held': ({ word, detail }) =>
    detail['action'] === 'rates.refused'
      ? {
          en: `The new exchange rates differ too much from those in force and wait for you: ${ratesOf(detail)}. Prices stay at the old rates.`,
          ru: `Новые курсы валют слишком отличаются от действующих и ждут вашего решения: ${ratesOf(detail)}. Цены считаются по прежним курсам.`,
        }
      : {
          en: `The exchange rates could not be fetched: ${word('reason')}. Prices stay at the last known rates.`,
          ru: `Курсы валют не удалось получить: ${word('reason')}. Цены считаются по последним известным курсам.`,
        },
  'prices.held': ({ word, number, detail }) =>
    detail['action'] === 'prices.failed'
      ? {
          en: `The list of prices of the provider ${word('provider')} could not be used: ${word('reason')}. Prices stay as they are.`,
          ru: `Список цен провайдера ${word('provider')} не удалось использовать: ${word('reason')}. Цены остаются прежними.`,
        }
      : {
          en: `${number('changes')} prices of the provider ${word('provider')} wait for you, such as that of ${word('model')}; ${number('accounts')} accounts used these models in the last 30 days. Run 'tollgate price held'.`,
          ru: `Ждут вашего решения цены провайдера ${word('provider')}: ${number('changes')}, в том числе ${word('model')}; за 30 дней эти модели использовали аккаунты: ${number('accounts')}. Запустите «tollgate price held».`,
        },
  'usage.flagged': ({ word, number }) => ({
    en: `${number('flagged')} of ${number('requests')} answers of the provider ${word('provider')} in this hour have doubtful usage, the last one is ${word('generation')}.`,
    ru: `За этот час у провайдера ${word('provider')} расход сомнителен в ${number('flagged')} из ${number('requests')} ответов, последний: ${word('generation')}.`,
  }),
  shortfall: ({ word, money }) => ({
    en: `The request ${word('generation')} (${word('model')}) cost ${money('shortfall')} more than its hold and the balance covered. You bear the difference.`,
    ru: `Запрос ${word('generation')} (${word('model')}) обошёлся на ${money('shortfall')} дороже, чем покрыли резерв и баланс. Разница за ваш счёт.`,
  }),
  'audit.violation': ({ word }) => ({
    en: `The audit has found the books wrong: ${word('checks')}. Run 'tollgate audit'.`,
    ru: `Сверка нашла ошибки в учёте: ${word('checks')}. Запустите «tollgate audit».`,
  }),
  test: () => ({
    en: 'This is a test message. Notices will arrive here.',
    ru: 'Это проверочное сообщение. Уведомления будут приходить сюда.',
  }),
}

/** The name of the error that the clients get. */
function causeOf({ error_type: type }: Notice['detail']): Label {
  const row: object | undefined = typeof type === 'string' ? ownValue(ERRORS, type) : undefined
  // The table's labels have both languages.
  return row !== undefined && 'label' in row ? (row.label as Label) : { en: shown(type), ru: shown(type) }
}

const UNDER_CONDITIONS: Label = { en: 'prices under conditions', ru: 'цены при особых условиях' }
const MORE: Label = { en: 'More models', ru: 'Ещё моделей' }

/** A line for each model: its prices before and after. */
function comingLines({ detail, format }: NoticeWords, language: Language): string {
  // `catalog/price-notices.ts` writes them in this form.
  const { models, more } = detail as {
    readonly models: readonly {
      readonly model: string
      readonly prices: readonly { readonly price: string; readonly before: string; readonly after: string }[]
    }[]
    readonly more: number
  }
  const nameOf = (key: string): string => {
    const row = PRICED_METERS.find(({ priceKey }) => priceKey === key)
    const unit = row === undefined ? undefined : PRICE_SCALES[row.scale].label?.[language]
    return [row?.priceLabel[language] ?? key, unit].filter((part) => part !== undefined).join(' ')
  }
  const lines = models.map(({ model, prices }) => {
    const all = prices.map(
      ({ price, before, after }) => `${nameOf(price)} ${format.money(Number(before))} → ${format.money(Number(after))}`,
    )
    return `${shown(model)}: ${all.length === 0 ? UNDER_CONDITIONS[language] : all.join('; ')}`
  })
  return [...lines, ...(more > 0 ? [`${MORE[language]}: ${format.number(more)}`] : [])].join('\n')
}

function ratesOf(detail: Notice['detail']): string {
  const { rates } = detail
  if (!Array.isArray(rates)) return ''
  // The feed of the exchange rates writes them in this form.
  return (rates as readonly Readonly<Record<string, unknown>>[])
    .map(({ currency, rate, held }) => shown(`${String(currency)} ${String(rate)} (${String(held)})`))
    .join(', ')
}

function shown(value: unknown): string {
  return oneLine(typeof value === 'string' ? value : JSON.stringify(value ?? null), WORD_CHARACTERS_MAX)
}

/** A notice of a kind that only a newer program knows is shown by the kind's name. */
function isKnown(kind: string): kind is NoticeKind {
  return Object.hasOwn(NOTICES, kind)
}

/** The message of a notice. `publicUrl`: the address of the console; null = it is unknown, and not shown. */
export function noticeText(
  notice: Notice,
  names: NoticeNames,
  {
    language,
    timezone,
    publicUrl,
  }: { readonly language: Language; readonly timezone: string; readonly publicUrl: string | null },
): NoticeText {
  const format = textFormat(language, timezone)
  const title = isKnown(notice.kind) ? NOTICES[notice.kind].label[language] : shown(notice.kind)
  const sentence = isKnown(notice.kind)
    ? SENTENCES[notice.kind](wordsOf(notice, names, format))[language]
    : shown(notice.detail)
  const account = notice.accountId === null ? null : accountOf(notice.accountId, names.account)
  const lines: readonly (string | null)[] = [
    sentence,
    '',
    account === null ? null : `${LINES.account[language]}: ${account}`,
    `${LINES.time[language]}: ${format.time(notice.atMs)}`,
    `${LINES.event[language]}: ${notice.id}`,
    publicUrl === null ? null : publicUrl,
  ]
  return {
    subject: account === null ? title : `${title}: ${account}`,
    text: `${title}\n\n${lines.filter((line) => line !== null).join('\n')}\n`,
  }
}

const LINES = {
  account: { en: 'Account', ru: 'Аккаунт' },
  time: { en: 'Time', ru: 'Время' },
  event: { en: 'Event', ru: 'Событие' },
} as const satisfies Readonly<Record<string, Label>>

function accountOf(id: string, name: string | null): string {
  return name === null ? id : `${oneLine(name, WORD_CHARACTERS_MAX / 2)} (${id})`
}

function wordsOf({ detail }: Notice, { key }: NoticeNames, format: TextFormat): NoticeWords {
  const word = (name: string): string => shown(detail[name])
  return {
    word,
    money: (name) => format.money(Number(detail[name])),
    number: (name) => format.number(Number(detail[name])),
    keyName: key === null ? word('key') : `${format.quoted(oneLine(key, WORD_CHARACTERS_MAX))} (${word('key')})`,
    format,
    detail,
  }
}

export type Language = 'en' | 'ru'

const MICRO_DIGITS = 6

/** Formats of figures and times in a language, as the console shows them. */
export interface TextFormat {
  /** Formats an amount in rubles. */
  readonly money: (rubles: number) => string
  readonly number: (value: number) => string
  readonly time: (atMs: number) => string
  readonly quoted: (text: string) => string
}

export function textFormat(language: Language, timezone: string): TextFormat {
  const locale = language === 'ru' ? 'ru-RU' : 'en-GB'
  const rubles = new Intl.NumberFormat(locale, {
    style: 'currency',
    currency: 'RUB',
    currencyDisplay: 'narrowSymbol',
    minimumFractionDigits: 2,
    maximumFractionDigits: MICRO_DIGITS,
  })
  const numbers = new Intl.NumberFormat(locale)
  const times = new Intl.DateTimeFormat(locale, {
    timeZone: timezone,
    dateStyle: 'medium',
    timeStyle: 'long',
  })
  return {
    money: (value) => rubles.format(value),
    number: (value) => numbers.format(value),
    time: (atMs) => times.format(new Date(atMs)),
    quoted: (text) => (language === 'ru' ? `«${text}»` : `“${text}”`),
  }
}
