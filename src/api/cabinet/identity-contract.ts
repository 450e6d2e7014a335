import { nullable, object, text, time, type Static } from '../../base/schema.ts'

export const Identity = object(
  {
    id: text(),
    issuer: text(),
    subject: text(),
    email: nullable(text('As the issuer said it when it was linked.')),
    linked_at: nullable(time()),
  },
  'Somebody at the issuer of single sign-on who may sign in as this user.',
)
export type Identity = Static<typeof Identity>
