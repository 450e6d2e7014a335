import { Card, FileInput, Select, Stack, Text, TextInput } from '@mantine/core'
import { useEffect, useState } from 'react'
import { ApiFailure, call } from '../../api/call.ts'
import { given, typed } from '../../api/endpoint.ts'
import { bound } from '../../parts/Form.tsx'
import { NumberField } from '../../parts/NumberField.tsx'
import { isPlainNumber } from '../../parts/number-text.ts'
import { t } from '../../parts/words.ts'
import css from './chat.module.css'
import {
  costOf,
  fieldOf,
  listOf,
  OptionField,
  playgroundAddress,
  playgroundAnswer,
  playgroundCall,
  playgroundRead,
  PromptField,
  RunBar,
  type TabProps,
  useRun,
} from './run.tsx'
import { ATTACHED_BYTES_MAX, base64Of } from './use-conversation.ts'
import { Note } from '../../parts/cells.tsx'

const IMAGES_MAX = 10
/** In a choice: the model's default. */
const DEFAULT: string | null = null

/** Images from a text. */
export function ImageTab({ keyId, models, modelId }: TabProps) {
  const [draft, change] = useState({ prompt: '', count: '1', size: DEFAULT })
  const { prompt, count, size } = draft
  const field = bound(draft, change)
  const sizes = models.find(({ id }) => id === modelId)?.sizes ?? []
  const run = useRun(async (signal) => {
    const answer = await playgroundAnswer(
      keyId,
      'images/generations',
      { model: modelId, prompt, n: Number(count), response_format: 'b64_json', ...given({ size: size ?? undefined }) },
      signal,
    )
    return { cost: costOf(answer), images: listOf(fieldOf(answer, 'data')).flatMap(imageAddress) }
  })
  return (
    <Stack>
      <PromptField label={t('play.prompt')} {...field.text('prompt')} />
      <div className="fields">
        <NumberField label={t('play.count')} decimals={0} least={1} most={IMAGES_MAX} {...field.value('count')} />
        <OptionField label={t('play.size')} data={sizes} {...field.option('size')} />
      </div>
      <RunBar run={run} ready={prompt.trim() !== '' && isPlainNumber(count)} cost={run.answer?.cost ?? null} />
      <div className="cards">
        {run.answer?.images.map((source, index) => (
          <img
            key={index}
            src={source}
            alt={t('play.image_alt', { number: index + 1, prompt })}
            className={css.picture}
          />
        ))}
      </div>
    </Stack>
  )
}

/** Only pictures that the answer itself contains, since the page may load nothing from other hosts. */
function imageAddress(item: unknown): readonly string[] {
  const base64 = fieldOf(item, 'b64_json')
  const type = String(fieldOf(item, 'media_type') ?? 'image/png')
  return typeof base64 === 'string' && /^image\/(?:png|jpeg|webp|gif)$/.test(type)
    ? [`data:${type};base64,${base64}`]
    : []
}

const FORMATS = ['mp3', 'wav', 'opus', 'aac', 'flac'] as const

/** Text read aloud. */
export function SpeechTab({ keyId, models, modelId }: TabProps) {
  const [draft, change] = useState({ text: '', voice: DEFAULT, format: 'mp3', speed: '1' })
  const { text, voice, format, speed } = draft
  const field = bound(draft, change)
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
        ...given({ voice: voice ?? undefined }),
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
      <PromptField label={t('play.text')} {...field.text('text')} />
      <div className="fields">
        <OptionField label={t('play.voice')} data={model?.voices ?? []} {...field.option('voice')} />
        <Select label={t('play.format')} data={[...formats]} {...field.value('format')} />
        <NumberField label={t('play.speed')} decimals={2} least={0.25} most={4} {...field.value('speed')} />
      </div>
      <RunBar run={run} ready={text.trim() !== '' && isPlainNumber(speed)} cost={run.answer?.cost ?? null} />
      {address !== undefined && <audio controls src={address} aria-label={t('play.audio')} />}
    </Stack>
  )
}

/** The cost of a binary answer is only in the log. */
async function costOfGeneration(id: string, signal: AbortSignal): Promise<number | null> {
  try {
    return (await call('GET /cabinet/v1/log/:id', { params: { id } }, signal)).cost
  } catch {
    return null
  }
}

/** Speech to text. */
export function TranscriptionTab({ keyId, modelId }: TabProps) {
  const [file, setFile] = useState<File | null>(null)
  const [language, setLanguage] = useState('')
  const run = useRun(async (signal) => {
    if (file === null) return null
    const format = file.name.slice(file.name.lastIndexOf('.') + 1).toLowerCase()
    const body = { model: modelId, input_audio: { data: await base64Of(file), format }, ...typed({ language }) }
    const answer = await playgroundAnswer(keyId, 'audio/transcriptions', body, signal)
    return { text: String(fieldOf(answer, 'text') ?? ''), cost: costOf(answer) }
  })
  const tooLarge = file !== null && file.size > ATTACHED_BYTES_MAX
  return (
    <Stack>
      <div className="fields">
        <FileInput
          label={t('play.file')}
          accept="audio/*,.mp3,.wav,.ogg,.m4a,.flac,.webm"
          clearable
          value={file}
          onChange={setFile}
          error={tooLarge ? t('play.too_large') : null}
        />
        <TextInput
          label={t('play.language')}
          placeholder={t('play.default')}
          value={language}
          onChange={({ currentTarget }) => setLanguage(currentTarget.value)}
        />
      </div>
      <RunBar run={run} ready={file !== null && !tooLarge} cost={run.answer?.cost ?? null} />
      {run.answer !== null && (
        <Card role="status">
          <Text className={css.text ?? ''}>{run.answer.text}</Text>
        </Card>
      )}
    </Stack>
  )
}

const POLL_MS = 2_000
const ENDED: readonly string[] = ['failed', 'expired', 'cancelled']

interface Job {
  readonly id: string
  readonly status: string
  /** Percent. */
  readonly progress: number
}

/** A video job: it is created, watched and played. It goes on when the user leaves the page. */
export function VideoTab({ keyId, models, modelId }: TabProps) {
  const [draft, change] = useState({ prompt: '', size: DEFAULT, duration: DEFAULT })
  const { prompt, size, duration } = draft
  const field = bound(draft, change)
  const [job, setJob] = useState<Job | null>(null)
  const model = models.find(({ id }) => id === modelId)
  const run = useRun(async (signal) => {
    const body = {
      model: modelId,
      prompt,
      ...given({ size: size ?? undefined }),
      ...given({ duration: duration === null ? undefined : Number(duration) }),
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
      <PromptField label={t('play.prompt')} {...field.text('prompt')} />
      <div className="fields">
        <OptionField label={t('play.size')} data={model?.sizes ?? []} {...field.option('size')} />
        <OptionField
          label={t('play.seconds')}
          data={(model?.durations ?? []).map(String)}
          {...field.option('duration')}
        />
      </div>
      <RunBar run={run} ready={prompt.trim() !== ''} cost={run.answer?.cost ?? null} progress={job?.progress ?? null} />
      {job !== null && run.busy && <Note role="status">{t('play.job', { id: job.id, status: job.status })}</Note>}
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
