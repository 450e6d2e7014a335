import type { Letters } from './letters.ts'
import type { Language } from './text-format.ts'

export interface MailedLink {
  readonly email: string
  /** null = of a person who has not said; the letter has both. */
  readonly language: Language | null
  /** `join`: an invitation to an account. */
  readonly kind: 'password' | 'invitation' | 'join'
  readonly token: string
}

/**
 * Mails links with which people choose a password or join an account. Their address is the configured one: a request's
 * Host may lie.
 */
export class MailedLinks {
  readonly #letters: Pick<Letters, 'post'>
  readonly #publicUrl: string

  constructor(letters: Pick<Letters, 'post'>, publicUrl: string) {
    this.#letters = letters
    this.#publicUrl = publicUrl
  }

  /** Answers at once. */
  send({ email, language, kind, token }: MailedLink): void {
    const link = `${this.#publicUrl}/${kind === 'join' ? 'join' : 'setup'}?token=${token}`
    this.#letters.post({ by: 'email', to: email, language, about: { kind, link } })
  }
}
