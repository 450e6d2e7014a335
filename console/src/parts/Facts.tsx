import { Fragment, type ReactNode } from 'react'
import css from '../style/layout.module.css'

/** Names with their values, a line each. Empty values are left out. */
export function Facts({
  items,
}: {
  readonly items: readonly (readonly [name: string, value: ReactNode])[]
}): ReactNode {
  return (
    <dl className={css.facts}>
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
