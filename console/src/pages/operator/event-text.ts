import i18n from 'i18next'
import type { EventAction, EventActor } from '../../../../src/ledger/event-action.ts'

type ActionKey<A extends string> = A extends `${infer Left}.${infer Right}` ? `${Left}_${Right}` : A

/** The action in the reader's language. An action of another release stays a code. */
export function actionText(action: EventAction): string {
  // A dot would separate the parts of a key, and each action has one.
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
