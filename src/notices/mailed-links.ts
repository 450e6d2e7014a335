import type { Letters, LetterSender } from './letters.ts'
import type { Language } from './text-format.ts'

export interface MailedLink {
  readonly email: string
  /** null = the person has chosen no language, so the letter has both. */
  readonly language: Language | null
  /** `join`: an invitation to an account. */
  readonly kind: 'password' | 'invitation' | 'join'
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
