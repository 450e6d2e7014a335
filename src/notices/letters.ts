import type { Clock } from '../base/clock.ts'
import { isTagged, mailboxOf } from '../base/mail-address.ts'
import { type Label, thrownMessage } from '../base/text.ts'
import type { Language } from './notice-text.ts'
import type { Send } from './way.ts'

/** The most letters that wait, in all and of one sender; further ones are dropped, and their recipients ask again. */
const WAITING_MAX = 1_000
const SENDER_WAITING_MAX = 20
const PAUSES_MS = [10_000, 60_000] as const

/** The bound that counts a sender's letters, and the sender; null = the recipient asked for the link. */
type LetterSender = readonly ['letters' | 'admin_letters', string] | null

export interface Recipient {
  readonly by: 'email' | 'telegram'
  readonly to: string
  /** null = the letter is in both languages. */
  readonly language: Language | null
  readonly from: LetterSender
}

export type LetterKind = 'code' | 'password' | 'sign_up' | 'invitation' | 'join'

/**
 * A message that a person has just asked for, and can ask for again. It is not put into the outbox, which would store
 * its secret.
 */
interface Letter extends Recipient {
  readonly kind: LetterKind
  /** A code or a link. */
  readonly secret: string
}

export interface LetterPorts {
  /** The ways of sending that are set up. */
  readonly ways: ReadonlyMap<string, Send>
  readonly clock: Clock
  /** Writes one sentence for the operator as a log line. */
  readonly log: (message: string) => void
  readonly newId: () => string
  /** Takes a turn of a bound; false = none is left. */
  readonly has: (
    bound: 'letters' | 'admin_letters' | 'mailbox' | 'reset_letters' | 'tagged_resets',
    of: string,
  ) => Promise<boolean>
}

const SUBJECTS: Readonly<Record<LetterKind, Label>> = {
  code: { en: 'Your code', ru: 'Ваш код' },
  password: { en: 'A new password', ru: 'Новый пароль' },
  sign_up: { en: 'Confirm your e-mail', ru: 'Подтвердите почту' },
  invitation: { en: 'An invitation', ru: 'Приглашение' },
  join: { en: 'An invitation', ru: 'Приглашение' },
}

function textOf({ kind, secret }: Letter): Label {
  switch (kind) {
    case 'code':
      return {
        en: `The code ${secret} confirms that notices of an account may be sent here. It is good for 30 minutes.\n\nIf you have not asked for it, do nothing: nothing else will be sent.`,
        ru: `Код ${secret} подтверждает, что сюда можно отправлять уведомления аккаунта. Он действует 30 минут.\n\nЕсли вы его не запрашивали, ничего не делайте: других сообщений не будет.`,
      }
    case 'password':
      return {
        en: `With this link you choose a new password. It works once, for an hour:\n\n${secret}\n\nIf you have not asked for it, do nothing: your password stays.`,
        ru: `По этой ссылке можно задать новый пароль. Она работает один раз, в течение часа:\n\n${secret}\n\nЕсли вы её не запрашивали, ничего не делайте: пароль останется прежним.`,
      }
    case 'sign_up':
      return {
        en: `With this link you confirm your e-mail and choose a password. It is good for a day:\n\n${secret}\n\nIf you have not asked for it, do nothing: no account is opened.`,
        ru: `По этой ссылке вы подтвердите почту и зададите пароль. Она действует сутки:\n\n${secret}\n\nЕсли вы её не запрашивали, ничего не делайте: аккаунт не будет открыт.`,
      }
    case 'invitation':
      return {
        en: `You were invited to the console. Choose a password with this link; it works once, for an hour:\n\n${secret}`,
        ru: `Вас пригласили в консоль. Задайте пароль по этой ссылке; она работает один раз, в течение часа:\n\n${secret}`,
      }
    case 'join':
      return {
        en: `You were invited to work in an account of the console. Join it with this link; it works once, for a week:\n\n${secret}\n\nIf you do not know of it, do nothing.`,
        ru: `Вас пригласили работать в аккаунте консоли. Присоединитесь по этой ссылке; она работает один раз, в течение недели:\n\n${secret}\n\nЕсли вы об этом не знаете, ничего не делайте.`,
      }
  }
}

function inLanguage(text: Label, language: Language | null, between: string): string {
  return language === null ? `${text.en}${between}${text.ru}` : text[language]
}

/**
 * Sends letters one after another, each up to three times; letters that still wait when the process ends are lost.
 * Links for passwords go first, then a letter of each sender in turn.
 */
export class Letters {
  readonly #ports: LetterPorts
  readonly #stop = new AbortController()
  /** Waiting letters by sender. */
  readonly #queues = new Map<string, Letter[]>()
  #waiting = 0
  #sending: Promise<void> | null = null

  constructor(ports: LetterPorts) {
    this.#ports = ports
  }

  /**
   * Makes the secret and sends it, unless the sender or the mailbox has had too many letters (guarantees.md 5), or too
   * many wait. false = it is not sent. Links for passwords have bounds of their own: a person who uses up the other
   * bounds of a mailbox must not keep its user from getting a link.
   */
  async post(recipient: Recipient, kind: LetterKind, secret: () => Promise<string> | string): Promise<boolean> {
    const { to, from } = recipient
    const { has } = this.#ports
    const sender = from?.join(' ') ?? ''
    if (this.#isFull(sender)) return false
    if (from !== null && !(await has(...from))) return false
    if (kind !== 'password' && !(await has('mailbox', mailboxOf(to)))) return false
    if (kind === 'password' && !(await has('reset_letters', to))) return false
    if (kind === 'password' && isTagged(to) && !(await has('tagged_resets', mailboxOf(to)))) return false
    const letter = { ...recipient, kind, secret: await secret() }
    // Other letters may have come while the bounds were checked.
    if (this.#isFull(sender)) return false
    this.#queues.set(sender, [...(this.#queues.get(sender) ?? []), letter])
    this.#waiting += 1
    this.#sending ??= this.#sendAll()
    return true
  }

  #isFull(sender: string): boolean {
    if (this.#stop.signal.aborted) return true
    const own = this.#queues.get(sender)?.length ?? 0
    if (own < (sender === '' ? WAITING_MAX : SENDER_WAITING_MAX) && (sender === '' || this.#waiting < WAITING_MAX))
      return false
    this.#ports.log(`A letter was dropped: ${this.#waiting} wait already, ${own} of its sender`)
    return true
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#sending
  }

  async #sendAll(): Promise<void> {
    for (let letter = this.#next(); letter !== null; letter = this.#next())
      await this.#send(letter, this.#ports.newId(), 0)
    this.#sending = null
  }

  #next(): Letter | null {
    const [sender, queue] = this.#queues.has('') ? ['', this.#queues.get('')] : ([...this.#queues.entries()][0] ?? [''])
    const [letter = null, ...others] = queue ?? []
    this.#queues.delete(sender)
    if (letter === null) return null
    if (others.length > 0) this.#queues.set(sender, others)
    this.#waiting -= 1
    return letter
  }

  async #send(letter: Letter, id: string, failures: number): Promise<void> {
    const { signal } = this.#stop
    if (signal.aborted) return
    const { ways, clock, log } = this.#ports
    const { by, to, language, kind } = letter
    const text = `${inLanguage(textOf(letter), language, '\n\n')}\n`
    const subject = inLanguage(SUBJECTS[kind], language, ' / ')
    try {
      await ways.get(by)?.({ to, id, text: () => ({ subject, text }), delivery: null }, signal)
    } catch (thrown) {
      if (signal.aborted) return
      const pauseMs = PAUSES_MS[failures]
      if (pauseMs === undefined) log(`A letter could not be sent: ${thrownMessage(thrown)}`)
      // The other letters do not wait for the next try.
      else clock.after(pauseMs, () => void this.#send(letter, id, failures + 1))
    }
  }
}

export interface MailedLink {
  readonly email: string
  /** null = the person has chosen no language, so the letter has both. */
  readonly language: Language | null
  /** `join`: an invitation to an account. */
  readonly kind: 'password' | 'sign_up' | 'invitation' | 'join'
  readonly from: LetterSender
}

/**
 * Mails links with which people choose a password or join an account. The links begin with the configured address,
 * since the Host of a request may be forged.
 */
export class MailedLinks {
  readonly #letters: Pick<Letters, 'post'>
  readonly #publicUrl: string

  constructor(letters: Pick<Letters, 'post'>, publicUrl: string) {
    this.#letters = letters
    this.#publicUrl = publicUrl
  }

  /** The token is made only for a letter that is sent; false = it is not. */
  send({ email, language, kind, from }: MailedLink, token: () => Promise<string> | string): Promise<boolean> {
    const page = kind === 'join' ? 'join' : 'setup'
    return this.#letters.post(
      { by: 'email', to: email, language, from },
      kind,
      async () => `${this.#publicUrl}/${page}?token=${await token()}`,
    )
  }
}
