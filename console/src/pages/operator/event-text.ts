import i18n from 'i18next'
import type { EventAction, EventActor } from '../../../../src/ledger/event-action.ts'

type ActionKey<A extends string> = A extends `${infer Left}.${infer Right}` ? `${Left}_${Right}` : A

/** What was done, in the reader's language; its code where another release wrote it. */
export function actionText(action: EventAction): string {
  // The dot divides paths of texts, and each action has one.
  const name = action.replace('.', '_') as ActionKey<EventAction>
  return i18n.exists(`action.${name}`) ? i18n.t(`action.${name}`) : action
}

/** Who did it: a part of the server by its name, a person by their address. */
export function actorText(actor: string): string {
  return isPart(actor) ? i18n.t(`actor.${actor}`) : actor
}

function isPart(actor: string): actor is EventActor {
  return /^[a-z]+$/.test(actor) && i18n.exists(`actor.${actor}`)
}
