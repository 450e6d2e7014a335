import { Link, type LinkProps } from '@tanstack/react-router'
import { CheckIcon, WarningIcon } from './icons.ts'
import { Section } from './Page.tsx'
import { t } from './words.ts'

/** Something to look at, if its number is above 0, and the page where it can be fixed; null = the reader may not. */
export type Concern = readonly [count: number, text: string, to: LinkProps | null]

interface AttentionProps {
  readonly of: readonly Concern[]
  /** What is said if there is nothing; null = nothing, since not all is known, or other parts of the page say more. */
  readonly calm: string | null
}

/** What needs attention, one line each. */
export function Attention({ of, calm }: AttentionProps) {
  const needed = of.filter(([count]) => count > 0)
  if (needed.length === 0)
    return (
      calm !== null && (
        <p className="calm">
          <CheckIcon size={17} aria-hidden /> {calm}
        </p>
      )
    )
  return (
    <Section title={t('home.attention')}>
      <ul className="plain">
        {needed.map(([, text, link]) => (
          <li key={text}>
            <WarningIcon size={17} aria-hidden /> {link === null ? text : <Link {...link}>{text}</Link>}
          </li>
        ))}
      </ul>
    </Section>
  )
}
