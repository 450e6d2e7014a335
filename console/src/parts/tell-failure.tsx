import { notifications } from '@mantine/notifications'
import i18n from 'i18next'
import { FailureWords } from './FailureWords.tsx'
import { RetryButton } from './RetryButton.tsx'

const WITH_RETRY = 'with-retry'

/** A second try, and the way to the same end by loading the console anew. */
interface Again {
  readonly retry: () => void
  readonly reload?: () => void
}

/** A notification of a failure. With `again` it stays until it is answered, and there is one at a time. */
export function tellFailure(failure: unknown, again?: Again): void {
  const retry = (): void => {
    notifications.hide(WITH_RETRY)
    again?.retry()
  }
  notifications.show({
    title: i18n.t('failure.title'),
    message: (
      <>
        <FailureWords failure={failure} />
        {again !== undefined && <RetryButton failure={failure} {...again} retry={retry} />}
      </>
    ),
    color: 'red',
    closeButtonProps: closeName(),
    ...(again === undefined ? {} : { id: WITH_RETRY, autoClose: false as const }),
  })
}

/** The library gives the button no name of its own. */
export function closeName(): { readonly 'aria-label': string } {
  return { 'aria-label': i18n.t('common.close') }
}
