import { Button, Card, Collapse, Group, Stack, Text, Textarea } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { Prices } from '../../../../src/cabinet/model-contract.ts'
import { SendIcon, StopIcon } from '../../parts/icons.ts'
import { Failed } from '../../parts/Loaded.tsx'
import { useFormat } from '../../parts/use-format.ts'
import css from './chat.module.css'
import { areReadable, ChatParameters, NO_PARAMETERS } from './ChatParameters.tsx'
import type { TabProps } from './tab.ts'
import { useConversation, type Conversation, type Turn } from './use-conversation.ts'

const CHARACTERS_PER_TOKEN = 4
const MILLION = 1_000_000

/** A streamed conversation. Its cost is an estimate while an answer arrives, and exact at the end. */
export function ChatTab({ keyId, models, modelId }: TabProps): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const conversation = useConversation(keyId, modelId)
  const { turns, failure, busy } = conversation
  const [parameters, setParameters] = useState(NO_PARAMETERS)
  const [shown, setShown] = useState(false)
  const prices = models.find(({ id }) => id === modelId)?.prices ?? {}
  const known = turns.reduce((sum, { cost }) => sum + (cost ?? 0), 0)
  const live = busy ? liveCost(turns, prices) : 0
  return (
    <Stack>
      <Group justify="space-between">
        <Button size="xs" variant="default" onClick={() => setShown(!shown)} aria-expanded={shown}>
          {t('play.parameters')}
        </Button>
        <Text fw={600} role="status" aria-live="off">
          {busy
            ? t('play.cost_live', { amount: format.money(known + live) })
            : t('play.cost_all', { amount: format.money(known) })}
        </Text>
      </Group>
      <Collapse expanded={shown}>
        <ChatParameters value={parameters} change={setParameters} />
      </Collapse>
      <Card padding="md" className={css.talk ?? ''} role="log" aria-label={t('play.talk')} tabIndex={0}>
        {turns.length === 0 && (
          <Text c="dimmed" ta="center" py={60}>
            {t('play.empty')}
          </Text>
        )}
        {turns.map((turn, index) => (
          <TurnView key={index} turn={turn} busy={busy && index === turns.length - 1} />
        ))}
      </Card>
      {failure !== null && <Failed failure={failure} />}
      <MessageForm
        conversation={conversation}
        sendable={areReadable(parameters)}
        send={(text) => conversation.ask(text, parameters)}
      />
    </Stack>
  )
}

interface MessageFormProps {
  readonly conversation: Pick<Conversation, 'turns' | 'busy' | 'stop' | 'clear'>
  /** Nothing else in the tab keeps a message from being sent. */
  readonly sendable: boolean
  readonly send: (text: string) => void
}

function MessageForm({ conversation: { turns, busy, stop, clear }, sendable, send }: MessageFormProps): ReactNode {
  const { t } = useTranslation()
  const [text, setText] = useState('')
  const ready = sendable && !busy && text.trim() !== ''
  const submit = (event: { preventDefault: () => void }): void => {
    event.preventDefault()
    if (!ready) return
    send(text)
    setText('')
  }
  return (
    <form onSubmit={submit}>
      <Textarea
        label={t('play.message')}
        description={t('play.enter')}
        autosize
        minRows={2}
        maxRows={10}
        value={text}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing) submit(event)
        }}
      />
      <Group mt="sm" gap="xs">
        <Button type="submit" disabled={!ready} loading={busy} leftSection={<SendIcon size={17} />}>
          {t('play.send')}
        </Button>
        {busy && (
          <Button variant="default" leftSection={<StopIcon size={17} />} onClick={stop}>
            {t('play.stop')}
          </Button>
        )}
        {!busy && turns.length > 0 && (
          <Button variant="subtle" onClick={clear}>
            {t('play.anew')}
          </Button>
        )}
      </Group>
    </form>
  )
}

function TurnView({ turn, busy }: { readonly turn: Turn; readonly busy: boolean }): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  return (
    <div className={turn.role === 'user' ? css.user : css.model}>
      <Text size="xs" c="dimmed" mb={2}>
        {turn.role === 'user' ? t('play.you') : t('play.model')}
      </Text>
      {turn.reasoning !== '' && (
        <details>
          <summary>{t('play.reasoning')}</summary>
          <div className={css.reasoning}>{turn.reasoning}</div>
        </details>
      )}
      <div className={css.text}>
        {turn.text}
        {busy && <span className={css.cursor} aria-hidden="true" />}
      </div>
      {turn.cost !== null && turn.tokens !== null && (
        <Text size="xs" c="dimmed" mt={6}>
          {t('play.turn', {
            amount: format.money(turn.cost),
            input: format.number(turn.tokens.input),
            output: format.number(turn.tokens.output),
          })}
        </Text>
      )}
    </div>
  )
}

/**
 * An estimate in RUB of what a running answer costs so far, with four characters a token. It is only shown: the end of
 * the answer has the exact cost.
 */
function liveCost(turns: readonly { readonly text: string; readonly reasoning: string }[], prices: Prices): number {
  const asked = turns.slice(0, -1).reduce((sum, { text }) => sum + text.length, 0)
  const last = turns.at(-1)
  const answered = (last?.text.length ?? 0) + (last?.reasoning.length ?? 0)
  return (
    (asked * Number(prices['prompt'] ?? 0) + answered * Number(prices['completion'] ?? 0)) /
      CHARACTERS_PER_TOKEN /
      MILLION +
    Number(prices['request'] ?? 0)
  )
}
