import { Group } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import type { ModelEntry } from '../../../../src/api/admin/catalog-contract.ts'
import { useRead } from '../../api/hooks.ts'
import { Note, Press } from '../../parts/cells.tsx'
import { format, t } from '../../parts/words.ts'
import { draftOf } from './model-draft.ts'

const TYPING_MS = 250
const LINES_MAX = 2

interface KnownProps {
  readonly of: ModelEntry
  /** The day of its prices. */
  readonly day?: string
  readonly use: () => void
}

/** The prices of a known model in one line, and a button that takes them with its limits. */
export function KnownModel({ of, day, use }: KnownProps) {
  const [known] = draftOf(of).endpoints
  if (known === undefined) return null
  const { tiers } = known.conditions.cost
  const steps = Array.isArray(tiers) ? tiers.map(({ above }) => t('connect.step', { above: format.number(above) })) : []
  const prices = known.lines.slice(0, LINES_MAX).map(({ cost }) => format.cost(cost, known.currency))
  return (
    <Group gap="xs">
      <Note size="xs" span>
        {t('connect.alike', { model: of.id, prices: [prices.join(' / '), ...steps].join(', ') })}
        {day !== undefined && ` · ${t('prices.known_day', { day: format.date(day) })}`}
      </Note>
      <Press size="compact-xs" variant="light" onClick={use} text={t('connect.use')} />
    </Group>
  )
}

/** What is known of a model whose id is typed; nothing until there is a name. */
export function KnownOf({ id, use }: { readonly id: string; readonly use: (known: ModelEntry) => void }) {
  const [model] = useDebouncedValue(id.trim(), TYPING_MS)
  const known = useRead('GET /admin/v1/catalog/known', { query: { model } }, { enabled: model !== '' }).data
  const [first] = known?.data ?? []
  if (known === undefined || first === undefined) return null
  return <KnownModel of={first} day={known.day} use={() => use(first)} />
}
