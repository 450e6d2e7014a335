import { Button, Group, Progress, Select, Text, Textarea, type TextareaProps } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useRef, useState } from 'react'
import type { ModelRow } from '../../../../src/api/cabinet/model-contract.ts'
import { ApiFailure, send } from '../../api/call.ts'
import { ChoiceField } from '../../parts/Filters.tsx'
import { SendIcon, StopIcon } from '../../parts/icons.ts'
import { Failed } from '../../parts/Loaded.tsx'
import { format, t } from '../../parts/words.ts'
import { Press } from '../../parts/cells.tsx'

export interface Run<A, Given extends readonly unknown[] = []> {
  readonly answer: A | null
  readonly failure: unknown
  readonly busy: boolean
  readonly start: (...given: Given) => void
  readonly stop: () => void
  /** Removes the answer and the failure. */
  readonly clear: () => void
}

const NOTHING = { answer: null, failure: null, busy: false }

/** Runs one paid call at a time, and keeps its answer or failure. Leaving the page aborts it. */
export function useRun<A, Given extends readonly unknown[] = []>(
  work: (signal: AbortSignal, ...given: Given) => Promise<A>,
): Run<A, Given> {
  const client = useQueryClient()
  const running = useRef<AbortController | null>(null)
  const [state, setState] = useState<Pick<Run<A>, 'answer' | 'failure' | 'busy'>>(NOTHING)
  const stop = useCallback(() => running.current?.abort(), [])
  useEffect(() => stop, [stop])
  const run = async (given: Given): Promise<void> => {
    running.current?.abort()
    const controller = new AbortController()
    running.current = controller
    setState({ ...NOTHING, busy: true })
    try {
      const answer = await work(controller.signal, ...given)
      setState({ answer, failure: null, busy: false })
    } catch (failure) {
      setState((before) => ({ ...before, failure: isStop(failure) ? null : failure, busy: false }))
    }
    await client.invalidateQueries({ queryKey: ['GET /cabinet/v1/summary'] })
  }
  return { ...state, start: (...given) => void run(given), stop, clear: () => setState(NOTHING) }
}

interface RunBarProps {
  readonly run: Pick<Run<unknown>, 'busy' | 'failure' | 'start' | 'stop'>
  readonly ready: boolean
  /** RUB, once it is known. */
  readonly cost: number | null
  /** 0 to 100; null = unknown. */
  readonly progress?: number | null
}

/** The buttons to start and stop, the cost and the error, which are the same in every tab. */
export function RunBar({ run, ready, cost, progress = null }: RunBarProps) {
  return (
    <>
      <Group justify="space-between">
        <Group gap="xs">
          <Button onClick={run.start} loading={run.busy} disabled={!ready} leftSection={<SendIcon size={17} />}>
            {t('play.run')}
          </Button>
          {run.busy && (
            <Press variant="default" onClick={run.stop} leftSection={<StopIcon size={17} />} text={t('play.stop')} />
          )}
        </Group>
        {cost !== null && (
          <Text fw={600} role="status">
            {t('play.cost', { amount: format.money(cost) })}
          </Text>
        )}
      </Group>
      {run.busy && <Progress value={progress ?? 100} animated aria-label={t('common.loading')} />}
      {run.failure !== null && <Failed failure={run.failure} />}
    </>
  )
}

/** A field for the text that a model works on. */
export function PromptField(props: TextareaProps) {
  return <Textarea autosize minRows={3} {...props} />
}

interface OptionFieldProps {
  readonly label: string
  /** The values that the model offers; a field without any is not shown. */
  readonly data: readonly string[]
  readonly value: string | null
  readonly onChange: (value: string | null) => void
}

/** A choice of what a model offers; nothing chosen = the model's default. */
export function OptionField({ data, ...props }: OptionFieldProps) {
  return data.length > 0 && <ChoiceField placeholder={t('play.default')} data={[...data]} {...props} />
}

/** The props that the playground gives to each of its tabs. */
export interface TabProps {
  readonly keyId: string
  /** The models of the tab's type that the account may use. */
  readonly models: readonly ModelRow[]
  readonly modelId: string
}

const BASE = '/cabinet/v1/playground'

/** Calls the customer API with a key of the user, whose secret the console does not have. */
export function playgroundCall(keyId: string, path: string, body: object, signal: AbortSignal): Promise<Response> {
  return send(`${BASE}/${path}`, {
    method: 'POST',
    credentials: 'same-origin',
    headers: { 'content-type': 'application/json', 'x-tollgate-key-id': keyId },
    body: JSON.stringify(body),
    signal,
  })
}

/** Calls the API, and reads the answer as JSON. */
export async function playgroundAnswer(
  keyId: string,
  path: string,
  body: object,
  signal: AbortSignal,
): Promise<unknown> {
  return (await playgroundCall(keyId, path, body, signal)).json()
}

export function playgroundRead(keyId: string, path: string, signal: AbortSignal): Promise<Response> {
  return send(`${BASE}/${path}`, { credentials: 'same-origin', headers: { 'x-tollgate-key-id': keyId }, signal })
}

/** An address that the browser loads by itself, such as that of a video. */
export function playgroundAddress(keyId: string, path: string, query: Readonly<Record<string, string>>): string {
  return `${BASE}/${path}?${new URLSearchParams({ ...query, key_id: keyId }).toString()}`
}

/** The cost in RUB; null = the answer has none. */
export function costOf(answer: unknown): number | null {
  const usage = fieldOf(answer, 'usage')
  const cost = fieldOf(usage, 'cost')
  return typeof cost === 'number' ? cost : null
}

export function fieldOf(value: unknown, name: string): unknown {
  // Every object can be read by name; each value is unknown again.
  return value !== null && typeof value === 'object' ? (value as Readonly<Record<string, unknown>>)[name] : undefined
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** Whether the user aborted the call. */
function isStop(failure: unknown): boolean {
  return !(failure instanceof ApiFailure) && failure instanceof DOMException && failure.name === 'AbortError'
}

interface ModelFieldProps {
  readonly label: string
  readonly models: readonly ModelRow[]
  readonly value: string
  readonly choose: (id: string) => void
}

export function ModelField({ label, models, value, choose }: ModelFieldProps) {
  return (
    <Select
      label={label}
      searchable
      limit={80}
      value={value}
      onChange={(id) => id !== null && choose(id)}
      data={models.map(({ id, name }) => ({ value: id, label: name }))}
    />
  )
}
