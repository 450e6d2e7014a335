import type { Clock } from '../lib/clock.ts'
import type { Label } from '../lib/label.ts'
import type { Mailer } from './mailer.ts'
import type { Language } from './text-format.ts'
import { sendTelegram, type Telegram } from './telegram.ts'
import { thrownMessage } from '../lib/thrown-message.ts'

/** Letters that wait; more are dropped, and their readers ask again. */
const WAITING_MAX = 1_000
const PAUSES_MS = [10_000, 60_000] as const

/** What somebody has just asked for, and can ask for again: it is not in the outbox, which would keep its secret. */
export interface Letter {
  readonly by: 'email' | 'telegram'
  readonly to: string
  /** null = in both. */
  readonly language: Language | null
  readonly about:
    | { readonly kind: 'code'; readonly code: string }
    | { readonly kind: 'password' | 'invitation' | 'join'; readonly link: string }
}

interface LetterPorts {
  readonly mailer: Mailer | null
  readonly telegram: Telegram | null
  readonly clock: Clock
  /** A sentence for the operator. */
  readonly log: (message: string) => void
  readonly newId: () => string
}

const SUBJECTS: Readonly<Record<Letter['about']['kind'], Label>> = {
  code: { en: 'Your code', ru: 'Ваш код' },
  password: { en: 'A new password', ru: 'Новый пароль' },
  invitation: { en: 'An invitation', ru: 'Приглашение' },
  join: { en: 'An invitation', ru: 'Приглашение' },
}

function textOf({ about }: Letter): Label {
  switch (about.kind) {
    case 'code':
      return {
        en: `The code ${about.code} confirms that notices of an account may be sent here. It is good for 30 minutes.\n\nIf you have not asked for it, do nothing: nothing else will be sent.`,
        ru: `Код ${about.code} подтверждает, что сюда можно отправлять уведомления аккаунта. Он действует 30 минут.\n\nЕсли вы его не запрашивали, ничего не делайте: других сообщений не будет.`,
      }
    case 'password':
      return {
        en: `With this link you choose a new password. It works once, for an hour:\n\n${about.link}\n\nIf you have not asked for it, do nothing: your password stays.`,
        ru: `По этой ссылке можно задать новый пароль. Она работает один раз, в течение часа:\n\n${about.link}\n\nЕсли вы её не запрашивали, ничего не делайте: пароль останется прежним.`,
      }
    case 'invitation':
      return {
        en: `You were invited to the console. Choose a password with this link; it works once, for an hour:\n\n${about.link}`,
        ru: `Вас пригласили в консоль. Задайте пароль по этой ссылке; она работает один раз, в течение часа:\n\n${about.link}`,
      }
    case 'join':
      return {
        en: `You were invited to work in an account of the console. Join it with this link; it works once, for a week:\n\n${about.link}\n\nIf you do not know of it, do nothing.`,
        ru: `Вас пригласили работать в аккаунте консоли. Присоединитесь по этой ссылке; она работает один раз, в течение недели:\n\n${about.link}\n\nЕсли вы об этом не знаете, ничего не делайте.`,
      }
  }
}

function inLanguage(text: Label, language: Language | null, between: string): string {
  return language === null ? `${text.en}${between}${text.ru}` : text[language]
}

/** Sends letters one after another, each up to three times; what waits when the process ends is lost. */
export class Letters {
  readonly #ports: LetterPorts
  readonly #stop = new AbortController()
  #waiting = 0
  #last: Promise<void> = Promise.resolve()

  constructor(ports: LetterPorts) {
    this.#ports = ports
  }

  /** Answers at once. */
  post(letter: Letter): void {
    if (this.#stop.signal.aborted) return
    if (this.#waiting >= WAITING_MAX) {
      this.#ports.log(`A letter was dropped: ${WAITING_MAX} wait already`)
      return
    }
    this.#waiting += 1
    const id = this.#ports.newId()
    this.#last = this.#last
      .then(() => this.#send(letter, id, 0))
      .finally(() => {
        this.#waiting -= 1
      })
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#last
  }

  async #send(letter: Letter, id: string, failures: number): Promise<void> {
    const { signal } = this.#stop
    if (signal.aborted) return
    const { mailer, telegram, clock, log } = this.#ports
    const { by, to, language, about } = letter
    const text = `${inLanguage(textOf(letter), language, '\n\n')}\n`
    const subject = inLanguage(SUBJECTS[about.kind], language, ' / ')
    try {
      if (by === 'email') await mailer?.send({ to, subject, text, id }, signal)
      else if (telegram !== null) await sendTelegram(telegram, to, text, signal)
    } catch (thrown) {
      if (signal.aborted) return
      const pauseMs = PAUSES_MS[failures]
      if (pauseMs === undefined) log(`A letter could not be sent: ${thrownMessage(thrown)}`)
      // Others do not wait for it.
      else clock.after(pauseMs, () => void this.#send(letter, id, failures + 1))
    }
  }
}
