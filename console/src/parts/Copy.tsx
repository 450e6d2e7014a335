import { ActionIcon, Button, CopyButton, Group } from '@mantine/core'
import { CheckIcon, CopyIcon } from './icons.ts'
import { t } from './words.ts'

const SHOWN_MS = 2_000

export function CopyIconButton({ text }: { readonly text: string }) {
  return (
    <CopyButton value={text} timeout={SHOWN_MS}>
      {({ copied, copy }) => (
        <ActionIcon
          variant="subtle"
          color={copied ? 'sea' : 'gray'}
          onClick={copy}
          title={copied ? t('common.copied') : t('common.copy')}
          aria-label={copied ? t('common.copied') : t('common.copy')}
        >
          {copied ? <CheckIcon size={17} /> : <CopyIcon size={17} />}
        </ActionIcon>
      )}
    </CopyButton>
  )
}

/** The id of what a page is about. */
export function CopyId({ id }: { readonly id: string }) {
  return (
    <>
      <span className="mono">{id}</span> <CopyIconButton text={id} />
    </>
  )
}

interface CopyBlockProps {
  readonly text: string
  readonly label: string
  /** Its lines are sentences, and are broken where they do not fit. */
  readonly wraps?: boolean
}

/** A whole text with a copy button: a key that is shown once, or a code snippet. */
export function CopyBlock({ text, label, wraps = false }: CopyBlockProps) {
  return (
    <div>
      <code
        className="code"
        tabIndex={0}
        role="region"
        aria-label={label}
        {...(wraps ? { style: { whiteSpace: 'pre-wrap' as const } } : {})}
      >
        {text}
      </code>
      <Group justify="flex-end" mt={8}>
        <CopyButton value={text} timeout={SHOWN_MS}>
          {({ copied, copy }) => (
            <Button
              size="xs"
              variant={copied ? 'light' : 'default'}
              onClick={copy}
              leftSection={copied ? <CheckIcon size={15} /> : <CopyIcon size={15} />}
            >
              {copied ? t('common.copied') : t('common.copy')}
            </Button>
          )}
        </CopyButton>
      </Group>
    </div>
  )
}
