import { Alert, Button, Group, JsonInput, type JsonInputProps } from '@mantine/core'
import clsx from 'clsx'
import type { ReactNode } from 'react'
import type { CatalogChange } from '../../../../src/api/admin/catalog-contract.ts'
import { LOSSES, type CatalogWarning } from '../../../../src/catalog/catalog-warning.ts'
import { useRead } from '../../api/hooks.ts'
import { useCan } from '../../parts/Can.tsx'
import { Failed } from '../../parts/Loaded.tsx'
import { paramTexts } from '../../parts/failure-text.ts'
import { t } from '../../parts/words.ts'
import { Press } from '../../parts/cells.tsx'

/** The style of a line of a diff, by its first character. */
const LOOKS: ReadonlyMap<string, string> = new Map([
  ['+', 'added'],
  ['-', 'removed'],
  ['~', 'changed'],
])

/** Reads that a change of the catalogue makes out of date. */
export const CATALOG_RENEWS = [
  'GET /admin/v1/catalog',
  'GET /admin/v1/catalog/warnings',
  'GET /admin/v1/models',
  'GET /cabinet/v1/models',
] as const

const WARNINGS_MAX = 8

/** Entries of the catalogue that may be mistakes: sold at a loss, or not at all. */
export function CatalogWarnings({ warnings }: { readonly warnings: readonly CatalogWarning[] }) {
  if (warnings.length === 0) return null
  const more = warnings.length - WARNINGS_MAX
  return (
    <Alert
      color={warnings.some(({ warning }) => LOSSES.has(warning)) ? 'red' : 'yellow'}
      role="status"
      title={t('catalog.warnings')}
    >
      <ul className="bullets">
        {warnings.slice(0, WARNINGS_MAX).map(({ warning, message, params }) => (
          <li key={`${warning} ${message}`}>
            {t(`catalog_warning.${warning}`, {
              replace: { ...paramTexts(params), ...('key' in params ? { key: t(`price.${params.key}`) } : {}) },
            })}
          </li>
        ))}
      </ul>
      {more > 0 && t('failure.problems_more', { count: more })}
    </Alert>
  )
}

/** The warnings of the current catalogue; none while they cannot be loaded, since the page is useful without them. */
export function useCatalogWarnings(): readonly CatalogWarning[] {
  const enabled = useCan()('GET /admin/v1/catalog/warnings')
  return useRead('GET /admin/v1/catalog/warnings', {}, { enabled }).data?.data ?? []
}

interface DifferenceProps {
  readonly change: CatalogChange
  readonly apply: () => void
  readonly busy: boolean
  /** Selects the warnings that concern this change; the answer has those of the whole document. */
  readonly concerns: (warning: CatalogWarning) => boolean
}

/** The changes, one per line, then the warnings and the button that applies the changes. */
export function Difference({ change, apply, busy, concerns }: DifferenceProps) {
  if (change.changes.length === 0)
    return (
      <Alert color="gray" role="status">
        {t('catalog.same')}
      </Alert>
    )
  return (
    <>
      <div
        className={clsx('code', 'difference')}
        tabIndex={0}
        role="region"
        lang="en"
        aria-label={t('catalog.difference')}
      >
        {change.changes.map((line) => (
          <div key={line} className={LOOKS.get(line.charAt(0))}>
            {line}
          </div>
        ))}
      </div>
      <CatalogWarnings warnings={change.warnings?.filter(concerns) ?? []} />
      <Group justify="flex-end" mt="md">
        <Press loading={busy} onClick={apply} text={t('catalog.apply', { count: change.changes.length })} />
      </Group>
    </>
  )
}

interface Call<Made> {
  readonly data: Made | undefined
  readonly error: Error | null
  readonly isPending: boolean
}

interface ComparedProps extends Pick<DifferenceProps, 'apply' | 'concerns'> {
  readonly look: Call<CatalogChange>
  readonly put: Call<unknown>
  /** Whether there is anything to compare. */
  readonly ready: boolean
  /** Requests the diff; absent = submitting the surrounding form does. */
  readonly compare?: () => void
  readonly beside?: ReactNode
}

/** A button that shows what would change; then the diff, with the button that applies it. */
export function Compared({ look, put, ready, compare, beside, apply, concerns }: ComparedProps) {
  const failure = look.error ?? put.error
  return (
    <>
      {failure !== null && <Failed failure={failure} />}
      <Group justify="space-between">
        {beside ?? <span />}
        <Button
          type={compare === undefined ? 'submit' : 'button'}
          disabled={!ready}
          loading={look.isPending}
          variant={look.data === undefined ? 'filled' : 'default'}
          onClick={compare}
        >
          {t('catalog.compare')}
        </Button>
      </Group>
      {look.data !== undefined && ready && (
        <Difference change={look.data} busy={put.isPending} concerns={concerns} apply={apply} />
      )}
    </>
  )
}

/** A part of the catalogue in the format of its file. */
export function JsonField({ isWrong, ...props }: JsonInputProps & { readonly isWrong: boolean }) {
  return (
    <JsonInput
      autosize
      maxRows={24}
      error={isWrong ? t('prices.no_json') : null}
      styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
      {...props}
    />
  )
}
