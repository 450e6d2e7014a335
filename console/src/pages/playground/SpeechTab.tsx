import { Select, Stack } from '@mantine/core'
import { useEffect, useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { call } from '../../api/call.ts'
import { NumberField } from '../../parts/NumberField.tsx'
import { isPlainNumber } from '../../parts/number-text.ts'
import layout from '../../style/layout.module.css'
import { playgroundCall } from './playground-call.ts'
import { OptionField, PromptField } from './PromptField.tsx'
import { RunBar } from './RunBar.tsx'
import type { TabProps } from './tab.ts'
import { useRun } from './use-run.ts'

const CHARACTERS_MAX = 5_000
const FORMATS = ['mp3', 'wav', 'opus', 'aac', 'flac'] as const

/** Text read aloud. */
export function SpeechTab({ keyId, models, modelId }: TabProps): ReactNode {
  const { t } = useTranslation()
  const [text, setText] = useState('')
  const [voice, setVoice] = useState<string | null>(null)
  const [format, setFormat] = useState<string>('mp3')
  const [speed, setSpeed] = useState('1')
  const model = models.find(({ id }) => id === modelId)
  const formats =
    model === undefined || model.formats.length === 0
      ? FORMATS
      : FORMATS.filter((known) => model.formats.includes(known))
  const run = useRun(async (signal) => {
    const response = await playgroundCall(
      keyId,
      'audio/speech',
      {
        model: modelId,
        input: text,
        response_format: format,
        speed: Number(speed),
        ...(voice === null ? {} : { voice }),
      },
      signal,
    )
    const id = response.headers.get('x-generation-id')
    const address = URL.createObjectURL(await response.blob())
    return { address, cost: id === null ? null : await costOfGeneration(id, signal) }
  })
  const address = run.answer?.address
  useEffect(() => () => URL.revokeObjectURL(address ?? ''), [address])
  return (
    <Stack>
      <PromptField label={t('play.text')} maxLength={CHARACTERS_MAX} value={text} change={setText} />
      <div className={layout.fields}>
        <OptionField label={t('play.voice')} data={model?.voices ?? []} value={voice} change={setVoice} />
        <Select
          label={t('play.format')}
          allowDeselect={false}
          data={[...formats]}
          value={format}
          onChange={(value) => value !== null && setFormat(value)}
        />
        <NumberField label={t('play.speed')} decimals={2} least={0.25} most={4} value={speed} onChange={setSpeed} />
      </div>
      <RunBar run={run} ready={text.trim() !== '' && isPlainNumber(speed)} cost={run.answer?.cost ?? null} />
      {address !== undefined && <audio controls src={address} aria-label={t('play.audio')} />}
    </Stack>
  )
}

/** The cost of an answer in bytes is only in the log. */
async function costOfGeneration(id: string, signal: AbortSignal): Promise<number | null> {
  try {
    return (await call('GET /cabinet/v1/log/:id', { params: { id } }, signal)).cost
  } catch {
    return null
  }
}
