import './style/library.css'
import 'virtual:theme.css'
import './style/base.css'
import './style/layout.css'
import './style/boot.css'
import { MantineProvider } from '@mantine/core'
import { ModalsProvider } from '@mantine/modals'
import { keepFocus } from './shell/kept-focus.ts'
import { Toasts } from './shell/Toasts.tsx'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { queryClient, readOptions } from './api/hooks.ts'
import { preferredLanguage, speak } from './i18n.ts'
import { router } from './router.tsx'
import { theme } from './theme.ts'

async function start(): Promise<void> {
  // Until the texts and the session are there, the page shows what index.html has.
  await Promise.all([
    speak(preferredLanguage()),
    queryClient.prefetchQuery(readOptions('GET /cabinet/v1/session', {}, queryClient)),
  ])
  const root = document.getElementById('root')
  if (root === null) return
  keepFocus()
  createRoot(root).render(
    <StrictMode>
      <MantineProvider theme={theme} defaultColorScheme="auto" withCssVariables={false} withGlobalClasses={false}>
        <QueryClientProvider client={queryClient}>
          <ModalsProvider>
            <Toasts />
            <RouterProvider router={router} />
          </ModalsProvider>
        </QueryClientProvider>
      </MantineProvider>
    </StrictMode>,
  )
}

start().catch(() => window.dispatchEvent(new Event('tollgate-boot-failed')))
