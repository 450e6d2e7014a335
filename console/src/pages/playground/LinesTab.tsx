import { Stack, Textarea } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { List, type Column } from '../../parts/List.tsx'
import { costOf, playgroundAnswer } from './playground-call.ts'
import { RunBar } from './RunBar.tsx'
import { useRun } from './use-run.ts'

export interface LinesTabProps<Row> {
  readonly keyId: string
  readonly path: string
  readonly bodyOf: (lines: readonly string[]) => object
  readonly rowsOf: (answer: unknown, lines: readonly string[]) => readonly Row[]
  readonly columns: readonly Column<Row & { readonly index: number }>[]
  /** The name of the list of answers. */
  readonly label: string
  readonly linesLabel?: string
  /** Whether the other fields are filled. */
  readonly ready?: boolean
  /** The other fields. */
  readonly children?: ReactNode
}

/** Lines of text for a model, and a row of its answer for each: as many as somebody typed. */
export function LinesTab<Row>({
  keyId,
  path,
  bodyOf,
  rowsOf,
  columns,
  label,
  linesLabel,
  ready = true,
  children,
}: LinesTabProps<Row>): ReactNode {
  const { t } = useTranslation()
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
