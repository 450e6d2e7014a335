import clsx from 'clsx'
import type { CSSProperties, ReactNode } from 'react'
import css from '../style/bar.module.css'

const HIGH = 0.8

/** A bar of the used share, 0 to 1. It warns from 80% on, unless it is `plain`. */
export function LimitBar({
  share,
  label,
  plain = false,
}: {
  readonly share: number
  readonly label: string
  readonly plain?: boolean
}): ReactNode {
  const shown = Math.max(0, Math.min(1, share))
  // The type CSSProperties does not have custom properties.
  const style = { '--share': shown } as CSSProperties
  return (
    <div
      className={css.bar}
      role="meter"
      aria-valuenow={Math.round(shown * 100)}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-label={label}
      title={label}
    >
      <div className={css.track}>
        <div className={clsx(css.fill, !plain && (shown >= 1 ? css.full : shown >= HIGH && css.high))} style={style} />
      </div>
    </div>
  )
}
