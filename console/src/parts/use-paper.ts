import { useSyncExternalStore } from 'react'

const paper = window.matchMedia('print')

/** Whether the page is being printed. React writes what it shows then before the browser goes on. */
export function usePaper(): boolean {
  return useSyncExternalStore(subscribe, () => paper.matches)
}

function subscribe(changed: () => void): () => void {
  paper.addEventListener('change', changed)
  return () => paper.removeEventListener('change', changed)
}
