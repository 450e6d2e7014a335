import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { CallSnippet } from '../../parts/CallSnippet.tsx'
import { fileMark } from '../../parts/call-snippet.ts'
import { Dialog } from '../../parts/Dialog.tsx'
import type { Parameters } from './ChatParameters.tsx'
import { chatBody, type Message, type Turn } from './use-conversation.ts'

export interface CallDialogProps {
  readonly opened: boolean
  readonly close: () => void
  readonly model: string
  readonly turns: readonly Turn[]
  readonly draft: Message
  readonly parameters: Parameters
}

/** The conversation with its next message, or the last question again, as a call of the API. */
export function CallDialog({ opened, close, model, turns, draft, parameters }: CallDialogProps): ReactNode {
  const { t } = useTranslation()
  const isEmpty = draft.text.trim() === '' && draft.attachments.length === 0
  const asked = turns.slice(0, turns.findLastIndex(({ role }) => role === 'user') + 1)
  const message: Message = isEmpty ? { text: 'Hello', attachments: [] } : { ...draft, text: draft.text.trim() }
  const shown = isEmpty && asked.length > 0 ? asked : [...turns, { role: 'user' as const, ...message }]
  const attached = shown.flatMap(({ attachments }) => attachments)
  const body = chatBody(model, shown, parameters, (attachment) => fileMark(attached.indexOf(attachment)))
  return (
    <Dialog name="call" opened={opened} onClose={close} title={t('play.call')} size="xl">
      <CallSnippet body={body} files={attached.map(({ name }) => name)} />
    </Dialog>
  )
}
