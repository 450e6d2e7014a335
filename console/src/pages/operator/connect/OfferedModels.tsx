import { isFound } from '../../../../../src/base/search-words.ts'
import { Checkbox, Group, Select } from '@mantine/core'
import { useState } from 'react'
import { Pager } from '../../../parts/DataList.tsx'
import { SearchField } from '../../../parts/Filters.tsx'
import { List } from '../../../parts/List.tsx'
import { NumberField } from '../../../parts/NumberField.tsx'
import { Section } from '../../../parts/Page.tsx'
import { Note, StatusBadge, Press } from '../../../parts/cells.tsx'
import { MODEL_TYPES } from '../../../../../src/tables/model-types.ts'
import { format, t } from '../../../parts/words.ts'
import { priceName } from '../../models/PriceLines.tsx'
import { KnownModel } from '../KnownModel.tsx'
import { MarkupField } from '../MarkupField.tsx'
import { MissingRates } from '../Rates.tsx'
import type { Selling } from '../ModelForm.tsx'
import { isDecimal, isGuess } from '../model-draft.ts'
import {
  type Choice,
  isPriced,
  linesOf,
  withAlike,
  withContext,
  withCurrency,
  withLine,
  withType,
} from './connect-draft.ts'
import css from './connect.module.css'

const PAGE_ROWS = 25
const LINES_MAX = 2
const PRICE_DECIMALS = 12

interface OfferedModelsProps {
  readonly choices: readonly Choice[]
  readonly selling: Selling
  /** The rule as it is typed; empty = the default of the service. */
  readonly markup: string
  readonly setMarkup: (markup: string) => void
  readonly change: (choices: readonly Choice[]) => void
}

/** The models of a provider with their costs and selling prices; a model without a known price has fields for it. */
export function OfferedModels({ choices, selling, markup, setMarkup, change }: OfferedModelsProps) {
  const [text, setText] = useState('')
  const [offset, setOffset] = useState(0)
  const hasList = choices.some(({ offered }) => offered.listed)
  // Models that the provider does not list are not served.
  const present = choices.filter(({ offered, chosen }) => offered.listed || chosen || !hasList)
  const found = present.filter(({ offered: { entry } }) =>
    isFound(text, entry.id, entry.name, entry.endpoints[0]?.model),
  )
  const shown = new Set(found.map(({ offered }) => offered.entry.id))
  const choose = (chosen: boolean): void =>
    change(
      choices.map((choice) =>
        shown.has(choice.offered.entry.id) && (!chosen || isPriced(choice)) ? { ...choice, chosen } : choice,
      ),
    )
  const set = (next: Choice): void =>
    change(choices.map((choice) => (choice.offered.entry.id === next.offered.entry.id ? next : choice)))
  return (
    <Section
      title={t('connect.models')}
      lead={t('connect.models_lead')}
      actions={
        <Group gap="xs">
          <Press size="xs" variant="default" onClick={() => choose(true)} text={t('connect.choose_priced')} />
          <Press size="xs" variant="default" onClick={() => choose(false)} text={t('connect.choose_none')} />
        </Group>
      }
    >
      <MissingRates currencies={unrated(choices, selling)} />
      <div className={css.search}>
        <SearchField
          value={text}
          change={(value) => {
            setOffset(0)
            setText(value)
          }}
        />
        <MarkupField value={markup} onChange={setMarkup} />
      </div>
      <ChoiceList choices={found.slice(offset, offset + PAGE_ROWS)} hasList={hasList} selling={selling} set={set} />
      <Pager offset={offset} size={PAGE_ROWS} total={found.length} go={setOffset} />
    </Section>
  )
}

/** The currencies of the chosen models that cannot be converted to rubles. */
export function unrated(choices: readonly Choice[], { rates }: Selling): readonly string[] {
  const used = choices.filter(({ chosen }) => chosen).flatMap(({ draft }) => draft.endpoints.map((one) => one.currency))
  return [...new Set(used)].filter((currency) => !rates.has(currency))
}

interface ChoiceListProps {
  readonly choices: readonly Choice[]
  readonly hasList: boolean
  readonly selling: Selling
  readonly set: (choice: Choice) => void
}

/** A list in a form, whose rows have fields. */
function ChoiceList({ choices, hasList, selling, set }: ChoiceListProps) {
  return (
    <List
      label={t('connect.models')}
      rows={choices}
      rowId={({ offered }) => offered.entry.id}
      empty={{ picture: 'model', title: t('models.none') }}
      columns={[
        {
          id: 'model',
          title: t('usage.model'),
          cell: (choice) => <ModelChoice choice={choice} hasList={hasList} set={set} />,
        },
        {
          id: 'context',
          title: t('prices.context_short'),
          end: true,
          cell: (choice) => <Context choice={choice} set={set} />,
        },
        {
          id: 'cost',
          title: t('connect.cost'),
          end: true,
          cell: (choice) =>
            choice.chosen && !choice.offered.bundled ? (
              <PriceFields choice={choice} currencies={[...selling.rates.keys()]} set={set} />
            ) : (
              <Costs choice={choice} />
            ),
        },
        {
          id: 'price',
          title: t('connect.price'),
          end: true,
          cell: (choice) => <Sells choice={choice} selling={selling} />,
        },
        {
          id: 'margin',
          title: t('prices.margin'),
          end: true,
          cell: (choice) => (isPriced(choice) ? format.percent(marginOf(selling)) : '–'),
        },
      ]}
    />
  )
}

/** Every price is the cost × the markup, so all have one margin. */
export function marginOf({ markup }: Selling): number {
  return (markup - 1) / markup
}

interface ModelChoiceProps {
  readonly choice: Choice
  readonly hasList: boolean
  readonly set: (choice: Choice) => void
}

function ModelChoice({ choice, hasList, set }: ModelChoiceProps) {
  const { offered, chosen } = choice
  const { entry } = offered
  const upstream = entry.endpoints[0]?.model ?? entry.id
  return (
    <>
      <Checkbox
        checked={chosen}
        onChange={({ currentTarget }) => set({ ...choice, chosen: currentTarget.checked })}
        label={
          <span className={css.model}>
            <span>{entry.name ?? upstream}</span>
            <span className="mono">{entry.id}</span>
          </span>
        }
        description={
          <>
            {!offered.listed && hasList && <StatusBadge tone="warn">{t('connect.unlisted')}</StatusBadge>}
            {offered.listed && !offered.bundled && <StatusBadge tone="quiet">{t('connect.unpriced')}</StatusBadge>}
            {!offered.bundled && !chosen && (
              <StatusBadge tone="quiet">
                {t('connect.guessed_type', { type: t(`type.${choice.draft.type}`) })}
              </StatusBadge>
            )}
            {offered.exists && <StatusBadge tone="quiet">{t('connect.exists')}</StatusBadge>}
          </>
        }
        classNames={{ description: css.badges ?? '' }}
      />
      {offered.bundled ? null : chosen ? (
        <Select
          size="xs"
          w={220}
          ms={34}
          aria-label={t('connect.type_of', { model: entry.id })}
          data={MODEL_TYPES.map((type) => ({ value: type, label: t(`type.${type}`) }))}
          value={choice.draft.type}
          onChange={(value) => {
            const type = MODEL_TYPES.find((known) => known === value)
            if (type !== undefined) set(withType(choice, type))
          }}
        />
      ) : null}
      <div className={css.alike}>
        <Alike choice={choice} set={set} />
      </div>
    </>
  )
}

/** The context of the model; a guess says that it is one, and can be replaced. */
function Context({ choice, set }: Pick<PriceFieldsProps, 'choice' | 'set'>) {
  const { draft, chosen, offered } = choice
  const guess = isGuess(draft, 'context_length') && <Note size="xs">{t('prices.guess')}</Note>
  if (!chosen || offered.bundled)
    return (
      <>
        {draft.context === '' ? '–' : format.number(Number(draft.context))}
        {guess}
      </>
    )
  return (
    <NumberField
      size="xs"
      className={css.context ?? ''}
      aria-label={t('connect.context_of', { model: draft.id })}
      decimals={0}
      least={1}
      value={draft.context}
      onChange={(context) => set(withContext(choice, context))}
      error={guess || null}
    />
  )
}

/** What the bundled catalogue knows of a model of this name. */
function Alike({ choice, set }: Pick<PriceFieldsProps, 'choice' | 'set'>) {
  const { alike } = choice.offered
  if (alike === undefined || choice.draft.endpoints.some(({ lines }) => lines.some(({ cost }) => cost !== '')))
    return null
  return <KnownModel of={alike} use={() => set(withAlike(choice))} />
}

function Costs({ choice }: { readonly choice: Choice }) {
  const lines = linesOf(choice)
  const currency = choice.draft.endpoints[0]?.currency ?? 'RUB'
  if (!isPriced(choice)) return '–'
  return (
    <div className={css.lines}>
      {lines.slice(0, LINES_MAX).map(({ meter, variant, cost }) => (
        <span key={`${meter} ${variant ?? ''}`}>
          <span className="small">{priceName(meter)}</span> {format.cost(cost, currency)}
        </span>
      ))}
      {lines.length > LINES_MAX && (
        <span className="small" title={lines.map(({ meter, cost }) => `${priceName(meter)}: ${cost}`).join('\n')}>
          +{lines.length - LINES_MAX}
        </span>
      )}
    </div>
  )
}

function Sells({ choice, selling }: { readonly choice: Choice; readonly selling: Selling }) {
  const rate = selling.rates.get(choice.draft.endpoints[0]?.currency ?? 'RUB')
  if (rate === undefined) return '–'
  return (
    <div className={css.lines}>
      {linesOf(choice)
        .slice(0, LINES_MAX)
        .map(({ meter, variant, cost }) => (
          <span key={`${meter} ${variant ?? ''}`}>
            {isDecimal(cost) ? format.price(Number(cost) * rate * selling.markup) : '–'}
          </span>
        ))}
    </div>
  )
}

interface PriceFieldsProps {
  readonly choice: Choice
  readonly currencies: readonly string[]
  readonly set: (choice: Choice) => void
}

function PriceFields({ choice, currencies, set }: PriceFieldsProps) {
  const currency = choice.draft.endpoints[0]?.currency ?? 'RUB'
  const { id } = choice.offered.entry
  return (
    <div className={css.prices}>
      {linesOf(choice).map(({ meter, cost }, index) => (
        <NumberField
          key={meter}
          size="xs"
          aria-label={t('connect.price_of', { price: priceName(meter), model: id })}
          placeholder={priceName(meter)}
          decimals={PRICE_DECIMALS}
          least={0}
          value={cost}
          onChange={(value) => set(withLine(choice, index, value))}
        />
      ))}
      <Select
        size="xs"
        aria-label={t('connect.currency_of', { model: id })}
        data={[...new Set([...currencies, currency])]}
        value={currency}
        onChange={(value) => value !== null && set(withCurrency(choice, value))}
      />
    </div>
  )
}
