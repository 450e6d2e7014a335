import { Fragment, type ReactNode } from 'react'
import css from '../style/layout.module.css'

/** Names and their values, one line each; what is null is left out. */
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
