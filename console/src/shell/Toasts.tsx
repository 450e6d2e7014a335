import { type NotificationsProps, notificationsStore } from '@mantine/notifications'
import { type ComponentType, useEffect, useState } from 'react'

const EVENTS = ['pointerdown', 'keydown'] as const

/** What is told about an act. Its code comes with the first input, before there is anything to tell. */
export function Toasts() {
  const [loaded, setLoaded] = useState<{ readonly Said: ComponentType<NotificationsProps> } | null>(null)
  useEffect(() => {
    if (loaded !== null) return undefined
    const load = (): void => {
      // What could not be loaded is tried again with the next input.
      import('../parts/notifications.ts').then(setLoaded).catch(() => undefined)
    }
    for (const event of EVENTS) window.addEventListener(event, load, { passive: true })
    const unsubscribe = notificationsStore.subscribe(load)
    return () => {
      for (const event of EVENTS) window.removeEventListener(event, load)
      unsubscribe()
    }
  }, [loaded])
  return loaded === null ? null : <loaded.Said position="bottom-right" />
}
