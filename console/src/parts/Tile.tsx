import type { CSSProperties, ReactNode } from 'react'
import css from '../style/layout.module.css'

/** Characters of a value whose text is not known here. */
const CHARACTERS = 10

export interface TileProps {
  readonly label: string
  readonly value: ReactNode
  readonly note?: ReactNode
  /** The figure that the page is about: it stands first, and larger than the others. */
  readonly lead?: boolean
}

/** One important number, with its name above and its meaning below. */
export function Tile({ label, value, note, lead = false }: TileProps): ReactNode {
  // A long value is written smaller, so that it stays on its line. The type CSSProperties does not have custom properties.
  const style = { '--characters': typeof value === 'string' ? value.length : CHARACTERS } as CSSProperties
  return (
    <div className={css.tile} data-lead={lead}>
      <div className={css.tileName}>{label}</div>
      <div className={css.fitted} style={style}>
        <div className={css.value}>{value}</div>
      </div>
      {note !== undefined && <div className={css.tileNote}>{note}</div>}
    </div>
  )
}
