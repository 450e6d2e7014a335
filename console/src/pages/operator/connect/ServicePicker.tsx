import { Button } from '@mantine/core'
import { clsx } from 'clsx'
import { type ReactNode, useState } from 'react'
import { adapters, knownProviders, type KnownService } from 'virtual:adapters'
import { PlusIcon } from '../../../parts/icons.ts'
import { useWords } from '../../../parts/words.ts'
import { ProviderMark } from './ProviderMark.tsx'
import css from './connect.module.css'

export interface ServicePickerProps {
  readonly chosen: string | null
  /** Slugs of the providers that the catalogue has. */
  readonly connected: ReadonlySet<string>
  readonly choose: (slug: string) => void
}

/** Every service that Tollgate knows, and any other. */
export function ServicePicker({ chosen, connected, choose }: ServicePickerProps): ReactNode {
  const { t } = useWords()
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
            <span className="small">
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
            <span className="small">{t('connect.own_note')}</span>
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

export interface Service extends KnownService {
  /** One of those whose prices come with Tollgate. */
  readonly isKnown: boolean
  /** The operator names it. */
  readonly isOwn: boolean
}

const OTHERS: readonly (readonly [slug: string, name: string])[] = [
  ['bedrock', 'Amazon Bedrock'],
  ['yandex', 'YandexGPT'],
  ['elevenlabs', 'ElevenLabs'],
  ['deepgram', 'Deepgram'],
  ['replicate', 'Replicate'],
  ['ollama', 'Ollama'],
]

const addressOf = (adapter: string): string => adapters.find(([name]) => name === adapter)?.[1].baseUrl ?? ''

/** Services with a name, in the order in which they are shown. */
export const SERVICES: readonly Service[] = [
  ...knownProviders.map((service) => ({ ...service, isKnown: true, isOwn: false })),
  ...OTHERS.map(([slug, name]) => ({
    slug,
    name,
    adapter: slug,
    baseUrl: addressOf(slug),
    cancelStopsBilling: false,
    isKnown: false,
    isOwn: false,
  })),
]

/** Any service that speaks a protocol that we know. */
export const OWN: Service = {
  slug: 'own',
  name: '',
  adapter: 'openai',
  baseUrl: '',
  cancelStopsBilling: false,
  isKnown: false,
  isOwn: true,
}

/** Protocols that an address of the operator may speak; the rest have a service of their own. */
export const OWN_ADAPTERS = ['openai', 'anthropic', 'gemini', 'cohere', 'ollama'] as const
