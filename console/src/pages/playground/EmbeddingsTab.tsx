import { Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useFormat } from '../../parts/use-format.ts'
import layout from '../../style/layout.module.css'
import { LinesTab } from './LinesTab.tsx'
import { fieldOf, listOf } from './playground-call.ts'
import type { TabProps } from './tab.ts'

const SHOWN_NUMBERS = 4

/** Vectors for lines of text, and the similarity of each to the first. */
export function EmbeddingsTab({ keyId, modelId }: TabProps): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  return (
    <LinesTab
      keyId={keyId}
      path="embeddings"
      label={t('type.embeddings')}
      bodyOf={(input) => ({ model: modelId, input })}
      rowsOf={rowsOf}
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
        { id: 'near', title: t('play.nearness'), end: true, cell: ({ nearness: value }) => format.number(value, 4) },
      ]}
    />
  )
}

function rowsOf(answer: unknown, lines: readonly string[]) {
  const vectors = listOf(fieldOf(answer, 'data')).map((item) => listOf(fieldOf(item, 'embedding')).map(Number))
  return vectors.map((vector, index) => ({
    line: lines[index] ?? '',
    vector,
    nearness: nearness(vectors[0] ?? [], vector),
  }))
}

/** Cosine of the angle between two vectors. */
function nearness(a: readonly number[], b: readonly number[]): number {
  const dot = (left: readonly number[], right: readonly number[]): number =>
    left.reduce((sum, value, index) => sum + value * (right[index] ?? 0), 0)
  const size = Math.sqrt(dot(a, a) * dot(b, b))
  return size === 0 ? 0 : dot(a, b) / size
}
