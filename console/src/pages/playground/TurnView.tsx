import { Group, Text } from '@mantine/core'
import { Suspense, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { lazyOr } from '../../parts/lazy-or.ts'
import { usePacedText } from '../../parts/markdown/use-paced-text.ts'
import { useFormat } from '../../parts/use-format.ts'
import { dataUrl } from './attachments.ts'
import css from './chat.module.css'
import type { Message, Turn } from './use-conversation.ts'

/** An answer that comes at once has no rate. */
const RATE_MS_MIN = 50
const MarkdownText = lazyOr(async () => (await import('../../parts/markdown/MarkdownText.tsx')).MarkdownText, PlainText)

export interface TurnViewProps {
  readonly turn: Turn
  /** Of the model. */
  readonly name: string
  readonly busy: boolean
}

export function TurnView({ turn, name, busy }: TurnViewProps): ReactNode {
  const { t } = useTranslation()
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
    </div>
  )
}

function Answer({ text, busy }: { readonly text: string; readonly busy: boolean }): ReactNode {
  const shown = usePacedText(text, !busy)
  return (
    <>
      <Suspense fallback={<PlainText text={shown} />}>
        <MarkdownText text={shown} />
      </Suspense>
      {busy && <span className={css.cursor} aria-hidden="true" />}
    </>
  )
}

function PlainText({ text }: { readonly text: string }): ReactNode {
  return <div className={css.text}>{text}</div>
}

/** Files of a message. */
export function Attachments({
  attachments,
  children,
}: Pick<Message, 'attachments'> & { readonly children?: (index: number) => ReactNode }): ReactNode {
  const format = useFormat()
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

/** The cost from the bill, and the speed as this browser saw it. */
function TurnFigures({ turn: { cost, tokens, speed } }: { readonly turn: Turn }): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
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
