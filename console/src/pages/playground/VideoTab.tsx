import { Stack, Text } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { ApiFailure } from '../../api/call.ts'
import layout from '../../style/layout.module.css'
import css from './chat.module.css'
import { costOf, fieldOf, playgroundAddress, playgroundAnswer, playgroundRead } from './playground-call.ts'
import { OptionField, PromptField } from './PromptField.tsx'
import { RunBar } from './RunBar.tsx'
import type { TabProps } from './tab.ts'
import { useRun } from './use-run.ts'

const POLL_MS = 2_000
const ENDED: readonly string[] = ['failed', 'expired', 'cancelled']

interface Job {
  readonly id: string
  readonly status: string
  /** Percent. */
  readonly progress: number
}

/** A video job: it is created, watched and played. It continues when the user leaves the page. */
export function VideoTab({ keyId, models, modelId }: TabProps): ReactNode {
  const { t } = useTranslation()
  const [prompt, setPrompt] = useState('')
  const [size, setSize] = useState<string | null>(null)
  const [duration, setDuration] = useState<string | null>(null)
  const [job, setJob] = useState<Job | null>(null)
  const model = models.find(({ id }) => id === modelId)
  const run = useRun(async (signal) => {
    const body = {
      model: modelId,
      prompt,
      ...(size === null ? {} : { size }),
      ...(duration === null ? {} : { duration: Number(duration) }),
    }
    let record = await playgroundAnswer(keyId, 'videos', body, signal)
    for (;;) {
      const now = jobOf(record)
      setJob(now)
      if (now.status === 'completed')
        return { cost: costOf(record), address: playgroundAddress(keyId, 'videos/content', { id: now.id }) }
      if (ENDED.includes(now.status))
        throw new ApiFailure(
          0,
          String(fieldOf(record, 'error_type') ?? 'unknown'),
          String(fieldOf(record, 'error') ?? now.status),
          null,
        )
      await pause(POLL_MS, signal)
      record = await (await playgroundRead(keyId, `videos?id=${encodeURIComponent(now.id)}`, signal)).json()
    }
  })
  return (
    <Stack>
      <PromptField label={t('play.prompt')} value={prompt} change={setPrompt} />
      <div className={layout.fields}>
        <OptionField label={t('play.size')} data={model?.sizes ?? []} value={size} change={setSize} />
        <OptionField
          label={t('play.seconds')}
          data={(model?.durations ?? []).map(String)}
          value={duration}
          change={setDuration}
        />
      </div>
      <RunBar run={run} ready={prompt.trim() !== ''} cost={run.answer?.cost ?? null} progress={job?.progress ?? null} />
      {job !== null && run.busy && (
        <Text size="sm" c="dimmed" role="status">
          {t('play.job', { id: job.id, status: job.status })}
        </Text>
      )}
      {run.answer !== null && <video controls src={run.answer.address} className={css.picture} aria-label={prompt} />}
    </Stack>
  )
}

function jobOf(record: unknown): Job {
  return {
    id: String(fieldOf(record, 'id')),
    status: String(fieldOf(record, 'status')),
    progress: Number(fieldOf(record, 'progress') ?? 0),
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(new DOMException('Stopped', 'AbortError'))
    })
  })
}
