import type { ReactNode } from 'react'
import css from './shell.module.css'

export function Brand(): ReactNode {
  return (
    <span className={css.brand}>
      <svg viewBox="0 0 32 32" width="28" height="28" aria-hidden="true">
        <rect width="32" height="32" rx="8" fill="#0b6e6e" />
        <path d="M8 24V11m16 13V11M8 14h16" stroke="#fff" strokeWidth="3" strokeLinecap="round" fill="none" />
        <path d="M13 24v-5a3 3 0 0 1 6 0v5" stroke="#7fe3d4" strokeWidth="2.5" strokeLinecap="round" fill="none" />
      </svg>
      Tollgate
    </span>
  )
}
