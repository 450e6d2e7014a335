import type { Letters } from './letters.ts'
import type { Language } from './text-format.ts'

/** Mails links with which people choose a password. Their address is the configured one: a request's Host may lie. */
export class MailedLinks {
  readonly #letters: Pick<Letters, 'post'>
  readonly #publicUrl: string

  constructor(letters: Pick<Letters, 'post'>, publicUrl: string) {
    this.#letters = letters
    this.#publicUrl = publicUrl
  }

  /** Answers at once. `language`: null = of a person who has not said; the letter has both. */
  send({
    email,
    language,
    kind,
    token,
  }: {
    readonly email: string
    readonly language: Language | null
    readonly kind: 'password' | 'invitation'
    readonly token: string
  }): void {
    const link = `${this.#publicUrl}/setup?token=${token}`
    this.#letters.post({ by: 'email', to: email, language, about: { kind, link } })
  }
}
