import { ActionIcon, Alert, Button, CloseButton, FileButton, Group, Text, Textarea } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { CopyIconButton } from '../../parts/Copy.tsx'
import { AttachIcon, RetryIcon, SendIcon, StopIcon } from '../../parts/icons.ts'
import { onDemandOr } from '../../parts/OnDemand.tsx'
import { format, t } from '../../parts/words.ts'
import css from './chat.module.css'
import {
  acceptedTypes,
  ATTACHED_BYTES_MAX,
  attachmentOf,
  dataUrl,
  type Message,
  type Turn,
} from './use-conversation.ts'
import { Press } from '../../parts/cells.tsx'

interface MessageFormProps {
  readonly busy: boolean
  /** The modalities besides text that all of the models accept. */
  readonly modalities: ReadonlySet<string>
  readonly draft: Message
  readonly change: (draft: Message) => void
  /** Whether the rest of the tab allows the message to be sent. */
  readonly sendable: boolean
  readonly send: () => void
  readonly stop: () => void
  /** null = there is nothing to clear. */
  readonly clear: (() => void) | null
}

/** The next message: its text, and files that are chosen, pasted or dropped. */
export function MessageForm(props: MessageFormProps) {
  const { busy, draft, change, sendable } = props
  const { attach, refused } = useAttaching(props)
  const ready = sendable && !busy && (draft.text.trim() !== '' || draft.attachments.length > 0)
  const submit = (event: { preventDefault: () => void }): void => {
    event.preventDefault()
    if (ready) props.send()
  }
  return (
    <form
      className={css.form}
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
}: MessageFormProps & { readonly ready: boolean } & Pick<Attaching, 'attach'>) {
  return (
    <Group mt="sm" gap="xs">
      <Button type="submit" disabled={!ready} loading={busy} leftSection={<SendIcon size={17} />}>
        {t('play.send')}
      </Button>
      {busy && <Press variant="default" leftSection={<StopIcon size={17} />} onClick={stop} text={t('play.stop')} />}
      {acceptedTypes(modalities) !== '' && (
        <FileButton multiple accept={acceptedTypes(modalities)} onChange={attach}>
          {(button) => (
            <Press variant="default" leftSection={<AttachIcon size={17} />} {...button} text={t('play.attach')} />
          )}
        </FileButton>
      )}
      {!busy && clear !== null && <Press variant="subtle" onClick={clear} text={t('play.anew')} />}
    </Group>
  )
}

interface Attaching {
  readonly attach: (files: readonly File[]) => void
  /** Why a file was refused. */
  readonly refused: string | null
}

function useAttaching({
  modalities,
  draft,
  change,
}: Pick<MessageFormProps, 'modalities' | 'draft' | 'change'>): Attaching {
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

/** If the whole answer comes within this time, its speed cannot be measured. */
const RATE_MS_MIN = 50
const MarkdownText = onDemandOr('MarkdownText', () => import('../../parts/markdown/MarkdownText.tsx'), PlainText)

interface TurnViewProps {
  readonly turn: Turn
  /** The model's name. */
  readonly name: string
  readonly busy: boolean
  /** Asks the question again; null = this is not the last answer. */
  readonly again: (() => void) | null
}

export function TurnView({ turn, name, busy, again }: TurnViewProps) {
  const isUser = turn.role === 'user'
  return (
    <div className={isUser ? css.user : css.model}>
      <Text size="xs" c="dimmed" mb={2}>
        {isUser ? t('play.you') : name}
      </Text>
      {turn.reasoning !== '' && (
        <details>
          <summary>{t('play.reasoning')}</summary>
          <div className={css.reasoning}>{turn.reasoning}</div>
        </details>
      )}
      {isUser ? <div className={css.text}>{turn.text}</div> : <Answer text={turn.text} busy={busy} />}
      {turn.attachments.length > 0 && <Attachments attachments={turn.attachments} />}
      <TurnFigures turn={turn} />
      {!isUser && !busy && (
        <Group gap={4} mt={4}>
          {turn.text !== '' && <CopyIconButton text={turn.text} />}
          {again !== null && (
            <ActionIcon
              variant="subtle"
              color="gray"
              onClick={again}
              title={t('play.again')}
              aria-label={t('play.again')}
            >
              <RetryIcon size={17} />
            </ActionIcon>
          )}
          {turn.generation !== null && (
            <Text size="xs" component="span">
              <Link to="/log/$id" params={{ id: turn.generation }}>
                {t('play.bill')}
              </Link>
            </Text>
          )}
        </Group>
      )}
    </div>
  )
}

function Answer({ text, busy }: { readonly text: string; readonly busy: boolean }) {
  const shown = usePacedText(text, !busy)
  return (
    <>
      <MarkdownText text={shown} />
      {busy && <span className={css.cursor} aria-hidden="true" />}
    </>
  )
}

function PlainText({ text }: { readonly text: string }) {
  return <div className={css.text}>{text}</div>
}

/** The files of a message. */
function Attachments({
  attachments,
  children,
}: Pick<Message, 'attachments'> & { readonly children?: (index: number) => ReactNode }) {
  return (
    <Group gap="xs" mt={8}>
      {attachments.map((attachment, index) => (
        <div key={index} className={css.attached}>
          {attachment.kind === 'image' && <img src={dataUrl(attachment)} alt="" />}
          <Text size="xs" component="span">
            {attachment.name}
            <Text size="xs" c="dimmed" component="span" display="block">
              {format.bytes(attachment.bytes)}
            </Text>
          </Text>
          {children?.(index)}
        </div>
      ))}
    </Group>
  )
}

/** The cost from the bill, and the speed as measured by this browser. */
function TurnFigures({ turn: { cost, tokens, speed } }: { readonly turn: Turn }) {
  if (cost === null || tokens === null) return null
  return (
    <Text size="xs" c="dimmed" mt={6}>
      {t('play.turn', {
        amount: format.money(cost),
        input: format.number(tokens.input),
        output: format.number(tokens.output),
      })}
      {speed !== null && ` · ${t('play.first', { time: format.duration(speed.firstMs) })}`}
      {speed !== null &&
        speed.restMs >= RATE_MS_MIN &&
        ` · ${t('play.per_second', { tokens: format.number((tokens.output * 1_000) / speed.restMs, 1) })}`}
    </Text>
  )
}

/**
 * The pause after a drawing is this many times as long as the drawing took, so that the page stays usable while a long
 * answer arrives in many pieces.
 */
const PAUSE_PER_DRAWING = 8
const PAUSE_MS_MAX = 2_000

/** A growing text that is drawn again only as often as its drawing time allows, and in full at its end. */
function usePacedText(text: string, ended: boolean): string {
  const [shown, setShown] = useState(text)
  const newest = useRef(text)
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null)
  const pauseMs = useRef(0)
  newest.current = text
  useEffect(() => {
    if (ended || timer.current !== null) return
    timer.current = setTimeout(() => {
      timer.current = null
      const startMs = performance.now()
      setShown(newest.current)
      requestAnimationFrame(() => {
        pauseMs.current = Math.min(PAUSE_MS_MAX, (performance.now() - startMs) * PAUSE_PER_DRAWING)
      })
    }, pauseMs.current)
  }, [text, ended])
  useEffect(
    () => () => {
      if (timer.current !== null) clearTimeout(timer.current)
      timer.current = null
    },
    [],
  )
  return ended ? text : shown
}
