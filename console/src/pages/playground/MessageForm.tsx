import { Alert, Button, CloseButton, FileButton, Group, Textarea } from '@mantine/core'
import { useRef, useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { AttachIcon, SendIcon, StopIcon } from '../../parts/icons.ts'
import { acceptedTypes, ATTACHED_BYTES_MAX, attachmentOf } from './attachments.ts'
import { Attachments } from './TurnView.tsx'
import type { Message } from './use-conversation.ts'

export interface MessageFormProps {
  readonly busy: boolean
  /** What all of the models take besides text. */
  readonly modalities: ReadonlySet<string>
  readonly draft: Message
  readonly change: (draft: Message) => void
  /** Nothing else in the tab keeps a message from being sent. */
  readonly sendable: boolean
  readonly send: () => void
  readonly stop: () => void
  /** null = there is nothing to forget. */
  readonly clear: (() => void) | null
}

/** The next message: its text, and files that are chosen, pasted or dropped. */
export function MessageForm(props: MessageFormProps): ReactNode {
  const { t } = useTranslation()
  const { busy, draft, change, sendable } = props
  const { attach, refused } = useAttaching(props)
  const ready = sendable && !busy && (draft.text.trim() !== '' || draft.attachments.length > 0)
  const submit = (event: { preventDefault: () => void }): void => {
    event.preventDefault()
    if (ready) props.send()
  }
  return (
    <form
      onSubmit={submit}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault()
        attach([...event.dataTransfer.files])
      }}
    >
      <Textarea
        label={t('play.message')}
        description={t('play.enter')}
        autosize
        minRows={2}
        maxRows={10}
        value={draft.text}
        onChange={({ currentTarget }) => change({ ...draft, text: currentTarget.value })}
        onPaste={({ clipboardData }) => attach([...clipboardData.files])}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing) submit(event)
        }}
      />
      {draft.attachments.length > 0 && (
        <Attachments attachments={draft.attachments}>
          {(index) => (
            <CloseButton
              size="sm"
              aria-label={t('play.detach', { name: draft.attachments[index]?.name })}
              onClick={() => change({ ...draft, attachments: draft.attachments.filter((_, other) => other !== index) })}
            />
          )}
        </Attachments>
      )}
      {refused !== null && (
        <Alert color="yellow" variant="light" mt="xs" role="alert">
          {refused}
        </Alert>
      )}
      <Buttons {...props} ready={ready} attach={attach} />
    </form>
  )
}

function Buttons({
  busy,
  modalities,
  stop,
  clear,
  ready,
  attach,
}: MessageFormProps & { readonly ready: boolean } & Pick<Attaching, 'attach'>): ReactNode {
  const { t } = useTranslation()
  return (
    <Group mt="sm" gap="xs">
      <Button type="submit" disabled={!ready} loading={busy} leftSection={<SendIcon size={17} />}>
        {t('play.send')}
      </Button>
      {busy && (
        <Button variant="default" leftSection={<StopIcon size={17} />} onClick={stop}>
          {t('play.stop')}
        </Button>
      )}
      {acceptedTypes(modalities) !== '' && (
        <FileButton multiple accept={acceptedTypes(modalities)} onChange={attach}>
          {(button) => (
            <Button variant="default" leftSection={<AttachIcon size={17} />} {...button}>
              {t('play.attach')}
            </Button>
          )}
        </FileButton>
      )}
      {!busy && clear !== null && (
        <Button variant="subtle" onClick={clear}>
          {t('play.anew')}
        </Button>
      )}
    </Group>
  )
}

interface Attaching {
  readonly attach: (files: readonly File[]) => void
  /** Why a file was not taken. */
  readonly refused: string | null
}

function useAttaching({
  modalities,
  draft,
  change,
}: Pick<MessageFormProps, 'modalities' | 'draft' | 'change'>): Attaching {
  const { t } = useTranslation()
  const [refused, setRefused] = useState<string | null>(null)
  // The text may have grown while the files were read.
  const newest = useRef(draft)
  newest.current = draft
  const attach = async (files: readonly File[]): Promise<void> => {
    const bytes = [...draft.attachments.map((one) => one.bytes), ...files.map(({ size }) => size)]
    if (bytes.reduce((sum, size) => sum + size, 0) > ATTACHED_BYTES_MAX) return setRefused(t('play.too_large'))
    const read = await Promise.all(files.map((file) => attachmentOf(file, modalities)))
    const taken = read.filter((one) => one !== null)
    setRefused(taken.length === read.length ? null : t('play.not_taken'))
    change({ ...newest.current, attachments: [...newest.current.attachments, ...taken] })
  }
  return { attach: (files) => void (files.length > 0 && attach(files)), refused }
}
