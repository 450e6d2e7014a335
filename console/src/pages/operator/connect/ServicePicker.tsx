import { clsx } from 'clsx'
import { Button } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { PlusIcon } from '../../../parts/icons.ts'
import css from './connect.module.css'
import { ProviderMark } from './ProviderMark.tsx'
import { OWN, SERVICES } from './services.ts'

export interface ServicePickerProps {
  readonly chosen: string | null
  /** Slugs of the providers that the catalogue has. */
  readonly connected: ReadonlySet<string>
  readonly choose: (slug: string) => void
}

/** Every service that Tollgate knows, and any other. */
export function ServicePicker({ chosen, connected, choose }: ServicePickerProps): ReactNode {
  const { t } = useTranslation()
  const [isOpen, setOpen] = useState(true)
  const pick = (slug: string): void => {
    setOpen(false)
    choose(slug)
  }
  const shown = isOpen ? SERVICES : SERVICES.filter(({ slug }) => slug === chosen)
  return (
    <div className={css.services} role="group" aria-label={t('connect.pick')}>
      {shown.map(({ slug, name, isKnown }) => (
        <button
          key={slug}
          type="button"
          className={clsx(css.service)}
          aria-pressed={chosen === slug}
          onClick={() => (isOpen ? pick(slug) : setOpen(true))}
        >
          <ProviderMark slug={slug} name={name} />
          <span className={css.names}>
            <span>{name}</span>
            <span className={css.note}>
              {connected.has(slug) ? t('connect.connected') : isKnown ? t('connect.with_prices') : t('connect.by_hand')}
            </span>
          </span>
        </button>
      ))}
      {(isOpen || chosen === OWN.slug) && (
        <button
          type="button"
          className={clsx(css.service, css.own)}
          aria-pressed={chosen === OWN.slug}
          onClick={() => (isOpen ? pick(OWN.slug) : setOpen(true))}
        >
          <span className={css.mark} aria-hidden>
            <PlusIcon size={18} />
          </span>
          <span className={css.names}>
            <span>{t('connect.own')}</span>
            <span className={css.note}>{t('connect.own_note')}</span>
          </span>
        </button>
      )}
      {!isOpen && (
        <Button variant="subtle" className={css.other ?? ''} onClick={() => setOpen(true)}>
          {t('connect.other')}
        </Button>
      )}
    </div>
  )
}
