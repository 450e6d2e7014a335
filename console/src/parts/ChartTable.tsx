import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { Figures } from './chart-figures.ts'
import css from './day-chart.module.css'

interface ChartTableProps {
  readonly label: string
  readonly figures: Figures
  readonly startsOpen: boolean
}

/** The figures of a chart as a table, the newest first. Its rows are made when it is opened. */
export function ChartTable({
  label,
  figures: { days, rows, series, nameOf, valueText },
  startsOpen,
}: ChartTableProps): ReactNode {
  const { t } = useTranslation()
  const [isOpen, setIsOpen] = useState(startsOpen)
  const order = days.map((day, index) => ({ day, values: rows[index] ?? [] })).toReversed()
  return (
    <details className={css.data} open={isOpen} onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>{t('chart.table')}</summary>
      {isOpen && (
        <div className={css.scroll} tabIndex={0} role="region" aria-label={label}>
          <table>
            <thead>
              <tr>
                <th scope="col">{t('chart.when')}</th>
                {series.map(({ name, label: title }) => (
                  <th key={name} scope="col">
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {order.map(({ day, values }) => (
                <tr key={day}>
                  <th scope="row">{nameOf(day)}</th>
                  {series.map(({ name }, number) => (
                    <td key={name}>{valueText(values[number] ?? 0)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </details>
  )
}
