import { Button, Card, Collapse, Group, Stack, Text, Textarea } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { SendIcon, StopIcon } from '../../parts/icons.ts'
import { Failed } from '../../parts/Loaded.tsx'
import { useFormat } from '../../parts/use-format.ts'
import css from './chat.module.css'
import { areReadable, ChatParameters, NO_PARAMETERS, parametersBody } from './ChatParameters.tsx'
import { chatPieces } from './chat-stream.ts'
import { liveCost } from './live-cost.ts'
import { isStop, playgroundCall } from './playground-call.ts'
import type { TabProps } from './PlaygroundPage.tsx'

interface Turn {
  readonly role: 'user' | 'assistant'
  readonly text: string
  readonly reasoning: string
  /** RUB; null = not known yet. */
  readonly cost: number | null
  readonly tokens: { readonly input: number; readonly output: number } | null
}

/** A conversation with streaming; its cost grows as the answer does, and is exact at the end. */
export function ChatTab({ keyId, models, modelId }: TabProps): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const client = useQueryClient()
  const [turns, setTurns] = useState<readonly Turn[]>([])
  const [text, setText] = useState('')
  const [parameters, setParameters] = useState(NO_PARAMETERS)
  const [shown, setShown] = useState(false)
  const [failure, setFailure] = useState<unknown>(null)
  const running = useRef<AbortController | null>(null)
  const [busy, setBusy] = useState(false)
  const prices = models.find(({ id }) => id === modelId)?.prices ?? {}
  useEffect(() => () => running.current?.abort(), [])
  const change = (edit: (last: Turn) => Turn): void =>
    setTurns((before) => before.map((turn, index) => (index === before.length - 1 ? edit(turn) : turn)))
  const ask = async (): Promise<void> => {
    const asked: readonly Turn[] = [
      ...turns,
      { role: 'user', text: text.trim(), reasoning: '', cost: null, tokens: null },
    ]
    setTurns([...asked, { role: 'assistant', text: '', reasoning: '', cost: null, tokens: null }])
    setText('')
    setFailure(null)
    setBusy(true)
    const controller = new AbortController()
    running.current = controller
    const messages = [
      ...(parameters.system.trim() === '' ? [] : [{ role: 'system', content: parameters.system }]),
      ...asked.map(({ role, text: content }) => ({ role, content })),
    ]
    try {
      const response = await playgroundCall(
        keyId,
        'chat/completions',
        {
          model: modelId,
          stream: true,
          stream_options: { include_usage: true },
          ...parametersBody(parameters),
          messages,
        },
        controller.signal,
      )
      if (response.body !== null) {
        for await (const piece of chatPieces(response.body)) {
          if (piece.type === 'usage')
            change((last) => ({ ...last, cost: piece.cost, tokens: { input: piece.input, output: piece.output } }))
          else
            change((last) =>
              piece.type === 'text'
                ? { ...last, text: last.text + piece.text }
                : { ...last, reasoning: last.reasoning + piece.text },
            )
        }
      }
    } catch (thrown) {
      if (!isStop(thrown)) setFailure(thrown)
    }
    setBusy(false)
    await client.invalidateQueries({ queryKey: ['GET /cabinet/v1/summary'] })
  }
  const known = turns.reduce((sum, { cost }) => sum + (cost ?? 0), 0)
  const ready = !busy && text.trim() !== '' && areReadable(parameters)
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
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (ready) void ask()
        }}
      >
        <Textarea
          label={t('play.message')}
          description={t('play.enter')}
          autosize
          minRows={2}
          maxRows={10}
          value={text}
          onChange={({ currentTarget }) => setText(currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
            event.preventDefault()
            if (ready) void ask()
          }}
        />
        <Group mt="sm" gap="xs">
          <Button type="submit" disabled={!ready} loading={busy} leftSection={<SendIcon size={17} />}>
            {t('play.send')}
          </Button>
          {busy && (
            <Button variant="default" leftSection={<StopIcon size={17} />} onClick={() => running.current?.abort()}>
              {t('play.stop')}
            </Button>
          )}
          {!busy && turns.length > 0 && (
            <Button variant="subtle" onClick={() => setTurns([])}>
              {t('play.anew')}
            </Button>
          )}
        </Group>
      </form>
    </Stack>
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
