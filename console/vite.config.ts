import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { tableTextModules } from './table-texts.ts'
import { themeCss } from './theme-css.ts'

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), themeCss(), tableTextModules()],
  server: { proxy: { '/cabinet/v1': 'http://127.0.0.1:8080', '/admin/v1': 'http://127.0.0.1:8080' } },
  build: {
    target: 'es2023',
    // light-dark() stays as it is.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    // A data: URL would need a wider policy, and is never cached.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 700,
  },
})
