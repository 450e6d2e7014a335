import { Stack } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { NumberField } from '../../parts/NumberField.tsx'
import { isPlainNumber } from '../../parts/number-text.ts'
import layout from '../../style/layout.module.css'
import css from './chat.module.css'
import { costOf, fieldOf, listOf, playgroundAnswer } from './playground-call.ts'
import { OptionField, PromptField } from './PromptField.tsx'
import { RunBar } from './RunBar.tsx'
import type { TabProps } from './tab.ts'
import { useRun } from './use-run.ts'

const IMAGES_MAX = 10

/** Images from a text. */
export function ImageTab({ keyId, models, modelId }: TabProps): ReactNode {
  const { t } = useTranslation()
  const [prompt, setPrompt] = useState('')
  const [count, setCount] = useState('1')
  const [size, setSize] = useState<string | null>(null)
  const sizes = models.find(({ id }) => id === modelId)?.sizes ?? []
  const run = useRun(async (signal) => {
    const answer = await playgroundAnswer(
      keyId,
      'images/generations',
      { model: modelId, prompt, n: Number(count), response_format: 'b64_json', ...(size === null ? {} : { size }) },
      signal,
    )
    return { cost: costOf(answer), images: listOf(fieldOf(answer, 'data')).flatMap(imageAddress) }
  })
  return (
    <Stack>
      <PromptField label={t('play.prompt')} value={prompt} change={setPrompt} />
      <div className={layout.fields}>
        <NumberField
          label={t('play.count')}
          decimals={0}
          least={1}
          most={IMAGES_MAX}
          value={count}
          onChange={setCount}
        />
        <OptionField label={t('play.size')} data={sizes} value={size} change={setSize} />
      </div>
      <RunBar run={run} ready={prompt.trim() !== '' && isPlainNumber(count)} cost={run.answer?.cost ?? null} />
      <div className={layout.cards}>
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

/** Only pictures that came in the answer itself: the page may load nothing from elsewhere. */
function imageAddress(item: unknown): readonly string[] {
  const base64 = fieldOf(item, 'b64_json')
  const type = String(fieldOf(item, 'media_type') ?? 'image/png')
  return typeof base64 === 'string' && /^image\/(?:png|jpeg|webp|gif)$/.test(type)
    ? [`data:${type};base64,${base64}`]
    : []
}
