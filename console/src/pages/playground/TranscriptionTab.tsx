import { Card, FileInput, Stack, Text, TextInput } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import layout from '../../style/layout.module.css'
import { ATTACHED_BYTES_MAX, base64Of } from './attachments.ts'
import css from './chat.module.css'
import { costOf, fieldOf, playgroundAnswer } from './playground-call.ts'
import { RunBar } from './RunBar.tsx'
import type { TabProps } from './tab.ts'
import { useRun } from './use-run.ts'

/** Speech to text. */
export function TranscriptionTab({ keyId, modelId }: TabProps): ReactNode {
  const { t } = useTranslation()
  const [file, setFile] = useState<File | null>(null)
  const [language, setLanguage] = useState('')
  const run = useRun(async (signal) => {
    if (file === null) return null
    const format = file.name.slice(file.name.lastIndexOf('.') + 1).toLowerCase()
    const body = {
      model: modelId,
      input_audio: { data: await base64Of(file), format },
      ...(language.trim() === '' ? {} : { language: language.trim() }),
    }
    const answer = await playgroundAnswer(keyId, 'audio/transcriptions', body, signal)
    return { text: String(fieldOf(answer, 'text') ?? ''), cost: costOf(answer) }
  })
  const tooLarge = file !== null && file.size > ATTACHED_BYTES_MAX
  return (
    <Stack>
      <div className={layout.fields}>
        <FileInput
          label={t('play.file')}
          accept="audio/*,.mp3,.wav,.ogg,.m4a,.flac,.webm"
          clearable
          clearButtonProps={{ 'aria-label': t('common.clear') }}
          value={file}
          onChange={setFile}
          error={tooLarge ? t('play.too_large') : null}
        />
        <TextInput
          label={t('play.language')}
          placeholder={t('play.default')}
          maxLength={20}
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
