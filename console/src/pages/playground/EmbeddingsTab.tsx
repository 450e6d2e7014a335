import { Stack, Text, Textarea } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { List } from '../../parts/List.tsx'
import { useFormat } from '../../parts/use-format.ts'
import layout from '../../style/layout.module.css'
import { costOf, fieldOf, listOf, playgroundCall } from './playground-call.ts'
import { RunBar } from './RunBar.tsx'
import type { TabProps } from './tab.ts'
import { useRun } from './use-run.ts'

const SHOWN_NUMBERS = 4

/** Vectors for lines of text, and the similarity of each to the first. */
export function EmbeddingsTab({ keyId, modelId }: TabProps): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  const [text, setText] = useState('')
  const run = useRun(async (signal) => {
    const input = text.split('\n').filter((line) => line.trim() !== '')
    const answer: unknown = await (await playgroundCall(keyId, 'embeddings', { model: modelId, input }, signal)).json()
    const vectors = listOf(fieldOf(answer, 'data')).map((item) => listOf(fieldOf(item, 'embedding')).map(Number))
    return {
      cost: costOf(answer),
      rows: vectors.map((vector, index) => ({
        index,
        line: input[index] ?? '',
        vector,
        nearness: nearness(vectors[0] ?? [], vector),
      })),
    }
  })
  return (
    <Stack>
      <Textarea
        label={t('play.lines')}
        description={t('play.lines_hint')}
        autosize
        minRows={4}
        value={text}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
      />
      <RunBar run={run} ready={text.trim() !== ''} cost={run.answer?.cost ?? null} />
      {run.answer !== null && (
        <List
          label={t('type.embeddings')}
          rows={run.answer.rows}
          rowId={({ index }) => index}
          empty={{ title: t('play.nothing') }}
          columns={[
            { id: 'line', title: t('play.text'), cell: ({ line }) => line },
            {
              id: 'vector',
              title: t('play.vector'),
              cell: ({ vector }) => (
                <Text span size="xs" className={layout.mono ?? ''}>
                  {vector
                    .slice(0, SHOWN_NUMBERS)
                    .map((value) => format.number(value, 4))
                    .join('  ')}{' '}
                  …
                </Text>
              ),
            },
            { id: 'size', title: t('play.dimensions'), end: true, cell: ({ vector }) => format.number(vector.length) },
            {
              id: 'near',
              title: t('play.nearness'),
              end: true,
              cell: ({ nearness: value }) => format.number(value, 4),
            },
          ]}
        />
      )}
    </Stack>
  )
}

/** Cosine of the angle between two vectors. */
function nearness(a: readonly number[], b: readonly number[]): number {
  const dot = (left: readonly number[], right: readonly number[]): number =>
    left.reduce((sum, value, index) => sum + value * (right[index] ?? 0), 0)
  const size = Math.sqrt(dot(a, a) * dot(b, b))
  return size === 0 ? 0 : dot(a, b) / size
}
