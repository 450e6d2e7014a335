import clsx from 'clsx'
import type { CSSProperties, ReactNode } from 'react'
import css from '../style/bar.module.css'

const HIGH = 0.8

/** How much of a whole is used, 0 to 1; warns from 80 % unless it is a plain share. */
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
  // A custom property is no property of CSSProperties.
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
