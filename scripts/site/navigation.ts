/** The pages of the site by section, as paths in `docs`. A page that is in no section fails the build. */
export const SECTIONS: readonly (readonly [title: string, pages: readonly string[]])[] = [
  ['Start', ['README', 'start', 'install', 'cabinet']],
  [
    'Clients',
    [
      'clients/README',
      'clients/shown',
      'clients/claude-code',
      'clients/codex',
      'clients/gemini-cli',
      'clients/opencode',
      'clients/qwen-code',
      'clients/cline',
      'clients/continue',
      'clients/aider',
      'clients/llm',
      'clients/pi',
      'clients/copilot-cli',
      'clients/libraries',
      'clients/cursor',
      'clients/open-webui',
      'clients/librechat',
      'clients/n8n',
      'clients/dify',
    ],
  ],
  ['Providers', ['providers', 'catalog']],
  ['Money', ['money']],
  ['Operations', ['operations', 'settings', 'automation', 'notifications', 'hardening', 'capacity', 'incidents']],
  [
    'Reference',
    [
      'reference/README',
      'reference/api',
      'errors',
      'reference/wire',
      'reference/clients',
      'reference/operator',
      'reference/guarantees',
      'console-api',
    ],
  ],
  ['Reliability', ['reliability', 'performance', 'architecture', 'glossary']],
]

/** The Russian pages. */
export const RUSSIAN = ['ru/README', 'ru/start', 'ru/clients', 'ru/cabinet', 'ru/money', 'ru/notifications'] as const
