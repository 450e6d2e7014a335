import { Group, Text, Title } from '@mantine/core'
import clsx from 'clsx'
import { type CSSProperties, Fragment, type ReactNode } from 'react'
import type { AccountLimit } from '../../../src/api/records/limits-contract.ts'
import { Money } from './cells.tsx'
import { format, t } from './words.ts'
import { useTitle } from '../session.tsx'

export interface PageProps {
  readonly title: string
  readonly lead?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}

/** A page: its heading, its purpose, its actions and its content. It also sets the title of the browser's tab. */
export function Page({ title, lead, actions, children }: PageProps) {
  useTitle(title)
  return (
    <div className="page">
      <div className="page-head">
        <div>
          <Title order={1}>{title}</Title>
          {lead !== undefined && (
            <Text c="dimmed" mt={4} className="page-lead" component="div">
              {lead}
            </Text>
          )}
        </div>
        {actions !== undefined && (
          <Group gap="xs" className="off-paper">
            {actions}
          </Group>
        )}
      </div>
      {children}
    </div>
  )
}

interface SectionProps {
  readonly title: string
  readonly lead?: ReactNode
  readonly actions?: ReactNode
  /** A box around what is filled in and sent together. Figures and lists have no box. */
  readonly boxed?: boolean
  readonly children: ReactNode
}

export function Section({ title, lead, actions, boxed = false, children }: SectionProps) {
  return (
    <section className={boxed ? 'box' : 'section'}>
      <Group justify="space-between" mb="md" gap="sm" align="flex-start">
        <div>
          <Title order={2} size="h4">
            {title}
          </Title>
          {lead !== undefined && (
            <Text size="sm" c="dimmed" mt={2} component="div">
              {lead}
            </Text>
          )}
        </div>
        {actions}
      </Group>
      {children}
    </section>
  )
}

/** Names with their values, one per line. Empty values are left out. */
export function Facts({ items }: { readonly items: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="facts">
      {items
        .filter(([, value]) => value !== null && value !== '')
        .map(([name, value]) => (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </Fragment>
        ))}
    </dl>
  )
}

/** The assumed length of a value that is not a text. */
const CHARACTERS = 10

interface TileProps {
  readonly label: string
  readonly value?: ReactNode
  /** An amount as its value. */
  readonly money?: number
  readonly note?: ReactNode
  /** The main figure of the page: it comes first, and is larger than the others. */
  readonly lead?: boolean
}

/** One important number, with its name above and its meaning below. */
export function Tile({
  label,
  money,
  value = money === undefined ? null : <Money of={money} />,
  note,
  lead = false,
}: TileProps) {
  const text = money === undefined ? value : format.money(money)
  // A long value is smaller, so that it fits on its line. The type CSSProperties does not have custom properties.
  const style = { '--characters': typeof text === 'string' ? text.length : CHARACTERS } as CSSProperties
  return (
    <div className="tile" data-lead={lead}>
      <div className="tile-name">{label}</div>
      <div className="tile-fitted" style={style}>
        <div className="tile-value">{value}</div>
      </div>
      {note !== undefined && <div className="tile-note">{note}</div>}
    </div>
  )
}

const HIGH = 0.8

interface LimitBarProps {
  readonly share: number
  readonly label: string
  readonly plain?: boolean
}

/** A bar of the used share, 0 to 1. From 80% on it has a warning colour, unless it is `plain`. */
export function LimitBar({ share, label, plain = false }: LimitBarProps) {
  const shown = Math.max(0, Math.min(1, share))
  // The type CSSProperties does not have custom properties.
  const style = { '--share': shown } as CSSProperties
  return (
    <div
      className="limit-bar"
      role="meter"
      aria-valuenow={Math.round(shown * 100)}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-label={label}
      title={label}
    >
      <div className="limit-track">
        <div
          className={clsx('limit-fill', !plain && (shown >= 1 ? 'limit-full' : shown >= HIGH && 'limit-high'))}
          style={style}
        />
      </div>
    </div>
  )
}

/** How much of the account's common limit of all keys is used, and when it starts again. */
export function SpendingLimitTile({ of }: { readonly of: AccountLimit }) {
  const { limit, limit_reset: reset, limit_used: used, limit_resets_at: resetsAt } = of
  if (limit === null || used === null) return null
  const text = t('limits.used_of', { used: format.money(used), limit: format.money(limit) })
  return (
    <Tile
      label={reset === null ? t('limits.total') : t(`limits.${reset}`)}
      money={used}
      note={
        <>
          <LimitBar share={limit === 0 ? 1 : used / limit} label={text} />
          <div>{t('limits.of', { limit: format.money(limit) })}</div>
          {resetsAt !== null && <div>{t('limits.resets', { when: format.moment(resetsAt) })}</div>}
        </>
      }
    />
  )
}
