import { Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { RequestStory } from '../../../../src/cabinet/log-contract.ts'
import { List } from '../../parts/List.tsx'
import { useFormat } from '../../parts/use-format.ts'

/** Units × price = cost, line by line, and the one rounding at the end. Exact decimals are shown as they are. */
export function Bill({ story }: { readonly story: RequestStory }): ReactNode {
  const { t } = useTranslation()
  const format = useFormat()
  return (
    <>
      <List
        label={t('request.bill')}
        rows={story.bill}
        rowId={({ meter }) => meter}
        empty={{ title: t('request.no_bill') }}
        columns={[
          { id: 'meter', title: t('request.meter'), cell: ({ meter }) => t(`meter.${meter}`) },
          { id: 'units', title: t('request.units'), end: true, cell: ({ units }) => format.number(units, 3) },
          { id: 'price', title: t('request.price'), end: true, cell: ({ price }) => exact(price, format.locale) },
          { id: 'cost', title: t('usage.cost'), end: true, cell: ({ cost }) => exact(cost, format.locale) },
        ]}
      />
      {story.bill_total !== null && (
        <Text size="sm" mt="sm" ta="end">
          {t('request.rounded', { exact: exact(story.bill_total, format.locale), charged: format.money(story.cost) })}
        </Text>
      )}
    </>
  )
}

/** A decimal with all its digits and the reader's decimal mark. */
function exact(decimal: string, locale: string): string {
  return locale.startsWith('ru') ? `${decimal.replace('.', ',')} ₽` : `₽${decimal}`
}
