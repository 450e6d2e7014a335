import { Stack, Text, Textarea, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { type Column, List } from '../../parts/List.tsx'
import { format, t } from '../../parts/words.ts'
import { costOf, fieldOf, listOf, playgroundAnswer, RunBar, type TabProps, useRun } from './run.tsx'

interface LinesTabProps<Row> {
  readonly keyId: string
  readonly path: string
  readonly bodyOf: (lines: readonly string[]) => object
  readonly rowsOf: (answer: unknown, lines: readonly string[]) => readonly Row[]
  readonly columns: readonly Column<Row & { readonly index: number }>[]
  /** The accessible name of the list of results. */
  readonly label: string
  readonly linesLabel?: string
  /** Whether the other fields are filled. */
  readonly ready?: boolean
  /** The other fields. */
  readonly children?: ReactNode
}

/** Any number of lines of text for a model, and one row of its answer for each. */
function LinesTab<Row>({
  keyId,
  path,
  bodyOf,
  rowsOf,
  columns,
  label,
  linesLabel,
  ready = true,
  children,
}: LinesTabProps<Row>) {
  const [text, setText] = useState('')
  const run = useRun(async (signal) => {
    const lines = text.split('\n').filter((line) => line.trim() !== '')
    const answer = await playgroundAnswer(keyId, path, bodyOf(lines), signal)
    return { cost: costOf(answer), rows: rowsOf(answer, lines).map((row, index) => ({ ...row, index })) }
  })
  return (
    <Stack>
      {children}
      <Textarea
        label={linesLabel ?? t('play.lines')}
        description={t('play.lines_hint')}
        autosize
        minRows={4}
        value={text}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
      />
      <RunBar run={run} ready={ready && text.trim() !== ''} cost={run.answer?.cost ?? null} />
      {run.answer !== null && (
        <List
          label={label}
          rows={run.answer.rows}
          rowId={({ index }) => index}
          empty={{ picture: 'talk', title: t('play.nothing') }}
          columns={columns}
        />
      )}
    </Stack>
  )
}

const SHOWN_NUMBERS = 4

/** Vectors for lines of text, and the similarity of each to the first. */
export function EmbeddingsTab({ keyId, modelId }: TabProps) {
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
            <Text span size="xs" className="mono">
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

/** Documents in the order of how well they answer a question. */
export function RerankTab({ keyId, modelId }: TabProps) {
  const [query, setQuery] = useState('')
  return (
    <LinesTab
      keyId={keyId}
      path="rerank"
      label={t('type.rerank')}
      linesLabel={t('play.documents')}
      ready={query.trim() !== ''}
      bodyOf={(documents) => ({ model: modelId, query, documents })}
      rowsOf={(answer, documents) =>
        listOf(fieldOf(answer, 'results')).map((item) => ({
          line: documents[Number(fieldOf(item, 'index'))] ?? '',
          score: Number(fieldOf(item, 'relevance_score')),
        }))
      }
      columns={[
        { id: 'place', title: '№', cell: ({ index }) => index + 1 },
        { id: 'line', title: t('play.document'), cell: ({ line }) => line },
        { id: 'score', title: t('play.score'), end: true, cell: ({ score }) => format.number(score, 4) },
      ]}
    >
      <TextInput
        label={t('play.query')}
        value={query}
        onChange={({ currentTarget }) => setQuery(currentTarget.value)}
      />
    </LinesTab>
  )
}

/** The moderation result for each line: the flagged categories, and the highest score. */
export function ModerationTab({ keyId, modelId }: TabProps) {
  return (
    <LinesTab
      keyId={keyId}
      path="moderations"
      label={t('type.moderation')}
      bodyOf={(input) => ({ model: modelId, input })}
      rowsOf={(answer, lines) =>
        listOf(fieldOf(answer, 'results')).map((result, index) => ({
          line: lines[index] ?? '',
          flags: entriesOf(fieldOf(result, 'categories')).flatMap(([name, flagged]) =>
            flagged === true ? [name] : [],
          ),
          score: Math.max(0, ...entriesOf(fieldOf(result, 'category_scores')).map(([, score]) => Number(score))),
        }))
      }
      columns={[
        { id: 'line', title: t('play.text'), cell: ({ line }) => line },
        {
          id: 'flags',
          title: t('play.flags'),
          cell: ({ flags }) => (flags.length === 0 ? t('play.no_flags') : flags.join(', ')),
        },
        { id: 'score', title: t('play.score'), end: true, cell: ({ score }) => format.number(score, 4) },
      ]}
    />
  )
}

function entriesOf(value: unknown): readonly (readonly [string, unknown])[] {
  return typeof value === 'object' && value !== null ? Object.entries(value) : []
}
